"""The file of a back-up: `manifest.json`, the dump of the database, and the secret key if it is a file.

The manifest has the program's version, the database's migrations, the number of rows per table, and the
dump's SHA-256; restoring verifies them.

Restored sessions, links, tokens and passwords are revoked. The reason for restoring may be a leak, and links
that were used since would be unused again. Or the file was changed: a planted password would let its author
in.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import shutil
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkstemp
from typing import IO, Any

from django.contrib.auth.hashers import make_password
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from pydantic import BaseModel, ConfigDict, ValidationError

from inference.formats import archived_parts
from inference.models.schema import OWN_APPS
from pmweb import __version__

SUFFIX = ".pmweb-backup"
_MANIFEST, _DUMP, _SECRET = "manifest.json", "database", "secret-key"
_FORMAT = 1
_MANIFEST_LIMIT, _MAX_VALUES = 4 * 2**20, 200_000
_SECRET_LIMIT = 4096
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, KeyError, ValueError),
    *(NotImplementedError, RuntimeError),  # an unsupported compression, or an encrypted file
)
_DELETED_TABLES = ("django_session", "pmweb_loginlink")
_REVOKED_TABLES = ("pmweb_apitoken", "inference_agenttoken", "pmweb_sharedlink")
_ACCOUNTS = "auth_user"


class BackupError(Exception):
    """A back-up cannot be written or restored; the message says why and what to do."""


class BackupManifest(BaseModel):
    """Content of a back-up. `rows`: {table: number of rows}; `migrations`: "app.name" of the applied ones."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    database: str
    rows: dict[str, int]
    migrations: list[str]
    sha256: str
    created: str
    version: str = __version__
    format: int = _FORMAT
    product: str = "pmweb"


def write(target: Path, dump: Path, rows: dict[str, int], secret: Path) -> None:
    """Pack a dump into a new file that only its owner can read; the file appears when it is complete."""
    manifest = BackupManifest(
        database=connection.vendor,
        rows=rows,
        migrations=sorted(map(".".join, MigrationRecorder(connection).applied_migrations())),
        sha256=_sha256(dump),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    with (
        new_file(target) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        archive.writestr(_MANIFEST, manifest.model_dump_json(indent=1))
        archive.write(dump, _DUMP)
        if secret.is_file():
            archive.write(secret, _SECRET)


def read_manifest(path: Path) -> BackupManifest:
    """Read a back-up's manifest. Raises `BackupError` for other files, and for back-ups of newer versions."""
    try:
        with zipfile.ZipFile(path) as packed:
            if packed.getinfo(_MANIFEST).file_size > _MANIFEST_LIMIT:
                raise BackupError(f"{path} is no back-up of pmweb: its manifest is too large")
            facts = archived_parts.load(packed.read(_MANIFEST), _MANIFEST, _MAX_VALUES)
    except FileNotFoundError:
        raise BackupError(f"there is no file {path}") from None
    except (OSError, *_DAMAGED) as error:
        raise BackupError(f"{path} is no back-up of pmweb, or a damaged one ({error})") from error
    if not isinstance(facts, dict) or facts.get("product") != "pmweb":
        raise BackupError(f"{path} is no back-up of pmweb")
    if facts.get("format") != _FORMAT:
        raise BackupError(f"{path} needs version {facts.get('version')} of pmweb: this is {__version__}")
    try:
        manifest = BackupManifest.model_validate(facts)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"]))[:100]
        raise BackupError(f"{path} has a malformed manifest ({place}: {problem['msg']})") from error
    _check_migrations(path, manifest)
    return manifest


def unpack(path: Path, manifest: BackupManifest, target: Path) -> bytes | None:
    """Write the dump to `target` and return the secret key, None without one.

    Raises:
        BackupError: The file is damaged, or the disk is too full.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            require_free_space(target.parent, packed.getinfo(_DUMP).file_size)  # zipfile unpacks no more
            with packed.open(_DUMP) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)
            secret = _secret(packed) if _SECRET in packed.namelist() else None
    except _DAMAGED as error:
        raise BackupError(f"{path} is damaged ({error}): take another back-up") from error
    if _sha256(target) != manifest.sha256:
        raise BackupError(f"{path} is damaged: the dump has another checksum. Take another back-up")
    return secret


def _secret(packed: zipfile.ZipFile) -> bytes:
    if packed.getinfo(_SECRET).file_size > _SECRET_LIMIT:
        raise zipfile.BadZipFile(f"{_SECRET} is no key: it has more than {_SECRET_LIMIT} bytes")
    return packed.read(_SECRET)


@contextmanager
def new_file(target: Path) -> Iterator[IO[bytes]]:
    """Write a file that only its owner can read; it gets its name when it is complete."""
    descriptor, name = mkstemp(dir=target.parent, prefix=f".{target.name}.")
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        rename_durably(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def rename_durably(draft: Path, target: Path) -> None:
    """Rename a complete file; on return, content and name are on the disk (fsync)."""
    _fsync(draft)
    draft.rename(target)
    _fsync(target.parent)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def delete_old_backups(directory: Path, keep: int) -> list[Path]:
    """Delete all but the newest `keep` back-ups in a directory; returns the deleted paths."""
    by_age = sorted(directory.glob(f"*{SUFFIX}"), key=lambda path: (path.stat().st_mtime, path.name))
    surplus = by_age[:-keep]
    for path in surplus:
        path.unlink()
    return surplus


def row_counts(cursor: Any, tables: Iterable[str]) -> dict[str, int]:
    """{table: number of rows}, for a cursor of SQLite or PostgreSQL."""
    counts = {}
    for table in tables:
        cursor.execute(f'SELECT count(*) FROM "{table}"')  # noqa: S608  a table's name
        (counts[table],) = cursor.fetchone()
    return counts


def check_rows(expected: dict[str, int], restored: dict[str, int]) -> None:
    """Raises `BackupError` if a restored table has another number of rows."""
    for name in sorted(restored):
        if expected.get(name) != restored[name]:
            raise BackupError(
                f"the table {name} has {restored[name]} rows, and the back-up {expected.get(name, 'no')}: "
                "the back-up is damaged"
            )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_migrations(path: Path, manifest: BackupManifest) -> None:
    migrations = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}
    newer = [
        name for name in manifest.migrations if name.partition(".")[0] in OWN_APPS and name not in migrations
    ]
    if newer:
        raise BackupError(
            f"{path} is of version {manifest.version}, this is {__version__}, which does not know "
            f"{', '.join(newer)}: get that version"
        )


def require_free_space(path: Path, needed: int) -> None:
    """Raises `BackupError` if the disk has fewer than `needed` free bytes."""
    free = shutil.disk_usage(path).free
    if free < needed:
        raise BackupError(f"{path} has {free >> 20} MiB left, and {needed >> 20} MiB are needed")


@dataclass(frozen=True)
class PreservedCredentials:
    """Credentials that stay valid after restoring: tokens if nobody else can have read the file, passwords if
    nobody else can have changed it."""

    tokens: bool = False
    passwords: bool = False

    def summary(self) -> str:
        """Sentences about revoked and valid credentials, for the terminal."""
        ended = "All sessions and log-in links have ended"
        ended += "" if self.passwords else ", no password is valid any more"
        if not self.tokens:
            ended += ", and all shared links and all tokens of programs and agents are revoked"
        lines = [f"{ended}: `manage.py login-link` prints a way in"]
        if self.tokens:
            lines.append(
                "Tokens of programs and agents are kept, and shared links: those that were valid when the "
                "back-up was made are valid now, also if they were revoked since"
            )
        if self.passwords:
            lines.append("Passwords are those that the back-up has")
        lines.append(
            "The back-up says who has an account, and who is an administrator: `manage.py account list`"
        )
        return ". ".join(lines)

    def revocation_statements(self, tables: Collection[str]) -> list[str]:
        """SQL statements, for SQLite and PostgreSQL, that revoke the other credentials in these tables."""
        statements = [f'DELETE FROM "{table}"' for table in _DELETED_TABLES if table in tables]  # noqa: S608  from above
        if not self.passwords and _ACCOUNTS in tables:
            unusable = make_password(None)  # an exclamation mark, then letters and digits: safe in SQL
            statements.append(f"UPDATE \"{_ACCOUNTS}\" SET password = '{unusable}'")  # noqa: S608
        if not self.tokens:
            statements += [
                f'UPDATE "{table}" SET revoked = CURRENT_TIMESTAMP WHERE revoked IS NULL'  # noqa: S608
                for table in _REVOKED_TABLES
                if table in tables
            ]
        return statements
