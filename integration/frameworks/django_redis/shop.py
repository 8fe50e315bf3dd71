"""A shop on Django, cached by django-redis with its default settings: pickle, and keys such as ":1:user:7".

Nothing here knows of the guard: an address is the one that the application takes for Redis's.
"""

import os
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.db import models

TTL = 300  # seconds


def redis_cache(address, key_prefix=""):
    return {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": f"redis://{address}/0",
        "KEY_PREFIX": key_prefix,
    }


def database_at(address):
    """SQLite's file, or mysql://USER@HOST:PORT/NAME and DATABASE_PASSWORD, or postgresql://USER:PASSWORD@HOST:PORT/NAME."""
    if "://" not in address:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": address}
    url = urlsplit(address)
    return {
        "ENGINE": f"django.db.backends.{url.scheme}",
        "HOST": url.hostname,
        "PORT": url.port,
        "USER": url.username,
        "PASSWORD": url.password or os.environ.get("DATABASE_PASSWORD", ""),
        "NAME": url.path.lstrip("/"),
    }


def configure(caches, database):
    settings.configure(
        CACHES=caches, DATABASES={"default": database}, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField"
    )
    django.setup()


def users_in(table):
    class User(models.Model):
        name = models.TextField()

        class Meta:
            app_label = "shop"
            db_table = table
            managed = False

    return User.objects


class Shop:
    def __init__(self, cache, users):
        self.cache = cache
        self.users = users
        self.database_queries = 0

    def name_of_user(self, number):
        return self.cache.get_or_set(f"user:{number}", lambda: self.load(number), TTL)

    def load(self, number):
        self.database_queries += 1
        return self.users.filter(pk=number).values_list("name", flat=True).first()
