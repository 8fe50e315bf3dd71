#!/usr/bin/env python3
"""Records what real Sentinels, and those that they watch, reply and publish: tests/cluster/record_sentinel.py

A master on port 7001 with replicas on 7002 and 7003, and Sentinels on 7011 to 7013. recorded/sentinel_respN has the first Sentinel's
replies to SENTINEL, one behind the other, then INFO's and ROLE's of the master and of a replica; recorded/sentinel_messages what it
published during a failover. Run by nobody but who wants newer ones; CUCKOOGUARD_REDIS_SERVER names another program.
"""

import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

RECORDED = pathlib.Path(__file__).parent / "recorded"
OF_SENTINEL = ["SENTINEL GET-MASTER-ADDR-BY-NAME shop", "SENTINEL MASTER shop", "SENTINEL MASTERS", "SENTINEL REPLICAS shop",
               "SENTINEL SENTINELS shop", "INFO sentinel", "ROLE"]
OF_NODE = ["INFO replication", "ROLE"]
NODES = [7001, 7002, 7003]
SENTINELS = [7011, 7012, 7013]
SENTINEL_FILE = """port {port}
bind 127.0.0.1
dir {folder}
sentinel monitor shop 127.0.0.1 7001 2
sentinel down-after-milliseconds shop 1000
sentinel failover-timeout shop 5000
"""


def ask(port, command, version=2):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"HELLO {version}\r\n{command}\r\nPING the-end\r\n".encode())
        reply = b""
        while not reply.endswith(b"the-end\r\n"):
            reply += connection.recv(65536)
    end = reply.index(b"modules\r\n*0\r\n") + len(b"modules\r\n*0\r\n")  # what HELLO says last
    return reply[end:].removesuffix(b"$7\r\nthe-end\r\n").decode()


def answers(port):
    try:
        return ask(port, "PING") == "+PONG\r\n"
    except OSError:
        return False


def until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            sys.exit("record_sentinel.py: it does not get ready")
        time.sleep(0.05)


def is_ready(port):
    master = ask(port, "SENTINEL MASTER shop")
    return ("num-slaves\r\n$1\r\n2" in master and "num-other-sentinels\r\n$1\r\n2" in master
            and ask(port, "SENTINEL REPLICAS shop").count("\r\nok\r\n") >= 2)


def record_messages():
    with socket.create_connection(("127.0.0.1", SENTINELS[0])) as connection:
        connection.sendall(b"PSUBSCRIBE *\r\nSUBSCRIBE +switch-master\r\n")
        said = connection.recv(65536)
        ask(SENTINELS[0], "SENTINEL FAILOVER shop")
        while said.count(b"+switch-master") < 3:  # it is published to the channel, and to the pattern
            said += connection.recv(65536)
        connection.settimeout(1)
        try:
            while True:
                said += connection.recv(65536)
        except TimeoutError:
            (RECORDED / "sentinel_messages").write_bytes(said)


def record(program, folder):
    processes = []
    try:
        for port in NODES:
            replica = [] if port == NODES[0] else ["--replicaof", "127.0.0.1 7001"]
            processes.append(subprocess.Popen([program, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "",
                                               "--repl-diskless-sync-delay", "0", *replica], stdout=subprocess.DEVNULL))
            until(lambda port=port: answers(port))
        for port in SENTINELS:
            file = pathlib.Path(folder) / f"{port}.conf"
            file.write_text(SENTINEL_FILE.format(port=port, folder=folder))
            processes.append(subprocess.Popen([program, str(file), "--sentinel"], stdout=subprocess.DEVNULL))
        until(lambda: all(answers(port) for port in SENTINELS))
        until(lambda: all(is_ready(port) for port in SENTINELS))
        for version in (2, 3):
            replies = [ask(SENTINELS[0], command, version) for command in OF_SENTINEL]
            replies += [ask(port, command, version) for port in NODES[:2] for command in OF_NODE]
            (RECORDED / f"sentinel_resp{version}").write_bytes("".join(replies).encode())
        record_messages()
    finally:
        for process in processes:
            process.kill()
            process.wait()


with tempfile.TemporaryDirectory() as directory:
    record(os.environ.get("CUCKOOGUARD_REDIS_SERVER", "redis-server"), directory)
