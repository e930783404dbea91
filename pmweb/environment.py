"""Settings from environment variables: parsing, validation, error messages.

No message contains a value that may be a secret. The secret key is generated once per installation, in a file
that only its owner can read.
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

from inference.runs.data_directory import make_private
from inference.runs.errors import NotPrivateError
from inference.runs.webhook_address import EXPECTED_FORM, is_address

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
"""Allowed options in the query of a database's address; libpq validates the values."""

_SERVER_OPTIONS = {
    "tcp_keepalives_idle": "5s",
    "tcp_keepalives_interval": "2s",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "15s",
    "idle_in_transaction_session_timeout": "120s",
}
"""Settings of the server for vanished clients: by default it keeps their locks for two hours."""

_CONNECTION_OPTIONS = {
    "application_name": "pmweb",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
    "options": " ".join(f"-c {name}={value}" for name, value in _SERVER_OPTIONS.items()),
}
"""Options by which a vanished server is noticed within seconds: after 15 s another worker claims the runs
(`LeaseMonitor`)."""

WEB_PROCESS = "PMWEB_WEB_PROCESS"
"""Set by the launcher in web processes only."""

_KEEP_CONNECTION_SECONDS = 60
_POOL_SIZE = 10
_POOL_TIMEOUT_SECONDS = 10


PUBLIC = {"PMWEB_DATABASE_SSLMODE", WEB_PROCESS}
"""Variables with numbers and choices; the values of all others may be names or secrets."""


def flag(name: str, *, default: bool = False) -> bool:
    """Whether the variable is 1; `default` if it is not set."""
    text = _public_text(name)
    if text not in {"", "0", "1"}:
        raise ImproperlyConfigured(f"{name} is {text!r}; it must be 1 (yes) or 0 (no)")
    return text == "1" if text else default


def number(name: str, default: int) -> int:
    """The whole number ≥ 0 in the variable; `default` if it is not set."""
    text = _public_text(name)
    if not text:
        return default
    if not text.isdecimal():
        raise ImproperlyConfigured(f"{name} is {text!r}; it must be a whole number ≥ 0")
    return int(text)


def choice(name: str, choices: tuple[str, ...]) -> str:
    """The choice in the variable; the first choice if it is not set."""
    text = _public_text(name) or choices[0]
    if text not in choices:
        raise ImproperlyConfigured(f"{name} is {text!r}; it must be {' or '.join(choices)}")
    return text


def _public_text(name: str) -> str:
    PUBLIC.add(name)
    return os.environ.get(name, "").strip()


def networks(name: str, default: str) -> list[IPv4Network | IPv6Network]:
    """The comma-separated addresses and networks in the variable."""
    try:
        return [ip_network(word) for word in words(name, default)]
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name}: {error}; it must be addresses and networks, such as 10.0.0.1,192.0.2.0/24"
        ) from error


def log_file(name: str) -> dict[str, Any]:
    """Configuration of a log handler for the file in the variable; standard error for `-` and if it is not
    set.

    The handler opens the file again after it was moved by log rotation.
    """
    text = os.environ.get(name, "").strip()
    if text in {"", "-"}:
        return {"class": "logging.StreamHandler"}
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise ImproperlyConfigured(f"{name} must be a file in an existing directory; {text!r} is not")
    return {"class": "logging.handlers.WatchedFileHandler", "filename": path, "delay": True}


def words(name: str, default: str = "") -> list[str]:
    """The comma-separated words in the variable, without empty ones."""
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


def webhook(name: str) -> str:
    """The address of a webhook in the variable; "" if it is not set."""
    url = os.environ.get(name, "").strip()
    if url and not is_address(url):
        raise ImproperlyConfigured(f"{name} is not an address to send to; it must be {EXPECTED_FORM}")
    return url


def database(home: Path) -> dict[str, Any]:
    """Django's settings of the database: PostgreSQL if the environment names one, else SQLite in `home`."""
    url = os.environ.get("PMWEB_DATABASE_URL", "").strip()
    parts = {part: os.environ.get(f"PMWEB_DATABASE_{part}", "") for part in _PARTS}
    if url or any(parts.values()):
        return _postgresql(url, parts)
    # WAL lets readers work beside one writer. IMMEDIATE takes the write lock at BEGIN, where busy_timeout can
    # wait for it; in mid-transaction SQLite fails at once. FULL syncs the log at every commit: an
    # acknowledged change survives a power failure (docs/faults.md).
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": home / "pmweb.sqlite3",
        "CONN_MAX_AGE": None if WEB_PROCESS in os.environ else 0,  # threads of a web process live on
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;",
        },
    }


def channel_layers(url: str) -> dict[str, Any]:
    """Django's settings of the channel layer: Redis, or without an address a layer within the process.

    It carries only wake-ups, so publish/subscribe suffices: absent receivers miss messages, and none pile up.
    """
    if not url:
        return {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    if urlsplit(url).scheme not in {"redis", "rediss", "unix"}:
        raise ImproperlyConfigured(f"PMWEB_REDIS_URL must look like {_REDIS} (rediss:// for TLS)")
    _require("channels_redis", "Redis")
    # No socket timeout: redis-py would drop an idle connection after five seconds. Health checks find broken
    # ones.
    host = {"address": url, "socket_timeout": None, "socket_connect_timeout": 5, "health_check_interval": 15}
    return {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [host], "prefix": os.environ.get("PMWEB_REDIS_PREFIX", "pmweb")},
        }
    }


def _require(library: str, setting: str) -> None:
    """Raises `ImproperlyConfigured` if a library of the `scale` extra is missing."""
    if find_spec(library) is None:
        raise ImproperlyConfigured(
            f"the environment names {setting}, for which the library {library} is missing: "
            "`make setup-scale` installs it (or `pip install 'pmweb[scale]'`)"
        )


def _postgresql(url: str, parts: dict[str, str]) -> dict[str, Any]:
    """Settings from the address; `parts` fill what it lacks, such as a password in a variable of its own."""
    _require("psycopg", "PostgreSQL")
    url_parts, options = _read_url(url) if url else ({}, {})
    facts = {part: url_parts.get(part) or parts[part] for part in _PARTS}
    if not facts["HOST"]:
        raise ImproperlyConfigured(
            f"set PMWEB_DATABASE_HOST to the database server, or PMWEB_DATABASE_URL to {_POSTGRESQL}"
        )
    if facts["SSLMODE"]:
        options = {"sslmode": facts["SSLMODE"], **options}
    pool = number("PMWEB_DATABASE_POOL", _POOL_SIZE) * (WEB_PROCESS in os.environ)
    if pool:
        options["pool"] = {"min_size": 1, "max_size": pool, "timeout": _POOL_TIMEOUT_SECONDS}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": facts["HOST"],
        "PORT": facts["PORT"],
        "NAME": facts["NAME"] or "pmweb",
        "USER": facts["USER"] or "pmweb",
        "PASSWORD": facts["PASSWORD"],
        "OPTIONS": {**_CONNECTION_OPTIONS, **options},
        # A web process has as many threads as slow requests need, so its connections come from a pool. Other
        # processes have few threads, which keep their connections.
        "CONN_MAX_AGE": 0 if pool else _KEEP_CONNECTION_SECONDS,
        "CONN_HEALTH_CHECKS": True,
    }


def _read_url(url: str) -> tuple[dict[str, str], dict[str, Any]]:
    """(parts, options) of a database's address. Raises `ImproperlyConfigured`."""
    try:
        split = urlsplit(url)
        port = split.port
    except ValueError:
        # Without the cause, which quotes the malformed port: it may be the end of a password.
        raise ImproperlyConfigured(f"PMWEB_DATABASE_URL must look like {_POSTGRESQL}") from None
    if split.scheme not in {"postgresql", "postgres"}:
        raise ImproperlyConfigured(
            f"PMWEB_DATABASE_URL must look like {_POSTGRESQL}; without it, the database is SQLite"
        )
    options = dict(parse_qsl(split.query))
    host = unquote(split.hostname or "") or options.pop("host", "")  # a directory, for a local socket
    unknown = sorted(set(options) - _URL_OPTIONS)
    if unknown:
        raise ImproperlyConfigured(
            f"PMWEB_DATABASE_URL has the option {unknown[0]!r}; allowed are {', '.join(sorted(_URL_OPTIONS))}"
        )
    url_parts = {
        "HOST": host,
        "PORT": str(port or ""),
        "NAME": unquote(split.path.lstrip("/")),
        "USER": unquote(split.username or ""),
        "PASSWORD": unquote(split.password or ""),
    }
    return url_parts, dict(options)


def load_secret_key(home: Path) -> str:
    """The key in `home/secret-key`, generated at the first use; safe if two processes start at once.

    Raises:
        ImproperlyConfigured: The directory cannot be used.
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
        make_private(home)
    draft = home / f"secret-key.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as handle:
        handle.write(secrets.token_urlsafe(50))
        handle.flush()
        os.fsync(descriptor)  # a file with the name has a complete key, also after a power failure
    try:
        os.link(draft, path)  # fails if another process was first: its key is used
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text().strip()
