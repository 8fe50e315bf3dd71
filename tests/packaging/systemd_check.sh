#!/bin/sh
# Boots a Debian 12 that has the package, in a container of systemd-nspawn with a network of its own, and does there what an
# administrator would: systemd_check.sh PACKAGE. As root; some minutes. What is done inside is systemd_check_inside.sh.
set -eu
package=$1
here=$(dirname "$0")
folder=$(mktemp -d)
root="$folder/bookworm"
trap 'rm -rf --one-file-system "$folder"' EXIT

fail() { echo "systemd_check: $*" >&2; exit 1; }

echo "- a Debian of its own, with systemd"
. "$here/debian_chroot.sh"
make_debian "$root" "$folder/debootstrap.log" || fail "debootstrap"
cp "$package" "$root/root/cuckooguard.deb"
install -m 755 "$here/systemd_check_inside.sh" "$root/root/check.sh"
cp "$here/shop.sh" "$root/root/"
{ chroot "$root" apt-get update -qq &&
  chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    systemd systemd-sysv dbus redis-server sqlite3 procps /root/cuckooguard.deb; } >"$folder/install.log" 2>&1 ||
  { tail -n 20 "$folder/install.log" >&2; fail "apt-get install"; }
rm "$root/usr/sbin/policy-rc.d"
: >"$root/etc/machine-id"
cat >"$root/etc/systemd/system/check.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/root/check.sh
ExecStopPost=/bin/systemctl poweroff
TimeoutStartSec=300
UNIT
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s ../check.service "$root/etc/systemd/system/multi-user.target.wants/check.service"

echo "- booted"
timeout -k 10 400 systemd-nspawn --directory="$root" --boot --register=no --keep-unit --private-network --console=pipe \
  --machine="guard$$" </dev/null >"$folder/boot.log" 2>&1 || { tail -n 20 "$folder/boot.log" >&2; fail "it does not boot"; }
cat "$root/root/check.log"
tail -n 1 "$root/root/check.log" | grep -q '^systemd_check: ok' || fail "see above"
