#!/usr/bin/env python3
"""Restarts under load: restarts.py GUARD [--seed N] [--restarts N] [--only PROXY]

32 clients count on keys of their own (INCR, in pipelines), and come again when their connection ends. Half of them never stop; half pause
between pipelines, and do not send on a connection that has ended, as those of a pool. The guard is restarted as its systemd
units do it: the listening socket stays, SIGTERM, and when the process has ended the next one is started. HAProxy is reloaded (SIGUSR2 to
its master, `hard-stop-after 2s`, since its old process would keep the clients that it has), twemproxy, which cannot be reloaded, ended and
started. Counted are connects that were refused, commands that were sent and got no reply, and of these those that Redis has run all the
same: a client cannot send them again. A line per proxy; exit code 1 if the guard refuses, or runs what it does not reply to."""

import asyncio
import os
import random
import signal
import socket
import sys
import time

from servers import World, Process, arguments, line

CLIENTS, DEPTHS, BETWEEN, PAUSE = 32, (1, 1, 4, 16), 0.35, 0.02


class Counts:
    def __init__(self):
        self.commands = self.refused = self.wrong = self.connections = 0
        self.unanswered = {False: 0, True: 0}  # True: of clients that pause
        self.is_over = False
        self.replies = {}  # to INCR, by key
        self.longest = 0.0  # between two replies
        self.first = ""  # of what is wrong


async def talk(port, key, depth, pauses, counts):
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        counts.refused += 1
        await asyncio.sleep(0.001)
        return
    counts.connections += 1
    request = b"".join(b"*2\r\n$4\r\nINCR\r\n$%d\r\n%s\r\n" % (len(key), key) for _ in range(depth))
    try:
        while not counts.is_over and not reader.at_eof():
            owed = depth
            began = time.monotonic()
            try:
                writer.write(request)
                counts.commands += depth
                while owed:
                    reply = await reader.readuntil(b"\r\n")
                    owed -= 1
                    if reply.startswith(b":"):
                        counts.replies[key] = counts.replies.get(key, 0) + 1
                        # More than those that were replied to: one that was not has been run, or one was run twice.
                        counts.wrong += int(reply[1:]) < counts.replies[key]
                    else:
                        counts.wrong += 1
                        counts.first = counts.first or repr(reply)
                counts.longest = max(counts.longest, time.monotonic() - began)
                if pauses:
                    await asyncio.sleep(PAUSE * random.random())
            except (asyncio.IncompleteReadError, OSError):
                counts.unanswered[pauses] += owed
                return
    finally:
        writer.close()


async def client(port, number, depth, counts):
    while not counts.is_over:
        await talk(port, b"counter:%d" % number, depth, number % 2 == 1, counts)


class Restarted:
    """One of the proxies, and how it is replaced by itself."""

    def __init__(self, world, name):
        self.world, self.name = world, name
        if name == "guard":
            self.listening = socket.socket()
            self.listening.bind(("127.0.0.1", 0))
            self.listening.listen(4096)
            self.port = self.listening.getsockname()[1]
            self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.notified.bind(f"{world.folder}/notify")
            self.notified.settimeout(30)
            self.config = world.write("guard.yaml", f"listen: 127.0.0.1:{self.port}\n" + world.guard_yaml())
            self.process = self.guard()
        else:
            self.process = world.proxy(name, master=True)
            self.port = self.process.port

    def guard(self):
        descriptor = self.listening.fileno()
        words = ["sh", "-c", f'LISTEN_PID=$$ exec "$@" 3<&{descriptor}', "sh", self.world.program, "--config", self.config]
        process = Process(words, self.port, f"{self.world.folder}/guard.log", pass_fds=[descriptor],
                          env={**os.environ, "LISTEN_FDS": "1", "NOTIFY_SOCKET": f"{self.world.folder}/notify"})
        self.world.running.append(process)
        while b"READY=1" not in self.notified.recv(4096):
            pass
        return process

    def restart(self):
        if self.name == "haproxy":
            os.kill(self.process.pid, signal.SIGUSR2)
            time.sleep(2.5)  # until those that are left are cut off
            return
        code = self.process.end()
        if self.name == "guard" and code != 0:
            raise SystemExit(f"the guard ends with {code}")
        self.process = self.guard() if self.name == "guard" else self.process.start_again()


async def load(restarted, restarts, rng):
    counts = Counts()
    clients = [asyncio.create_task(client(restarted.port, number, rng.choice(DEPTHS), counts)) for number in range(CLIENTS)]
    for _ in range(restarts):
        await asyncio.sleep(BETWEEN * (0.5 + rng.random()))
        await asyncio.to_thread(restarted.restart)
    await asyncio.sleep(BETWEEN)
    counts.is_over = True
    await asyncio.wait(clients, timeout=30)
    return counts


def run(world, name, restarts, rng):
    restarted = Restarted(world, name)
    counts = asyncio.run(load(restarted, restarts, rng))
    redis = world.redis.client()
    run_by_redis = sum(int(redis.call("GET", f"counter:{number}") or 0) for number in range(CLIENTS))
    lost = run_by_redis - sum(counts.replies.values())
    line("restarts", proxy=name, restarts=restarts, commands=counts.commands, connections=counts.connections, refused=counts.refused,
         unanswered=counts.unanswered[False], unanswered_pausing=counts.unanswered[True], run_unanswered=lost, wrong=counts.wrong, longest_wait_ms=1000 * counts.longest,
         **({"first": counts.first.replace(" ", "_")} if counts.first else {}))
    return name != "guard" or (counts.refused == 0 and lost == 0 and counts.wrong == 0 and counts.connections > CLIENTS)


def main():
    chosen = arguments(("restarts", 20))
    is_good = True
    for name in chosen.proxies:
        with World(chosen.guard) as world:
            world.write("rows", "1\n")
            restarts = chosen.restarts if name == "guard" else max(chosen.restarts // 4, 1)
            is_good = run(world, name, restarts, random.Random(chosen.seed)) and is_good
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
