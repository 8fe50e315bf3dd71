# The part of release.sh that runs within a Debian, in a folder with the sources: SUITE ARCHITECTURE JOBS [TEST...]. Leaves files in /release.
set -eu
umask "${MASK:-022}"
suite=$1 arch=$2 jobs=$3
shift 3
debian=$(cut -d. -f1 /etc/debian_version)
version=$(sed -n 's/^project(cuckooguard VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
cross=""
if [ "$arch" = arm64 ]; then
  export PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig DEB_HOST_ARCH=arm64
  cross="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc
    -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCPACK_DEBIAN_PACKAGE_ARCHITECTURE=arm64"
fi

# shellcheck disable=SC2086
cmake --preset release -DCCACHE="${CCACHE:-ccache}" -DCUCKOOGUARD_WITHOUT_PATHS=ON "-DCMAKE_CXX_FLAGS=-ffile-prefix-map=$PWD=." $cross
# shellcheck disable=SC2046
cmake --build build/release -j "$jobs" --target cuckooguard cuckooguard_demo $(for room in "$@"; do echo "${room}_test"; done)
for room in "$@"; do
  qemu-aarch64 "$(find build/release/tests -type f -name "${room}_test")" --gtest_brief=1 >"$room.log" 2>&1 || { cat "$room.log"; exit 1; }
  echo "unit: $(sed -n 's/^\[==========\] \([0-9]*\) tests.*/tests=\1/p' "$room.log" | tail -n 1) room=$room on=$suite-$arch"
done

umask 022  # of the folders in the packages, and in the image
cpack --config build/release/CPackConfig.cmake -D CPACK_DEBIAN_PACKAGE_RELEASE="1~deb$debian" -B /release
rm -rf /release/_CPack_Packages
name=cuckooguard_$version-1~deb${debian}_$arch
python3 packaging/sbom.py build/release "$suite" "$arch" "$CUCKOOGUARD_COMMIT" "/release/$name.spdx.json" /release/*.deb

# The image: the package and what it needs, without a shell. What is installed stands in status.d, where scanners look.
[ "$suite" = bookworm ] || return 0
rm -rf /image
mkdir -p /image/archives/partial /image/root/var/lib/dpkg/status.d /image/root/etc/ssl/certs
: >/image/status
apt-get -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::State::status=/image/status -o Dir::Cache::archives=/image/archives \
  install -y -qq --download-only --no-install-recommends "/release/$name.deb" ca-certificates
for package in "/release/$name.deb" /image/archives/*.deb; do
  dpkg-deb -x "$package" /image/root
  dpkg-deb -f "$package" >"/image/root/var/lib/dpkg/status.d/$(dpkg-deb -f "$package" Package)"
done
cd /image/root
cat usr/share/ca-certificates/mozilla/*.crt >etc/ssl/certs/ca-certificates.crt
echo "cuckooguard:x:65532:65532::/nonexistent:/usr/sbin/nologin" >etc/passwd
echo "cuckooguard:x:65532:" >etc/group
install -d -m 700 var/lib/cuckooguard
install -d -m 1777 tmp
find usr/share -mindepth 1 -maxdepth 1 ! -name doc ! -name ca-certificates -exec rm -r {} +
find usr/share/doc -type f ! -name copyright ! -name NOTICE -delete
find usr/share/doc -type d -empty -delete
cd - >/dev/null
python3 packaging/oci_image.py /image/root "$arch" "$version" "$CUCKOOGUARD_COMMIT" "/release/cuckooguard_${version}_$arch.oci.tar"
rm -rf /image
