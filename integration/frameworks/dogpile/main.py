"""A shop that caches with dogpile.cache, Redis backend, default serializer; keys such as "user:7"."""

import sqlite3
import sys
from pathlib import Path

from dogpile.cache import make_region

sys.path.append(str(Path(__file__).parent.parent))

import lookups


class Shop:
    def __init__(self, port, database):
        self.database = sqlite3.connect(database)
        self.database_queries = 0
        self.region = make_region().configure(
            "dogpile.cache.redis",
            expiration_time=300,
            arguments={"host": "127.0.0.1", "port": port, "redis_expiration_time": 600, "distributed_lock": False},
        )

    def name_of_user(self, number):
        return self.region.get_or_create(f"user:{number}", lambda: self.load(number))

    def load(self, number):
        self.database_queries += 1
        row = self.database.execute("SELECT name FROM user WHERE id = ?", (number,)).fetchone()
        return row[0] if row else None


arguments = lookups.Arguments()
lookups.run(Shop(arguments.port, arguments.database), arguments)
