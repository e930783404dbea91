"""The site's settings, but for SQLite that brings nothing to the disk when it commits (`durability`)."""

from pmweb.settings import *  # noqa: F403
from pmweb.settings import DATABASES as _DATABASES

_options = _DATABASES["default"]["OPTIONS"]
_options["init_command"] = _options["init_command"].replace("synchronous=FULL", "synchronous=NORMAL")
