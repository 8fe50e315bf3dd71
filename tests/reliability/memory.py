#!/usr/bin/env python3
"""What a proxy holds within a limit of 256 MiB: memory.py GUARD [--seed N] [--only PROXY]

A guard has a filter of some 100 MiB. Through each proxy, in a cgroup where that can be made: a value of 512 MiB is written and read;
1,000 clients ask for values and read nothing, 50 of them for one of 60 MB and the others for one of 1 MB; as many clients as its
descriptors allow, 10,000 at most, ask once and stay idle; all leave. A line per proxy; exit code 1 if the guard breaks its bounds."""

import contextlib
import pathlib
import socket
import sys
import time

from servers import FIRST_ROW, MIB, Cgroup, World, arguments, line

LIMIT, ROWS, CAPACITY = 256 * MIB, 500_000, "62M"
LARGE, UNREAD, UNREAD_LARGE, IDLE = 512 * MIB, 1000, 50, 10_000
IDLE_OF_HAPROXY = 8500  # two descriptors each
ABOVE_FILTER, IDLE_BYTES, BACK = 64 * MIB, 1024, 1.10
BACK_WITHIN = 10
PATIENCE = 60


def connect(port):
    client = socket.create_connection(("127.0.0.1", port), PATIENCE)
    client.settimeout(PATIENCE)
    return client


def exactly(client, count):
    while count > 0:
        got = client.recv(min(count, MIB))
        if not got:
            raise ConnectionError("closed")
        count -= len(got)


def pass_large_value(port):
    client, piece = connect(port), b"v" * MIB
    client.sendall(b"*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n$%d\r\n" % LARGE)
    for _ in range(LARGE // MIB):
        client.sendall(piece)
    client.sendall(b"\r\n")
    exactly(client, len(b"+OK\r\n"))
    client.sendall(b"*2\r\n$3\r\nGET\r\n$5\r\nlarge\r\n")
    exactly(client, len(b"$%d\r\n" % LARGE) + LARGE + 2)
    client.close()


def ask_and_read_nothing(port, large):
    clients = []
    for number in range(UNREAD):
        client = connect(port)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"*2\r\n$3\r\nGET\r\n$4\r\n60mb\r\n" if number < large else b"*2\r\n$3\r\nGET\r\n$3\r\n1mb\r\n")
        clients.append(client)
    return clients


def wait_of_another(port, patience=PATIENCE):
    """Until somebody else has the reply to an absent key."""
    client = connect(port)
    client.settimeout(patience)
    client.sendall(b"*2\r\n$3\r\nGET\r\n$18\r\nuser:%d\r\n" % (2 * FIRST_ROW))
    exactly(client, len(b"$-1\r\n"))
    client.close()


def settled(proxy):
    """Its memory, once it has not grown or shrunk for half a second; five seconds at most."""
    last, since, end = -1, 0.0, time.monotonic() + 5
    while time.monotonic() < end:
        now = proxy.resident()
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > 0.5:
            break
        time.sleep(0.05)
    return last


def filter_bytes(guard):
    for field in guard.client().call("GUARD.INFO").decode().splitlines():
        if field.startswith("filter_bytes:"):
            return int(field.split(":")[1])
    return 0


def available():
    for entry in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if entry.startswith("MemAvailable:"):
            return int(entry.split()[1]) * 1024
    return 0


def steps(proxy, name, world, seen):
    """In order; `seen` has what has been measured when it breaks."""
    # Replies that nobody reads are Redis's to hold: 60 MB each.
    large = min(UNREAD_LARGE, available() // 4 // (60 * 10**6))
    for _ in range(20):
        wait_of_another(proxy.port)
    seen["before"] = settled(proxy)
    idle = []
    with contextlib.suppress(OSError):
        while len(idle) < (IDLE if name != "haproxy" else IDLE_OF_HAPROXY):
            idle.append(connect(proxy.port))
    seen.update(idle=len(idle), idle_bytes=(settled(proxy) - seen["before"]) / max(len(idle), 1))
    for client in idle:
        client.sendall(b"*1\r\n$4\r\nPING\r\n")
    for client in idle:
        exactly(client, len(b"+PONG\r\n"))
    seen.update(used_bytes=(settled(proxy) - seen["before"]) / max(len(idle), 1))
    for client in idle:
        client.close()
    seen["step"] = "large value"
    pass_large_value(proxy.port)
    seen["step"] = "unread"
    clients = ask_and_read_nothing(proxy.port, large)
    # Redis itself copies gigabytes for some time, on a busy machine for minutes: how long others wait is told, and no more.
    end, longest = time.monotonic() + 3, 0
    while time.monotonic() < end:
        began = time.monotonic()
        with contextlib.suppress(OSError):
            wait_of_another(proxy.port, 10)
        longest = max(longest, time.monotonic() - began)
        time.sleep(0.01)
    seen.update(unread=len(clients), unread_60mb=large, others_wait_max_ms=1000 * longest)
    for client in clients:
        client.close()
    world.redis.client().call("DEL", "large")
    end = time.monotonic() + BACK_WITHIN
    while settled(proxy) > BACK * seen["before"] and time.monotonic() < end:
        pass
    seen["after"] = settled(proxy)
    seen["step"] = "all"


def run(world, name):
    cgroup = Cgroup(name, LIMIT)
    yaml = world.guard_yaml(more="limits: { client_output_hard: 32MiB, output_total: 32MiB }\n", filter_settings=f"{{ capacity: {CAPACITY} }}")
    proxy = world.proxy(name, yaml, cgroup)
    filter_size = 0
    if name == "guard":
        world.wait_until_absent_keys_are_answered(proxy)
        filter_size = filter_bytes(proxy)
    seen = {"step": "idle"}
    most = 0
    try:
        steps(proxy, name, world, seen)
    except (OSError, ConnectionError) as why:
        print(f"  {name}: {seen['step']}: {why}")
    alive = proxy.is_alive()
    most = proxy.status("VmHWM") if alive else 0
    kills, peak = cgroup.kills(), cgroup.peak()
    line("memory", proxy=name, cgroup=1 if cgroup.words else 0, oom_kills=kills, alive=int(alive), reached=seen.pop("step").replace(" ", "_"),
         filter_mib=filter_size / MIB, before_mib=seen.pop("before", 0) / MIB, rss_max_mib=most / MIB, cgroup_peak_mib=peak / MIB,
         after_mib=seen.get("after", 0) / MIB, **{key: value for key, value in seen.items() if key != "after"})
    proxy.end()
    cgroup.remove()
    return name != "guard" or (alive and kills == 0 and "after" in seen and most <= filter_size + ABOVE_FILTER)


def main():
    chosen = arguments()
    is_good = True
    for name in chosen.proxies:
        with World(chosen.guard) as world:
            world.write("rows", "".join(f"{FIRST_ROW + n}\n" for n in range(ROWS)))
            client = world.redis.client()
            client.all([("SET", "60mb", b"v" * 60 * 10**6), ("SET", "1mb", b"v" * 10**6), ("SET", f"user:{FIRST_ROW}", "stored")])
            is_good = run(world, name) and is_good
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
