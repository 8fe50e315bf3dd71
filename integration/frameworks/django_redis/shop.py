"""A shop on Django, cached by django-redis with its default settings: pickle, and keys such as ":1:user:7".

Nothing here knows of the guard: LOCATION is the port that the application takes for Redis's.
"""

import django
from django.conf import settings
from django.core.cache import cache
from django.db import models


def configure(port, database, key_prefix=""):
    settings.configure(
        CACHES={
            "default": {
                "BACKEND": "django_redis.cache.RedisCache",
                "LOCATION": f"redis://127.0.0.1:{port}/0",
                "KEY_PREFIX": key_prefix,
            }
        },
        DATABASES={"default": database},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    )
    django.setup()


class Shop:
    def __init__(self, table):
        class User(models.Model):
            name = models.TextField()

            class Meta:
                app_label = "shop"
                db_table = table
                managed = False

        self.users = User.objects
        self.database_queries = 0

    def name_of_user(self, number):
        return cache.get_or_set(f"user:{number}", lambda: self.load(number), timeout=300)

    def load(self, number):
        self.database_queries += 1
        return self.users.filter(pk=number).values_list("name", flat=True).first()
