#!/bin/sh
# Makes a release of the commit that is checked out: release.sh [--twice] [SUITE-ARCHITECTURE...]. As root; ./dev release runs it, with what a
# build needs in PACKAGES. docs/releases.md says what comes out, in build/releases/VERSION.
#
# Each suite and architecture has a Debian of its own, which is kept for the next time. arm64 is compiled by a cross compiler: its Debian's
# programs are this machine's, its libraries are arm64's, and nothing is installed on this machine.
set -eu
cd "$(dirname "$0")/.."
. tests/packaging/debian_chroot.sh
twice=""
[ "${1:-}" != --twice ] || { twice=1; shift; }
[ $# -gt 0 ] || set -- bookworm-amd64 bookworm-arm64 trixie-amd64 trixie-arm64
debians=${CUCKOOGUARD_DEBIANS:-$PWD/build/debians}
version=$(sed -n 's/^project(cuckooguard VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
commit=$(git describe --always --abbrev=12 --exclude='*')
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
out=$PWD/build/releases/$version
# Of arm64, under qemu-user: those of rooms that read what others have written, byte by byte, or count bits.
tests="text resp redis keyspace filter formats binlog pgoutput config guard"

fail() { echo "release: $*" >&2; exit 1; }
step() { echo "- $(date +%T) $*" >&2; }

# packages_of DEBIAN: libraries are of its architecture, if they are of any, and tools of this machine's.
packages_of() {
  for package in $PACKAGES locales; do
    case $1-$package in
      *-redis-server) continue ;;
      trixie-*boost*) package=$(echo "$package" | sed 's/1\.81//') ;;
      *-arm64-g++) package=g++-aarch64-linux-gnu ;;
    esac
    case $1-$package in
      *-dpkg-dev) ;;
      *-arm64-*-dev) chroot "$debians/$1" apt-cache show "$package:arm64" >/dev/null 2>&1 && package=$package:arm64 ;;
    esac
    echo "$package"
  done
  case $1 in *-arm64) echo qemu-user ;; esac
}

# prepare DEBIAN: made, or brought up to date.
prepare() {
  root=$debians/$1
  mkdir -p "$debians"
  [ -e "$root/made" ] || { rm -rf --one-file-system "$root"; make_debian "$root" "$root.log" "${1%-*}"; touch "$root/made"; }
  case $1 in *-arm64) chroot "$root" dpkg --add-architecture arm64 ;; esac
  # shellcheck disable=SC2046
  {
    chroot "$root" apt-get update -qq &&
      chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get dist-upgrade -y -qq --no-install-recommends &&
      chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(packages_of "$1") &&
      chroot "$root" localedef -i tr_TR -f UTF-8 tr_TR.UTF-8  # for --twice
  } >"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; fail "$1: apt-get"; }
}

# build DEBIAN FOLDER OUTPUT JOBS TESTS [NAME=VALUE...]: in that folder of its Debian.
build() {
  debian=$1 root=$debians/$1 folder=$2 output=$3 arguments="${1%-*} ${1#*-} $4 $5"
  shift 5
  rm -rf --one-file-system "${root:?}$folder" "$root/release"
  mkdir -p "$root$folder" "$root/release" "$output"
  git archive HEAD | tar -x -C "$root$folder"
  # shellcheck disable=SC2086
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" CUCKOOGUARD_COMMIT="$commit" "$@" \
    sh -c "cd $folder && . packaging/release_inside.sh" inside $arguments >>"$root.log" 2>&1 || { tail -n 30 "$root.log" >&2; fail "$debian: build"; }
  grep -E '^(unit|sbom|oci_image):' "$root.log" | tail -n 20 >&2
  mv "$root"/release/* "$output/"
  rm -rf --one-file-system "${root:?}$folder"
}

rm -rf "$out.again"
[ $# -lt 4 ] || rm -rf "$out"
for debian in "$@"; do
  step "$debian: a Debian"
  prepare "$debian"
  step "$debian: build"
  build "$debian" /build/cuckooguard "$out" "$(nproc)" "$(case $debian in *-arm64) echo $tests ;; esac)" LC_ALL=C.UTF-8
  case $debian in
    *-amd64)
      step "$debian: installed"
      of=1~deb$(cut -d. -f1 "$debians/$debian/etc/debian_version")_amd64.deb
      tests/packaging/install_check.sh "$out/cuckooguard_$version-$of" "$out/cuckooguard-demo_$version-$of" >&2
      ;;
  esac
  if [ "$twice" ]; then
    step "$debian: again"
    build "$debian" /srv/in/another/place "$out.again" "$(($(nproc) + 1))" "" LC_ALL=tr_TR.UTF-8 TZ=XXX-14 MASK=077 CCACHE=OFF
  fi
done

{
  echo "# Cuckoo Guard $version"
  awk '/^## / { if (n++) exit; next } n' CHANGELOG.md
} >"$out/release-notes.txt"
cd "$out"
rm -f SHA256SUMS
sha256sum -- * >"$out.sums"
mv "$out.sums" SHA256SUMS
same=""
if [ "$twice" ]; then
  cd "$out.again"
  # shellcheck disable=SC2035
  sha256sum -- * >"$out.sums"
  grep -Fxf "$out.sums" "$out/SHA256SUMS" | diff - "$out.sums" >&2 || fail "the second build differs"
  same=" same_again=$(wc -l <"$out.sums")"
  rm "$out.sums"
fi
echo "release: folder=$out files=$(wc -l <"$out/SHA256SUMS")$same"
