"""The look-ups of lookups.py by a shop on Django."""

import sys
from pathlib import Path

from django.core.cache import cache

sys.path.append(str(Path(__file__).parent.parent))

import lookups
from shop import Shop, configure, database_at, redis_cache, users_in

arguments = lookups.Arguments()
configure({"default": redis_cache(f"127.0.0.1:{arguments.port}")}, database_at(arguments.database))
lookups.run(Shop(cache, users_in("user")), arguments)
