"""A cache-aside application in Python, with a thread per client of the herd (herd.h): python-redis, or Django's cache on it.

    herd.py redis|never|django PORT HERD CLIENTS POOL

PORT is Redis's, or the guard's. All threads share a pool of POOL connections. `never` does not cache what it has loaded.
"""

import socket
import sys
import threading
import time

TTL = 300  # seconds


class Herd:
    def __init__(self, port):
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lines = self.connection.makefile()

    def ask(self, line):
        self.connection.sendall(f"{line}\n".encode())
        return self.lines.readline().rstrip("\n")

    def load(self, number):
        return self.ask(f"load {number}")


def redis_look_up(port, pool_size, caches_it):
    import redis

    pool = redis.BlockingConnectionPool(host="127.0.0.1", port=port, max_connections=pool_size, timeout=None)
    cache = redis.Redis(connection_pool=pool)

    def look_up(number, herd):
        key = f"user:{number}"
        value = cache.get(key)
        if value is not None:
            return value.decode()
        value = herd.load(number)
        if caches_it:
            cache.set(key, value, ex=TTL)
        return value

    return look_up


def django_look_up(port, pool_size):
    import django
    from django.conf import settings
    from django.core.cache import cache

    settings.configure(
        CACHES={
            "default": {
                "BACKEND": "django_redis.cache.RedisCache",
                "LOCATION": f"redis://127.0.0.1:{port}/0",
                "OPTIONS": {
                    "CONNECTION_POOL_CLASS": "redis.BlockingConnectionPool",
                    "CONNECTION_POOL_KWARGS": {"max_connections": pool_size, "timeout": None},
                },
            }
        }
    )
    django.setup()
    return lambda number, herd: cache.get_or_set(f"user:{number}", lambda: herd.load(number), TTL)


def client(port, look_up):
    herd = Herd(port)
    order = herd.ask("ready")
    while order != "end":
        number = order.removeprefix("read ")
        begin = time.perf_counter()
        value = look_up(number, herd)
        order = herd.ask(f"took {(time.perf_counter() - begin) * 1e6:.0f} {value}")


def main():
    kind, port, herd_port, clients, pool_size = sys.argv[1], *map(int, sys.argv[2:])
    if kind == "django":
        look_up = django_look_up(port, pool_size)
    else:
        look_up = redis_look_up(port, pool_size, kind == "redis")
    threads = [threading.Thread(target=client, args=(herd_port, look_up)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
