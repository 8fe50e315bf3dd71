"""Creates rows with Django's ORM and reads each from the cache at once. integration/frameworks/creator.h documents arguments and output.

Reads inside the transaction are made by a handler of post_save.
"""

import os
import sys
import time
import uuid

from django.core.cache import cache
from django.db import models, transaction
from django.db.models.signals import post_save

from shop import configure, database_at, redis_cache

MISSING = object()  # for a key that Redis does not have; the guard's absent reply is read as None
PATIENCE = 60  # seconds; for a busy machine


def model_of(table, engine):
    class Row(models.Model):
        if table == "visit":
            id = models.BigAutoField(primary_key=True)
            name = models.IntegerField(default=1)
        elif engine.endswith("postgresql"):
            id = models.UUIDField(primary_key=True, default=uuid.uuid4)
        else:
            id = models.CharField(primary_key=True, max_length=36, default=uuid.uuid4)

        class Meta:
            app_label = "shop"
            db_table = table
            managed = False

    return Row


class Reader:
    def __init__(self, table):
        self.table = table
        self.rows = self.absent = 0

    def read(self, row, **_):
        self.rows += 1
        self.absent += cache.get(f"{self.table}:{row.pk}", MISSING) is None


def create(row_model, reader, rows, is_inside, interval):
    if is_inside:
        post_save.connect(lambda instance, **_: reader.read(instance), sender=row_model, weak=False)
    for _ in range(rows):
        if is_inside:
            with transaction.atomic():
                row_model.objects.create()
        else:
            reader.read(row_model.objects.create())
        time.sleep(interval)
    print(f"rows={reader.rows} absent={reader.absent}", flush=True)


def main():
    port, address, table, processes, rows, when, interval = sys.argv[1:]
    database = database_at(address)
    if database["ENGINE"].endswith("sqlite3"):
        database["OPTIONS"] = {"timeout": PATIENCE}
    configure({"default": redis_cache(f"127.0.0.1:{port}")}, database)
    row_model = model_of(table, database["ENGINE"])
    print("ready", flush=True)
    children = []
    for _ in range(int(processes)):
        child = os.fork()
        if child == 0:
            create(row_model, Reader(table), int(rows), when == "inside", int(interval) / 1000)
            return
        children.append(child)
    sys.exit(any(os.waitpid(child, 0)[1] for child in children))


main()
