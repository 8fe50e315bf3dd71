#!/usr/bin/env python3
"""Makes recorded/: what a real PostgreSQL sends to who follows its slots, a line of hex for each message inside COPY BOTH.

record.py [PROGRAMS [DIRECTORY]]: with the server of PROGRAMS (/usr/lib/postgresql/15/bin), into DIRECTORY (recorded/).
Run it as root: the server gives its rights away to nobody. It listens on a socket in a directory of its own.
"""

import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/lib/postgresql/15/bin")
OUT = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "recorded"
RECORDINGS = {  # and what each asks of pgoutput
    "changes": "proto_version '1', publication_names 'p', messages 'true'",
    "two_phase": "proto_version '3', publication_names 'p', two_phase 'true'",
    "binary": "proto_version '2', publication_names 'p', binary 'true'",
    "streamed": "proto_version '2', publication_names 'p', streaming 'true'",
}


class Replication:
    """As little of the protocol as a server that trusts everybody needs."""

    def __init__(self, home):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(f"{home}/.s.PGSQL.5432")
        words = b"user\0postgres\0database\0postgres\0replication\0database\0\0"
        self.socket.sendall(struct.pack("!ii", 8 + len(words), 196608) + words)
        self.until(b"Z")

    def receive(self, count):
        received = b""
        while len(received) < count:
            received += self.socket.recv(count - len(received)) or sys.exit("the server has closed")
        return received

    def message(self):
        kind, length = struct.unpack("!ci", self.receive(5))
        body = self.receive(length - 4)
        if kind == b"E":
            sys.exit(body.replace(b"\0", b" ").decode())
        return kind, body

    def until(self, kind):
        while self.message()[0] != kind:
            pass

    def start(self, slot, options):
        command = f"START_REPLICATION SLOT {slot} LOGICAL 0/0 ({options})".encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", 4 + len(command)) + command)
        self.until(b"W")

    def messages(self, end):
        """Those up to a keepalive that has reached `end`, it included."""
        while True:
            kind, body = self.message()
            if kind != b"d":
                sys.exit(f"not a part of COPY BOTH: {kind}")
            yield body
            if body[:1] == b"k" and struct.unpack("!q", body[1:9])[0] >= end:
                return


def as_nobody(*command):
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *map(str, command)]


def main():
    home = pathlib.Path(tempfile.mkdtemp(prefix="record-"))
    shutil.chown(home, "nobody", "nogroup")
    subprocess.run(as_nobody(PROGRAMS / "initdb", "-D", home / "db", "-U", "postgres", "-A", "trust", "-E", "UTF8",
                             "--locale=C.UTF-8", "--no-sync"), check=True, stdout=subprocess.DEVNULL)
    settings = {"listen_addresses": "", "unix_socket_directories": home, "wal_level": "logical", "fsync": "off",
                "max_prepared_transactions": 4, "logical_decoding_work_mem": "64kB", "wal_sender_timeout": "2s"}
    server = subprocess.Popen(as_nobody(PROGRAMS / "postgres", "-D", home / "db",
                                        *(f"--{name}={value}" for name, value in settings.items())),
                              stderr=open(home / "log", "w", encoding="utf-8"))

    def psql(*arguments):
        return subprocess.run([PROGRAMS / "psql", "-h", home, "-U", "postgres", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
                               *arguments], check=True, text=True, capture_output=True).stdout.strip()

    try:
        for _ in range(200):
            if subprocess.run([PROGRAMS / "pg_isready", "-q", "-h", home], check=False).returncode == 0:
                break
            time.sleep(0.1)
        psql("-f", HERE / "recording/tables.sql")
        for name, options in RECORDINGS.items():
            psql("-c", f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput', false, {name == 'two_phase'})")
            psql("-f", HERE / f"recording/{name}.sql")
            high, low = psql("-c", "SELECT pg_current_wal_flush_lsn()").split("/")
            replication = Replication(home)
            replication.start(name, options)
            with open(OUT / f"{name}.hex", "w", encoding="ascii") as output:
                for message in replication.messages(int(high, 16) << 32 | int(low, 16)):
                    if name != "streamed" or message[25:26] != b"I":  # there are hundreds
                        output.write(message.hex() + "\n")
            replication.socket.close()
        (OUT / "postgresql.version").write_text(psql("-c", "SHOW server_version") + "\n", encoding="ascii")
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(home)


main()
