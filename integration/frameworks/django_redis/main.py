"""The look-ups of lookups.py by a shop on Django."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))

import lookups
from shop import Shop, configure

arguments = lookups.Arguments()
configure(arguments.port, {"ENGINE": "django.db.backends.sqlite3", "NAME": arguments.database})
lookups.run(Shop(table="user"), arguments)
