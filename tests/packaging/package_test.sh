#!/bin/sh
# Builds the Debian package and looks into it: package_test.sh SOURCE BUILD. Exit code 77: not here (ctest skips it).
# What installs it, in a Debian of its own, is tests/packaging/install_check.sh.
set -eu
source=$1
build=$2
for tool in dpkg-deb dpkg-shlibdeps file readelf; do
  command -v "$tool" >/dev/null || { echo "no $tool here"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() { echo "package_test: $*" >&2; exit 1; }

cd "$build"
cpack --config CPackConfig.cmake -D CPACK_COMPONENTS_ALL=Unspecified -B "$folder" >"$folder/cpack.log" 2>&1 || { cat "$folder/cpack.log" >&2; fail "cpack"; }
package=$(ls "$folder"/cuckooguard_*.deb)

echo "- where the documents have it lie"
for page in README.md docs/quick-start.md docs/operations.md; do
  grep -q "apt install ./build/release/package/$(basename "$package")" "$source/$page" || fail "$page names another package"
done
grep -q 'cpack .* -B build/release/package ' "$source/dev" || fail "./dev puts the package elsewhere"

echo "- what is in it"
dpkg-deb -c "$package" >"$folder/list"
for path in usr/bin/cuckooguard etc/cuckooguard/cuckooguard.yaml usr/share/man/man8/cuckooguard.8 \
  usr/lib/systemd/system/cuckooguard.service usr/lib/systemd/system/cuckooguard.socket \
  usr/share/doc/cuckooguard/copyright usr/share/doc/cuckooguard/NOTICE usr/share/doc/cuckooguard/README.md \
  usr/share/doc/cuckooguard/docs/quick-start.md usr/share/doc/cuckooguard/docs/page.png \
  usr/share/doc/cuckooguard/examples/minimal.yaml usr/share/doc/cuckooguard/examples/kubernetes/base/kustomization.yaml; do
  grep -qE " \./$path(\.gz)?$" "$folder/list" || fail "$path is missing"
done
! grep -q "$build" "$folder/list" || fail "files of the build folder are in it"
grep -q '^-rw-r--r-- root/root .* ./etc/cuckooguard/cuckooguard.yaml$' "$folder/list" || fail "the configuration's owner or mode"

echo "- what it says of itself"
dpkg-deb -e "$package" "$folder/control"
[ "$(cat "$folder/control/conffiles")" = /etc/cuckooguard/cuckooguard.yaml ] || fail "conffiles"
for library in libsystemd0 libyaml-cpp0.7 libsqlite3-0 libmariadb3 libhiredis0.14; do
  grep -q "^Depends:.*$library" "$folder/control/control" || fail "it does not depend on $library"
done
for script in postinst prerm postrm; do
  [ -x "$folder/control/$script" ] || fail "$script cannot be run"
  sh -n "$folder/control/$script"
  ! grep -qE 'systemctl.*(enable|[^-]start )' "$folder/control/$script" || fail "$script starts what nobody asked for"
done

echo "- its program"
dpkg-deb -x "$package" "$folder/root"
"$folder/root/usr/bin/cuckooguard" --check-config --config "$folder/root/etc/cuckooguard/cuckooguard.yaml" || fail "--check-config"
cmp "$source/config/cuckooguard.yaml" "$folder/root/etc/cuckooguard/cuckooguard.yaml" || fail "another configuration"

# Stripped, to be loaded anywhere, and with its tables of symbols closed to writes once it runs.
file "$folder/root/usr/bin/cuckooguard" | grep -q 'pie executable,.*, stripped' || fail "the program is not stripped, or not position independent"
readelf --wide --dynamic "$folder/root/usr/bin/cuckooguard" | grep -q 'NOW' || fail "the program binds symbols late"
readelf --wide --segments "$folder/root/usr/bin/cuckooguard" | grep -q 'GNU_RELRO' || fail "the program has no RELRO"

echo "- its manual"
if command -v man >/dev/null; then
  warnings=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$source/packaging/cuckooguard.8" 2>&1 >/dev/null)
  [ -z "$warnings" ] || fail "man: $warnings"
fi
# Every option and command that the program has.
for word in $("$folder/root/usr/bin/cuckooguard" --help | grep -oE -- '^ +(--[a-z-]+|[a-z]+)' | grep -vE 'help|version'); do
  sed 's/\\//g' "$source/packaging/cuckooguard.8" | grep -q -- "$word" || fail "the manual does not know $word"
done

echo "- its units"
units="$folder/root/usr/lib/systemd/system"
grep -q "^ListenStream=$(sed -n '/^listen:/,/^upstream:/s/^  address: //p' "$source/config/cuckooguard.yaml")$" "$units/cuckooguard.socket" ||
  fail "the socket unit listens elsewhere than the configuration"
# A reload of a file with errors fails, and not only in the guard's own log.
grep '^ExecReload=' "$units/cuckooguard.service" >"$folder/reload"
printf '%s\n' 'ExecReload=/usr/bin/cuckooguard check --config /etc/cuckooguard/cuckooguard.yaml' 'ExecReload=/bin/kill -HUP $MAINPID' |
  diff - "$folder/reload" || fail "a reload does not check the configuration first"
if command -v systemd-analyze >/dev/null; then
  # It wants the programs to be there.
  sed "s|^\(Exec[A-Za-z]*\)=/usr/bin/|\1=$folder/root/usr/bin/|" "$units/cuckooguard.service" >"$folder/cuckooguard.service"
  cp "$units/cuckooguard.socket" "$folder/"
  found=$(systemd-analyze verify --man=no "$folder/cuckooguard.service" "$folder/cuckooguard.socket" 2>&1 | grep cuckooguard || true)
  [ -z "$found" ] || fail "systemd-analyze: $found"
fi

echo "- cmake --install"
DESTDIR="$folder/installed" cmake --install . >"$folder/install.log" 2>&1 || { cat "$folder/install.log" >&2; fail "cmake --install"; }
(cd "$folder/root" && find . -type f | sed 's/\.gz$//' | sort) >"$folder/packaged"
(cd "$folder/installed" && find . -type f | sort) >"$folder/by_cmake"
diff "$folder/packaged" "$folder/by_cmake" || fail "cmake --install and the package differ"
echo "package_test: bytes=$(stat -c %s "$package")"
