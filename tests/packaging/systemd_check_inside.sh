#!/bin/sh
# Run as root by systemd in the container of systemd_check.sh. The last line of /root/check.log says how it ended.
set -eu
exec >/root/check.log 2>&1

fail() {
  echo "systemd_check: $*"
  journalctl -u cuckooguard --no-pager -o cat | tail -n 20
  exit 1
}
. "$(dirname "$0")/shop.sh"
is() { [ "$(systemctl show -p "$1" --value cuckooguard)" = "$2" ]; }
says() { [ "$(redis-cli -p 6380 $2)" = "$1" ]; }
pid() { systemctl show -p MainPID --value cuckooguard; }

config=/etc/cuckooguard/cuckooguard.yaml
sqlite3 /var/lib/shop.db "$shop_sql"
chmod 644 /var/lib/shop.db
redis-server --port 6399 --save "" --daemonize yes >/dev/null
shop_yaml 127.0.0.1:6380 127.0.0.1:6399 >$config

echo "- started by the first client of its socket"
systemctl enable --now cuckooguard.socket
is ActiveState inactive || fail "it runs before anybody asks"
eventually says __ABSENT__ "get user:999999"
says OK "set user:1 one" || fail "a write"
says one "get user:1" || fail "an existing key is hidden"
is ActiveState active || fail "it is not active"
is StatusText serving || fail "it does not tell its status"
grep -q '^CapEff:.0*$' "/proc/$(pid)/status" || fail "it has capabilities"
grep -q '^Seccomp:.2$' "/proc/$(pid)/status" || fail "it may make any system call"

echo "- reloaded"
sed -i s/__ABSENT__/__NOBODY__/ $config
systemctl reload cuckooguard
eventually says __NOBODY__ "get user:999999"
cp $config /root/good
echo "workres: 1" >>$config
! systemctl reload cuckooguard 2>/dev/null || fail "a reload with an unknown key succeeds"
systemctl status cuckooguard --no-pager | grep -q 'did you mean "workers"' || fail "systemctl status does not say why"
is ActiveState active || fail "a refused reload has ended it"
cp /root/good $config

echo "- started anew while clients come"
for _ in $(seq 300); do
  redis-cli -p 6380 ping || echo refused
done >/root/pings 2>&1 &
systemctl restart cuckooguard
wait $!
[ "$(grep -c '^PONG$' /root/pings)" = 300 ] || { sort /root/pings | uniq -c; fail "somebody was refused"; }

echo "- started anew when it hangs"
mkdir -p /run/systemd/system/cuckooguard.service.d
printf '[Service]\nWatchdogSec=3\n' >/run/systemd/system/cuckooguard.service.d/watchdog.conf
systemctl daemon-reload
systemctl restart cuckooguard
is NRestarts 0 || fail "it has been started anew already"
kill -STOP "$(pid)"
eventually is NRestarts 1
eventually says PONG ping

echo "- not started again and again with a configuration that is wrong"
echo "workres: 1" >>$config
! systemctl restart cuckooguard 2>/dev/null || fail "it starts with an unknown key"
is ActiveState failed || fail "it is tried again"
is ExecMainStatus 78 || fail "its exit code is not EX_CONFIG"
journalctl -u cuckooguard --no-pager -o cat | grep -q 'did you mean "workers"' || fail "the journal does not say why"
cp /root/good $config

echo "- stopped"
systemctl reset-failed cuckooguard cuckooguard.socket
systemctl restart cuckooguard.socket
eventually says PONG ping
systemctl stop cuckooguard cuckooguard.socket
is Result success || fail "it ended badly"
is ExecMainStatus 0 || fail "its exit code is not 0"
systemd-analyze security cuckooguard --no-pager | tail -n 1
echo "systemd_check: ok"
