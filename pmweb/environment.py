"""Settings as they stand in the environment: read, checked, and explained where they make no sense.

Nothing here says a value that could be a secret. The secret key is generated once per installation, readable
by its owner alone, never in the repository.
"""

from __future__ import annotations

import os
import secrets
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from inference.runs.data_directory import claim
from inference.runs.errors import NotPrivateError
from inference.runs.webhook_address import RIGHT, is_address

_POSTGRESQL = "postgresql://user:password@host:5432/name"
_REDIS = "redis://:password@host:6379/0"
_PARTS = ("HOST", "PORT", "NAME", "USER", "PASSWORD", "SSLMODE")
_URL_OPTIONS = frozenset(
    (
        "sslmode",
        "sslrootcert",
        "sslcert",
        "sslkey",
        "channel_binding",
        "target_session_attrs",
        "connect_timeout",
    )
)
"""What may stand behind the question mark of a database's address; libpq checks the values."""

_SERVER_SIDE = {
    "tcp_keepalives_idle": "5s",
    "tcp_keepalives_interval": "2s",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "15s",
    "idle_in_transaction_session_timeout": "120s",
}
"""What the server does about clients that are gone: by default it keeps their locks for two hours."""

_CONNECTION = {
    "application_name": "pmweb",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
    "options": " ".join(f"-c {name}={value}" for name, value in _SERVER_SIDE.items()),
}
"""A server that is gone is noticed within seconds: runs are taken over after fifteen (`LeaseMonitor`)."""

WEB_PROCESS = "PMWEB_WEB_PROCESS"
"""Set by the launcher for the web process alone."""

_KEEP_CONNECTION_SECONDS = 60
_POOL_SIZE = 10
_POOL_PATIENCE_SECONDS = 10


PLAIN = {"PMWEB_DATABASE_SSLMODE", WEB_PROCESS}
"""Variables that have numbers and choices: all others may name something, or be a secret."""


def flag(name: str, *, default: bool = False) -> bool:
    """Whether the variable is 1; the default where it is not set."""
    text = _plain(name)
    if text not in {"", "0", "1"}:
        raise ImproperlyConfigured(f"{name} is {text!r}; it is to be 1 (yes) or 0 (no)")
    return text == "1" if text else default


def number(name: str, default: int) -> int:
    """The whole number ≥ 0 in the variable; the default where it is not set."""
    text = _plain(name)
    if not text:
        return default
    if not text.isdecimal():
        raise ImproperlyConfigured(f"{name} is {text!r}; it is to be a whole number ≥ 0")
    return int(text)


def choice(name: str, choices: tuple[str, ...]) -> str:
    """The one of the choices that the variable names; the first one where it is not set."""
    text = _plain(name) or choices[0]
    if text not in choices:
        raise ImproperlyConfigured(f"{name} is {text!r}; it is to be {' or '.join(choices)}")
    return text


def _plain(name: str) -> str:
    PLAIN.add(name)
    return os.environ.get(name, "").strip()


def networks(name: str, default: str) -> list[IPv4Network | IPv6Network]:
    """The addresses and networks between the commas of the variable."""
    try:
        return [ip_network(word) for word in words(name, default)]
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name}: {error}; it is to be addresses and networks, such as 10.0.0.1,192.0.2.0/24"
        ) from error


def log_file(name: str) -> dict[str, Any]:
    """How `logging.config` opens the file that the variable names: anew where it was moved away, as programs
    do that rotate logs; standard error for `-` and where the variable is not set.
    """
    text = os.environ.get(name, "").strip()
    if text in {"", "-"}:
        return {"class": "logging.StreamHandler"}
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise ImproperlyConfigured(f"{name} is to be a file in a directory that there is; {text!r} is none")
    return {"class": "logging.handlers.WatchedFileHandler", "filename": path, "delay": True}


def words(name: str, default: str = "") -> list[str]:
    """What stands between the commas of the variable."""
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


def webhook(name: str) -> str:
    """The address in the variable that is told something by a POST; "" where it is not set."""
    url = os.environ.get(name, "").strip()
    if url and not is_address(url):
        raise ImproperlyConfigured(f"{name} is no address to send to; it is to be {RIGHT}")
    return url


def database(home: Path) -> dict[str, Any]:
    """The database as Django's settings have it: PostgreSQL where the environment names one, or SQLite."""
    url = os.environ.get("PMWEB_DATABASE_URL", "").strip()
    parts = {part: os.environ.get(f"PMWEB_DATABASE_{part}", "") for part in _PARTS}
    if url or any(parts.values()):
        return _postgresql(url, parts)
    # WAL lets readers go on beside one writer; IMMEDIATE takes the write lock at BEGIN, where busy_timeout
    # can wait for it, instead of in mid-transaction, where SQLite gives up at once. FULL brings the log to
    # the disk with every commit: what somebody was told is done survives a power failure (docs/faults.md).
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": home / "pmweb.sqlite3",
        "CONN_MAX_AGE": None if WEB_PROCESS in os.environ else 0,  # its threads stay: so may what they opened
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;",
        },
    }


def channel_layers(url: str) -> dict[str, Any]:
    """The channel layer: Redis, or without an address one that stays in its process.

    It carries wake-ups and nothing else, so publishing does: nothing is kept for anybody who is not
    there, and nothing can pile up.
    """
    if not url:
        return {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    if urlsplit(url).scheme not in {"redis", "rediss", "unix"}:
        raise ImproperlyConfigured(f"PMWEB_REDIS_URL is to look like {_REDIS} (rediss:// for TLS)")
    _require("channels_redis", "Redis")
    # Without a limit on what may be silent for how long: redis-py would give up an idle connection after five
    # seconds. Whether it still stands, it asks by itself.
    host = {"address": url, "socket_timeout": None, "socket_connect_timeout": 5, "health_check_interval": 15}
    return {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [host], "prefix": os.environ.get("PMWEB_REDIS_PREFIX", "pmweb")},
        }
    }


def _require(library: str, what: str) -> None:
    """Raises `ImproperlyConfigured` where the library of the `scale` extra is missing."""
    if find_spec(library) is None:
        raise ImproperlyConfigured(
            f"the environment names {what}, for which the library {library} is missing: `make setup-scale` "
            "installs it (or `pip install 'pmweb[scale]'`)"
        )


def _postgresql(url: str, parts: dict[str, str]) -> dict[str, Any]:
    """The parts count where the address does not say it: a password may come by a way of its own."""
    _require("psycopg", "PostgreSQL")
    said, options = _read_url(url) if url else ({}, {})
    facts = {part: said.get(part) or parts[part] for part in _PARTS}
    if not facts["HOST"]:
        raise ImproperlyConfigured(
            f"PMWEB_DATABASE_HOST is to name the database server, or PMWEB_DATABASE_URL {_POSTGRESQL}"
        )
    if facts["SSLMODE"]:
        options = {"sslmode": facts["SSLMODE"], **options}
    pool = number("PMWEB_DATABASE_POOL", _POOL_SIZE) * (WEB_PROCESS in os.environ)
    if pool:
        options["pool"] = {"min_size": 1, "max_size": pool, "timeout": _POOL_PATIENCE_SECONDS}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": facts["HOST"],
        "PORT": facts["PORT"],
        "NAME": facts["NAME"] or "pmweb",
        "USER": facts["USER"] or "pmweb",
        "PASSWORD": facts["PASSWORD"],
        "OPTIONS": {**_CONNECTION, **options},
        # A web process has as many threads as slow requests need: its connections come from a pool. Whoever
        # else works here has few threads, which keep theirs.
        "CONN_MAX_AGE": 0 if pool else _KEEP_CONNECTION_SECONDS,
        "CONN_HEALTH_CHECKS": True,
    }


def _read_url(url: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The parts that a database's address says, and its options."""
    try:
        split = urlsplit(url)
        port = split.port
    except ValueError:
        # Without its cause, which quotes: what stands where a port should may be the end of a password.
        raise ImproperlyConfigured(f"PMWEB_DATABASE_URL is to look like {_POSTGRESQL}") from None
    if split.scheme not in {"postgresql", "postgres"}:
        raise ImproperlyConfigured(
            f"PMWEB_DATABASE_URL is to look like {_POSTGRESQL}: there are PostgreSQL and, without it, SQLite"
        )
    options = dict(parse_qsl(split.query))
    host = unquote(split.hostname or "") or options.pop("host", "")  # a directory, for a local socket
    unknown = sorted(set(options) - _URL_OPTIONS)
    if unknown:
        raise ImproperlyConfigured(
            f"PMWEB_DATABASE_URL has the option {unknown[0]!r}; known are {', '.join(sorted(_URL_OPTIONS))}"
        )
    said = {
        "HOST": host,
        "PORT": str(port or ""),
        "NAME": unquote(split.path.lstrip("/")),
        "USER": unquote(split.username or ""),
        "PASSWORD": unquote(split.password or ""),
    }
    return said, dict(options)


def load_secret_key(home: Path) -> str:
    """The key in `home/secret-key`, made on first use; safe when two processes start at once.

    Raises ImproperlyConfigured where the directory cannot be used.
    """
    try:
        return _read_or_make(home)
    except NotPrivateError as error:
        raise ImproperlyConfigured(str(error)) from error
    except OSError as error:
        raise ImproperlyConfigured(
            f"the data directory {home} cannot be used ({error.strerror}); "
            "let PMWEB_HOME name a directory that you can write to"
        ) from error


def _read_or_make(home: Path) -> str:
    path = home / "secret-key"
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        claim(home)
    draft = home / f"secret-key.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as handle:
        handle.write(secrets.token_urlsafe(50))
        handle.flush()
        os.fsync(descriptor)  # what has the name is a whole key, also after a power failure
    try:
        os.link(draft, path)  # fails if the other process was first: then its key counts
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text().strip()
