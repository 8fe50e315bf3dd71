#!/usr/bin/env python3
"""Records what real nodes of a cluster reply: tests/cluster/record.py [WAY...]

Three nodes, of which two are masters and the last is a replica of the first, for each way in which a cluster can be told to name its
nodes. A file in recorded/ has the replies of its first node to COMMANDS, one behind the other. Run by nobody but who wants newer ones;
CUCKOOGUARD_REDIS_SERVER names another program.
"""

import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

RECORDED = pathlib.Path(__file__).parent / "recorded"
COMMANDS = ["CLUSTER SLOTS", "CLUSTER SHARDS", "CLUSTER NODES", "CLUSTER REPLICAS {first}", "GET b"]  # b is in slot 3300, the second's
PORTS = [7001, 7002, 7003]

HOSTNAMES = ["--cluster-announce-hostname", "node{port}.example"]
WAYS = {
    "ip": [],
    "ip_and_hostname": HOSTNAMES,
    "hostname": [*HOSTNAMES, "--cluster-preferred-endpoint-type", "hostname"],
    "no_hostname": ["--cluster-preferred-endpoint-type", "hostname"],
    "unknown_endpoint": [*HOSTNAMES, "--cluster-preferred-endpoint-type", "unknown-endpoint"],
    "tls": ["--tls-port", "2{port}", "--tls-cluster", "yes", "--tls-replication", "yes", "--tls-auth-clients", "no",
            "--tls-cert-file", "{folder}/cert", "--tls-key-file", "{folder}/key", "--tls-ca-cert-file", "{folder}/cert"],
    "ipv6": [],
}


class Node:
    def __init__(self, program, folder, port, way):
        self.host = "::1" if way == "ipv6" else "127.0.0.1"
        self.port = port
        more = [argument.format(port=port, folder=folder) for argument in WAYS[way]]
        self.process = subprocess.Popen(
            [program, "--port", str(port), "--bind", self.host, "--cluster-enabled", "yes", "--dir", folder, "--save", "",
             "--cluster-config-file", f"nodes-{port}.conf", *more], stdout=subprocess.DEVNULL)
        until(self.answers)
        self.id = self.ask("CLUSTER MYID")[5:-2]

    def answers(self):
        try:
            return self.ask("PING") == "+PONG\r\n"
        except OSError:
            return False

    def ask(self, command, version=2):
        with socket.create_connection((self.host, self.port)) as connection:
            connection.sendall(f"HELLO {version}\r\n{command}\r\nECHO the-end\r\n".encode())
            reply = b""
            while not reply.endswith(b"the-end\r\n"):
                reply += connection.recv(65536)
        end = reply.index(b"modules\r\n*0\r\n") + len(b"modules\r\n*0\r\n")  # what HELLO says last
        return reply[end:].removesuffix(b"$7\r\nthe-end\r\n").decode()


def until(holds):
    deadline = time.monotonic() + 20
    while not holds():
        if time.monotonic() > deadline:
            sys.exit("record.py: the cluster does not get ready")
        time.sleep(0.05)


def record(program, way):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=node", "-keyout", f"{folder}/key",
                        "-out", f"{folder}/cert"], check=True, stderr=subprocess.DEVNULL)
        nodes = [Node(program, folder, port, way) for port in PORTS]
        try:
            first, second, third = nodes
            # The first has two ranges.
            first.ask("CLUSTER ADDSLOTSRANGE 0 99 8192 16383")
            second.ask("CLUSTER ADDSLOTSRANGE 100 8191")
            for number, node in enumerate(nodes, 1):
                node.ask(f"CLUSTER SET-CONFIG-EPOCH {number}")
                first.ask(f"CLUSTER MEET {node.host} {'2' if way == 'tls' else ''}{node.port}")
            until(lambda: all(first.id in node.ask("CLUSTER NODES") for node in nodes))
            third.ask(f"CLUSTER REPLICATE {first.id}")
            names = len(nodes) if WAYS[way] and "--cluster-announce-hostname" in WAYS[way] else 0
            until(lambda: all("cluster_state:ok" in node.ask("CLUSTER INFO") for node in nodes)
                  and third.id in first.ask(f"CLUSTER REPLICAS {first.id}")
                  and "nofailover" not in first.ask("CLUSTER NODES")
                  and first.ask("CLUSTER NODES").count(".example") == names
                  and first.ask("CLUSTER SHARDS").count("online") == len(nodes)
                  and first.ask("CLUSTER SLOTS").count(third.id) == 2)
            for version in (2, 3):
                replies = "".join(first.ask(command.format(first=first.id), version) for command in COMMANDS)
                (RECORDED / f"{way}_resp{version}").write_bytes(replies.encode())
        finally:
            for node in nodes:
                node.process.kill()
                node.process.wait()


for way in sys.argv[1:] or WAYS:
    record(os.environ.get("CUCKOOGUARD_REDIS_SERVER", "redis-server"), way)
