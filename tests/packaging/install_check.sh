#!/bin/sh
# Installs the package in a Debian of its own (12, or the one that its version names), runs it there between a Redis and a SQLite file, and
# removes it; with the demo's package, this is run before: install_check.sh PACKAGE [DEMO]. As root; some minutes, for debootstrap fetches a Debian from where this machine has its own.
set -eu
package=$1
demo=${2:-}
case $package in *~deb13_*) suite=trixie ;; *) suite=bookworm ;; esac
folder=$(mktemp -d)
chroot="$folder/debian"
started=""

end() {
  for pid in $started; do kill "$pid" 2>/dev/null || true; done
  umount "$chroot/proc" 2>/dev/null || true
  rm -rf --one-file-system "$folder"
}
trap end EXIT

fail() { echo "install_check: $*" >&2; exit 1; }
within() { chroot "$chroot" env LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
. "$(dirname "$0")/shop.sh"
ask() { within redis-cli -s /run/guard.sock "$@"; }
says() { [ "$(ask $2)" = "$1" ]; }

echo "- a Debian of its own"
. "$(dirname "$0")/debian_chroot.sh"
make_debian "$chroot" "$folder/debootstrap.log" $suite || fail "debootstrap"
mount -t proc proc "$chroot/proc"

echo "- the package in it"
cp "$package" "$chroot/root/cuckooguard.deb"
within apt-get update -qq
within apt-get install -y -qq --no-install-recommends /root/cuckooguard.deb redis-server sqlite3 >"$folder/install.log" 2>&1 ||
  { tail -n 20 "$folder/install.log" >&2; fail "apt-get install"; }
[ -f "$chroot/usr/share/man/man8/cuckooguard.8" ] || fail "no manual"
within cuckooguard --version
within cuckooguard --check-config --config /etc/cuckooguard/cuckooguard.yaml
! within pgrep -x cuckooguard >/dev/null 2>&1 || fail "somebody has started it"

demo_seconds=""
if [ "$demo" ]; then
  echo "- the demo's package, and its table"
  cp "$demo" "$chroot/root/cuckooguard-demo.deb"
  began=$(date +%s)
  within apt-get install -y -qq --no-install-recommends /root/cuckooguard-demo.deb >"$folder/install.log" 2>&1 ||
    { tail -n 20 "$folder/install.log" >&2; fail "apt-get install"; }
  chroot "$chroot" setpriv --reuid=65534 --regid=65534 --clear-groups cuckooguard-demo >"$folder/demo.log" 2>&1 ||
    { code=$?; cat "$folder/demo.log" >&2; fail "the demo ended with $code"; }
  cat "$folder/demo.log"
  demo_seconds=" demo_seconds=$(($(date +%s) - began))"
  [ "${demo_seconds#*=}" -le 80 ] || fail "$demo_seconds"
fi

echo "- traffic through it"
within sqlite3 /var/lib/shop.db "$shop_sql"
chmod 644 "$chroot/var/lib/shop.db"
chmod 1777 "$chroot/run"
shop_yaml unix:/run/guard.sock unix:/run/redis.sock >"$chroot/etc/cuckooguard/cuckooguard.yaml"
chroot "$chroot" redis-server --port 0 --unixsocket /run/redis.sock --unixsocketperm 777 --save "" >"$folder/redis.log" 2>&1 &
started="$started $!"
eventually within redis-cli -s /run/redis.sock ping
chroot "$chroot" setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs \
  cuckooguard --config /etc/cuckooguard/cuckooguard.yaml >"$folder/guard.log" 2>&1 &
guard=$!
started="$started $guard"
eventually says PONG ping
eventually says __ABSENT__ "get user:999999"
says OK "set user:1 one" || fail "a write"
says one "get user:1" || fail "an existing key is hidden"
says "" "get user:2" || fail "an existing row's key is not Redis's to answer"
says 1 "guard.check user:2" || fail "guard.check"
kill -TERM "$guard"
code=0
wait "$guard" || code=$?
[ "$code" = 0 ] || { cat "$folder/guard.log" >&2; fail "it ended with $code"; }
grep -q 'event=drained' "$folder/guard.log" || fail "it has not drained"

echo "- and without it"
within apt-get remove -y -qq cuckooguard >/dev/null 2>&1
[ ! -e "$chroot/usr/bin/cuckooguard" ] || fail "the program stays"
grep -q __ABSENT__ "$chroot/etc/cuckooguard/cuckooguard.yaml" || fail "the administrator's configuration is gone"
mkdir -p "$chroot/var/lib/private/cuckooguard"
within apt-get purge -y -qq cuckooguard >/dev/null 2>&1
[ ! -e "$chroot/etc/cuckooguard" ] || fail "purged, and the configuration stays"
[ ! -e "$chroot/var/lib/private/cuckooguard" ] || fail "purged, and what was kept stays"
echo "install_check: installed=1 served=1 removed=1$demo_seconds"
