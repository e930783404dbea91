"""The servers that this site uses, as they answer now: the database, and Redis where there is one.

Looking never fails and tells no secret: a server that is away is a finding like any other.
"""

from __future__ import annotations

import sqlite3
import time
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

from pmweb.launcher.prepare import database_name

_PATIENCE = 2.0


def database(*, named: bool = True) -> str:
    """The database in use, with its version and what matters of how it is used; its name, if `named`."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA journal_mode")
            journal = cursor.fetchone()[0]
            mode = settings.DATABASES["default"]["OPTIONS"]["transaction_mode"]
            return f"SQLite {sqlite3.sqlite_version}, journal {journal}, transactions {mode}"
        cursor.execute(
            "SELECT current_setting('server_version'),"
            " (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()),"
            " (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),"
            " current_setting('max_connections')"
        )
        version, encrypted, connections, most = cursor.fetchone()
    how = "TLS" if encrypted else "not encrypted"
    name = f"database {database_name()}, " if named else ""
    return (
        f"PostgreSQL {version.split()[0]}, {name}{how}, {connections} of {most} connections used by this site"
    )


def messages(*, named: bool = True) -> str:
    """What carries wake-up calls between computers, and whether it answers; where it is, if `named`."""
    url = settings.REDIS_URL
    if not url:
        return "by local sockets, within this computer; PMWEB_REDIS_URL=redis://host:6379/0 for several"
    import redis  # noqa: PLC0415  only there where the site is to be spread over computers

    split = urlsplit(url)
    address = f"{split.hostname}:{split.port or 6379}" if split.hostname else split.path
    place = f" at {address}" if named else ""
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=_PATIENCE, socket_timeout=_PATIENCE) as client:
            version = client.info("server")["redis_version"]
            began = time.perf_counter()
            client.ping()
            milliseconds = (time.perf_counter() - began) * 1000
    except redis.RedisError as error:
        why = error if named else type(error).__name__
        return f"Redis{place} cannot be used ({why}): events are found by polling, twice a second"
    return f"Redis {version}{place}, answers in {milliseconds:.1f} ms"
