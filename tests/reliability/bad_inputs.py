#!/usr/bin/env python3
"""Malformed connections beside 50 good clients: bad_inputs.py GUARD [--seed N] [--connections N] [--only PROXY]

Each valid command is cut at every byte, its lengths are wrong, its bytes are others, or it is noise; what Redis itself says to each input,
and whether it closes, was asked before, and a proxy has to say the same. Beside that 1,000 connections send a byte per second, and 1,000
nothing. HAProxy gets a fifth as many, twemproxy a twentieth. A line per proxy; exit code 1 if the guard is told from Redis, or a good client
suffers."""

import multiprocessing
import random
import select
import socket
import struct
import sys
import time

from servers import FIRST_ROW, MIB, World, arguments, line, percentile, until

ROWS, GOOD, DEPTH, AT_ONCE, SLOW, HALF_OPEN = 1000, 50, 8, 150, 1000, 1000
PATIENCE = {"guard": 5.0, "haproxy": 5.0, "twemproxy": 1.0}  # which keeps silent where Redis complains
SHARE = {"guard": 1, "haproxy": 5, "twemproxy": 20}  # of the connections
INPUTS = 3000
ABSENT = b"$-1\r\n"


def encoded(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def user(number):
    return b"user:%d" % (FIRST_ROW + number)


VALID = [encoded(*words.split(b" ")) for words in (
    b"GET " + user(1), b"GET user:1", b"MGET " + user(2) + b" user:2 " + user(3), b"EXISTS " + user(4), b"STRLEN user:5", b"TTL " + user(6),
    b"TYPE user:7", b"PING", b"ECHO words", b"HGET user:8 name", b"SET bad:1 value", b"LRANGE user:9 0 -1")]


def malformed(rng, count):
    """Every cut of each command, and as many others as are left."""
    inputs = [command[:at] for command in VALID for at in range(1, len(command))]
    while len(inputs) < count:
        bad = bytearray(rng.choice(VALID))
        for _ in range(rng.choice((1, 1, 2, 5))):
            at = rng.randrange(len(bad))
            kind = rng.randrange(5)
            if kind == 0:  # a length, or what looks like one
                at = rng.choice([i for i, byte in enumerate(bad) if byte in b"$*"] or [at])
                bad[at + 1:at + 2] = rng.choice((b"-1", b"0", b"9", b"99999999999", b"", b" 3", b"+3", b"03", b"x", b"536870913", b"2147483648"))
            elif kind == 1:
                bad[at] = rng.randrange(256)
            elif kind == 2:
                bad[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
            elif kind == 3:
                del bad[at:at + rng.randrange(1, 5)]
            else:
                bad[at:at + 2] = rng.choice((b"\r\n", b"\n", b"\r", b"\0\0", b'"', b"'"))
        if rng.randrange(10) == 0:
            bad = bytearray(rng.randrange(256) for _ in range(rng.randrange(1, 200))) + rng.choice((b"", b"\r\n", b"\n"))
        words = bytes(bad).upper()
        # What would end or change the server itself is not what is asked here.
        if not any(word in words for word in (b"FLUSH", b"SHUT", b"DEBUG", b"MONITOR", b"SYNC")):
            inputs.append(bytes(bad))
    return inputs


class Connection:
    def __init__(self, address, source, number, data):
        self.number, self.data, self.got, self.closed = number, data, b"", False
        self.began = time.monotonic()
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # no TIME_WAIT: there are not so many ports
        self.socket.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        self.socket.bind((source, 0))
        self.socket.connect_ex(address)

    def send(self):
        try:
            self.socket.send(self.data)
        except OSError:
            self.closed = True

    def receive(self):
        try:
            more = self.socket.recv(65536)
            self.closed = not more
            self.got += more
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True


class Flood:
    """`count` connections, each with an input of `numbers`, AT_ONCE at a time. `is_done(connection)` ends one; `judge` is told of each."""

    def __init__(self, port, inputs, rng, patience=0.0):
        self.patience = patience
        self.address, self.inputs, self.rng = ("127.0.0.1", port), inputs, rng
        self.poll, self.open = select.epoll(), {}

    def begin(self, number):
        source = f"127.0.{self.rng.randrange(1, 200)}.{self.rng.randrange(1, 250)}"
        connection = Connection(self.address, source, number, self.inputs[number])
        self.open[connection.socket.fileno()] = connection
        self.poll.register(connection.socket, select.EPOLLOUT)

    def end(self, descriptor):
        connection = self.open.pop(descriptor)
        connection.socket.close()
        return connection

    def run(self, numbers, is_done, judge, meanwhile=lambda: None):
        numbers = iter(numbers)
        is_over = False
        while self.open or not is_over:
            while not is_over and len(self.open) < AT_ONCE:
                number = next(numbers, None)
                is_over = number is None
                if not is_over:
                    self.begin(number)
            for descriptor, ready in self.poll.poll(0.01):
                connection = self.open[descriptor]
                if ready & select.EPOLLOUT:
                    connection.send()
                    self.poll.modify(descriptor, select.EPOLLIN)
                if ready & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                    connection.receive()
                if is_done(connection):
                    judge(self.end(descriptor))
            now = time.monotonic()
            for descriptor in [d for d, one in self.open.items() if now - one.began > self.patience or is_done(one)]:
                judge(self.end(descriptor))
            meanwhile()


def words_of_redis(port, inputs, rng, quiet=0.4):
    """What Redis says to each input, and whether it closes. It has said all when nothing has come for a while."""
    told = {}

    def note(connection):
        told[connection.number] = (connection.got, connection.closed)

    flood = Flood(port, inputs, rng)
    for first in range(0, len(inputs), AT_ONCE):
        for number in range(first, min(first + AT_ONCE, len(inputs))):
            flood.begin(number)
        end = time.monotonic() + quiet
        while flood.open and time.monotonic() < end:
            for descriptor, ready in flood.poll.poll(0.05):
                connection = flood.open[descriptor]
                if ready & select.EPOLLOUT:
                    connection.send()
                    flood.poll.modify(descriptor, select.EPOLLIN)
                    end = time.monotonic() + quiet
                else:
                    connection.receive()
                if connection.closed:
                    note(flood.end(descriptor))
        for descriptor in list(flood.open):
            note(flood.end(descriptor))
    return told


def good_clients(port, is_over, result):
    """Pipelines of rows' keys and nobody's, each reply checked; in a process of its own."""
    rng = random.Random(port)
    clients, errors, commands, times = [], 0, 0, []
    expected = {True: b"$6\r\nstored\r\n", False: ABSENT}

    def connect():
        client = socket.create_connection(("127.0.0.1", port), 10)
        client.settimeout(10)
        return client

    clients = [connect() for _ in range(GOOD)]
    while not is_over.is_set():
        for at, client in enumerate(clients):
            asked = [rng.randrange(2) == 0 for _ in range(DEPTH)]
            request = b"".join(encoded(b"GET", user(rng.randrange(ROWS)) if row else b"user:%d" % (2 * FIRST_ROW + rng.randrange(10**9)))
                               for row in asked)
            should_be = b"".join(expected[row] for row in asked)
            began, got = time.monotonic(), b""
            try:
                client.sendall(request)
                while len(got) < len(should_be):
                    more = client.recv(65536)
                    if not more:
                        raise ConnectionError("closed")
                    got += more
            except OSError:
                clients[at] = connect()
            errors += got != should_be
            commands += DEPTH
            times.append(time.monotonic() - began)
    result.put((commands, errors, percentile(times, 0.99), max(times)))


class Slow:
    """Some that send a byte per second, and some that send nothing."""

    def __init__(self, port):
        data = encoded(b"SET", b"bad:slow", b"x" * 100_000)
        self.slow = [[self.connect(port), data, 0] for _ in range(SLOW)]
        self.half_open = [self.connect(port) for _ in range(HALF_OPEN)]
        self.next, self.at = time.monotonic(), 0

    @staticmethod
    def connect(port):
        one = socket.create_connection(("127.0.0.1", port))
        one.setblocking(False)
        return one

    def tick(self):
        while time.monotonic() > self.next:
            self.next += 1 / SLOW
            entry = self.slow[self.at % SLOW]
            self.at += 1
            try:
                entry[0].send(entry[1][entry[2]:entry[2] + 1])
                entry[2] += 1
            except OSError:
                pass

    def close(self):
        for one in [entry[0] for entry in self.slow] + self.half_open:
            one.close()


def run(world, name, count, inputs, told, rng):
    proxy = world.proxy(name)
    if name == "guard":
        world.wait_until_absent_keys_are_answered(proxy)
    wrong = {}

    def judge(connection):
        if (connection.got, connection.closed) != told[connection.number]:
            wrong[connection.number] = wrong.get(connection.number, 0) + 1

    def is_done(connection):
        got, closes = told[connection.number]
        if not got and not closes:  # nothing is due: it goes in the middle of its command
            return time.monotonic() - connection.began > 0.002 and connection.number % 16 > 0 or time.monotonic() - connection.began > 0.1
        return connection.closed or (len(connection.got) >= len(got) and not closes)

    flood = Flood(proxy.port, inputs, rng, PATIENCE[name])
    flood.run((rng.randrange(len(inputs)) for _ in range(min(5000, count))), is_done, lambda _: None)  # what is needed once
    before, descriptors = proxy.resident(), proxy.descriptors()
    is_over, result = multiprocessing.Event(), multiprocessing.Queue()
    good = multiprocessing.Process(target=good_clients, args=(proxy.port, is_over, result))
    good.start()
    slow = Slow(proxy.port)
    most, began = 0, time.monotonic()
    looked = [began]

    def meanwhile():
        nonlocal most
        slow.tick()
        if time.monotonic() - looked[0] > 0.5:
            looked[0] = time.monotonic()
            most = max(most, proxy.resident())

    flood.run((rng.randrange(len(inputs)) for _ in range(count)), is_done, judge, meanwhile)
    seconds = time.monotonic() - began
    is_over.set()
    commands, errors, p99, longest = result.get()
    good.join()
    slow.close()
    until_back = time.monotonic() + 5
    until(lambda: proxy.descriptors() <= descriptors or time.monotonic() > until_back, "descriptors")
    for number, times in sorted(wrong.items(), key=lambda item: -item[1])[:5]:
        print(f"  {name}: {inputs[number]!r}: Redis {told[number]!r}, {times} times otherwise")
    line("bad_inputs", proxy=name, connections=count, inputs=len(inputs), per_second=round(count / seconds), unlike_redis=sum(wrong.values()),
         good_commands=commands, good_errors=errors, good_p99_ms=1000 * p99, good_max_ms=1000 * longest,
         growth_mib=(most - before) / MIB, descriptors_left=proxy.descriptors() - descriptors, slow=SLOW, half_open=HALF_OPEN)
    return name != "guard" or (errors == 0 and not wrong and commands > 0)


def main():
    chosen = arguments(("connections", 200_000))
    rng, is_good = random.Random(chosen.seed), True
    with World(chosen.guard) as world:
        world.write("rows", "".join(f"{FIRST_ROW + n}\n" for n in range(ROWS)))
        world.redis.client().all([("SET", user(n), "stored") for n in range(ROWS)])
        inputs = malformed(rng, INPUTS)
        told = words_of_redis(world.redis.port, inputs, rng)
        for name in chosen.proxies:
            is_good = run(world, name, chosen.connections // SHARE[name], inputs, told, random.Random(f"{chosen.seed} {name}")) and is_good
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
