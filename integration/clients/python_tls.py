"""What clients do over TLS, through the guard or straight: python-redis, and Python's own ssl for what it does not show.

    python_tls.py PORT FOLDER WHAT

FOLDER has ca.crt, client.crt and client.key; WHAT is one of the functions at the end. Ends with 1 at the first check that does not
hold.
"""

import socket
import ssl
import sys

import redis

PORT = int(sys.argv[1])
FOLDER = sys.argv[2]
PATIENCE = 60  # seconds; for a busy machine


def check(actual, expected):
    if actual != expected:
        raise AssertionError(f"{str(actual)[:200]!r} instead of {str(expected)[:200]!r}")


def client(**options):
    return redis.Redis(
        host="localhost",
        port=PORT,
        ssl=True,
        ssl_ca_certs=FOLDER + "/ca.crt",
        ssl_check_hostname=True,
        socket_timeout=PATIENCE,
        **options,
    )


def open_socket(version=None):
    settings = ssl.create_default_context(cafile=FOLDER + "/ca.crt")
    if version is not None:
        settings.set_ciphers("DEFAULT:@SECLEVEL=0")
        settings.minimum_version = settings.maximum_version = version
    return settings.wrap_socket(socket.create_connection(("127.0.0.1", PORT), PATIENCE), server_hostname="localhost")


def read(connection, size):
    received = bytearray()
    while len(received) < size:
        piece = connection.recv(1 << 16)
        if not piece:
            break
        received += piece
    return bytes(received)


def versions():
    for version, name in [(ssl.TLSVersion.TLSv1_2, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, "TLSv1.3")]:
        connection = open_socket(version)
        check(connection.version(), name)
        connection.sendall(b"PING\r\n")
        check(read(connection, 7), b"+PONG\r\n")
    for version in [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1]:
        try:
            open_socket(version)
        except (ssl.SSLError, ConnectionResetError):
            continue
        raise AssertionError(f"{version} is spoken")


def large_values():
    value = bytes(range(256)) * (50 * 4096)  # 50 MiB
    r = client()
    check(r.set("large", value), True)
    check(r.strlen("large"), len(value))
    check(r.get("large") == value, True)
    check(r.append("large", value), 2 * len(value))


def pipelines():
    r = client()
    for size in [1, 100, 20_000]:
        pipeline = r.pipeline(transaction=False)
        for i in range(size):
            pipeline.set(f"user:{i}", "v" * (i % 500))
            pipeline.get(f"user:{i}")
        replies = pipeline.execute()
        check(replies, [reply for i in range(size) for reply in (True, b"v" * (i % 500))])


def many_clients():
    clients = [client() for _ in range(100)]
    for i, r in enumerate(clients):
        check(r.set(f"mine:{i}", i), True)
    for i, r in enumerate(clients):
        check(r.get(f"mine:{i}"), str(i).encode())


# A client that asks and says farewell is still answered what is on its way, as by Redis: nothing, or all of it.
def farewells():
    connection = open_socket()
    connection.sendall(b"PING\r\n")
    check(read(connection, 7), b"+PONG\r\n")
    connection.unwrap()


# What python-redis does with a certificate of its own, and without.
def with_certificate():
    check(client(ssl_certfile=FOLDER + "/client.crt", ssl_keyfile=FOLDER + "/client.key").ping(), True)


def without_certificate():
    try:
        client().ping()
    except redis.exceptions.ConnectionError:
        return
    raise AssertionError("a client without a certificate is served")


for what in sys.argv[3:]:
    globals()[what]()
