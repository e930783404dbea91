"""The file of a back-up: `manifest.json`, the dump of the database, and the secret key where it is a file.

The manifest says which program made it, which migrations the database had, how many rows each table has, and
the dump's SHA-256. Restoring compares all of that, so that a back-up that cannot be trusted is found out.

What lets somebody in and comes back with a back-up ends: sessions, links, tokens, passwords. A back-up may be
put back because something had leaked, and links that were used since would be unused again. Or somebody has
changed the file: a password of theirs in it would let them in.
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

from inference.formats import strict_json
from inference.models.schema import OWN
from pmweb import __version__

SUFFIX = ".pmweb-backup"
_MANIFEST, _DUMP, _SECRET = "manifest.json", "database", "secret-key"
_FORMAT = 1
_MANIFEST_LIMIT, _MOST_VALUES = 4 * 2**20, 200_000
_SECRET_LIMIT = 4096
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, KeyError, ValueError),
    *(NotImplementedError, RuntimeError),  # packed in a way, or with a password, that no back-up has
)
_ENDED = ("django_session", "pmweb_loginlink")
_REVOKED = ("pmweb_apitoken", "inference_agenttoken", "pmweb_sharedlink")
_ACCOUNTS = "auth_user"


class BackupError(Exception):
    """Why a back-up cannot be made or put back, and what to do, for the person at the terminal."""


class BackupManifest(BaseModel):
    """What is in a back-up. `rows`: {table: number of rows}; `migrations`: "app.name" of those applied."""

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
    """Pack a dump into a new file that only its owner can read; complete, or not there at all."""
    manifest = BackupManifest(
        database=connection.vendor,
        rows=rows,
        migrations=sorted(map(".".join, MigrationRecorder(connection).applied_migrations())),
        sha256=_sha256(dump),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    with (
        new_file(target) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed,
    ):
        packed.writestr(_MANIFEST, manifest.model_dump_json(indent=1))
        packed.write(dump, _DUMP)
        if secret.is_file():
            packed.write(secret, _SECRET)


def read_manifest(path: Path) -> BackupManifest:
    """What is in a file. Raises `BackupError` where it is no back-up, or one of a newer version."""
    try:
        with zipfile.ZipFile(path) as packed:
            if packed.getinfo(_MANIFEST).file_size > _MANIFEST_LIMIT:
                raise BackupError(f"{path} is no back-up of pmweb: its manifest is too large")
            facts = strict_json.load(packed.read(_MANIFEST), _MANIFEST, _MOST_VALUES)
    except FileNotFoundError:
        raise BackupError(f"there is no file {path}") from None
    except (OSError, *_DAMAGED) as error:
        raise BackupError(f"{path} is no back-up of pmweb, or a damaged one ({error})") from error
    if not isinstance(facts, dict) or facts.get("product") != "pmweb":
        raise BackupError(f"{path} is no back-up of pmweb")
    if facts.get("format") != _FORMAT:
        raise BackupError(f"{path} is of version {facts.get('version')}: this is {__version__}, get that one")
    try:
        manifest = BackupManifest.model_validate(facts)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"]))[:100]
        raise BackupError(f"{path} has a manifest that makes no sense ({place}: {fault['msg']})") from error
    _check_known(path, manifest)
    return manifest


def unpack(path: Path, manifest: BackupManifest, target: Path) -> bytes | None:
    """Put the dump where `target` says; the secret key, or None. Raises `BackupError` for a damaged file."""
    try:
        with zipfile.ZipFile(path) as packed:
            room_for(target.parent, packed.getinfo(_DUMP).file_size)  # no more than that is unpacked
            with packed.open(_DUMP) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)
            secret = _secret(packed) if _SECRET in packed.namelist() else None
    except _DAMAGED as error:
        raise BackupError(f"{path} is damaged ({error}): take another back-up") from error
    if _sha256(target) != manifest.sha256:
        raise BackupError(f"{path} is damaged: the dump is not the one that was made. Take another back-up")
    return secret


def _secret(packed: zipfile.ZipFile) -> bytes:
    if packed.getinfo(_SECRET).file_size > _SECRET_LIMIT:
        raise zipfile.BadZipFile(f"{_SECRET} is no key: it has more than {_SECRET_LIMIT} bytes")
    return packed.read(_SECRET)


@contextmanager
def new_file(target: Path) -> Iterator[IO[bytes]]:
    """A file that only its owner can read, which has its name when it is complete."""
    descriptor, name = mkstemp(dir=target.parent, prefix=f".{target.name}.")
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        put_in_place(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def put_in_place(draft: Path, target: Path) -> None:
    """Give a complete file its name; when this returns, both are on the disk."""
    _on_disk(draft)
    draft.rename(target)
    _on_disk(target.parent)


def _on_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def thin_out(directory: Path, keep: int) -> list[Path]:
    """Remove all but the newest back-ups of a directory; those removed."""
    kept_last = sorted(directory.glob(f"*{SUFFIX}"), key=lambda path: (path.stat().st_mtime, path.name))
    doomed = kept_last[:-keep]
    for path in doomed:
        path.unlink()
    return doomed


def row_counts(cursor: Any, tables: Iterable[str]) -> dict[str, int]:
    """{table: rows}, for a cursor of SQLite or PostgreSQL."""
    counts = {}
    for table in tables:
        cursor.execute(f'SELECT count(*) FROM "{table}"')  # noqa: S608  a table's name
        (counts[table],) = cursor.fetchone()
    return counts


def check_rows(expected: dict[str, int], restored: dict[str, int]) -> None:
    """Raises `BackupError` where one of the restored tables has not the rows that it had."""
    for name in sorted(restored):
        if expected.get(name) != restored[name]:
            raise BackupError(
                f"the table {name} has {restored[name]} rows, and the back-up {expected.get(name, 'no')}: "
                "the back-up is damaged"
            )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_known(path: Path, manifest: BackupManifest) -> None:
    known = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}
    newer = [name for name in manifest.migrations if name.partition(".")[0] in OWN and name not in known]
    if newer:
        raise BackupError(
            f"{path} is of version {manifest.version}, this is {__version__}, which does not know "
            f"{', '.join(newer)}: get that version"
        )


def room_for(path: Path, needed: int) -> None:
    """Raises `BackupError` where the disk has no room for so many bytes."""
    free = shutil.disk_usage(path).free
    if free < needed:
        raise BackupError(f"{path} has {free >> 20} MiB left, and {needed >> 20} MiB are needed")


@dataclass(frozen=True)
class KeptWays:
    """What of the ways in stays valid: for a file that nobody else can have read (tokens) or changed."""

    tokens: bool = False
    passwords: bool = False

    def summary(self) -> str:
        """What has ended and what has not, and how to get in, for whoever restores."""
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

    def ending(self, tables: Collection[str]) -> list[str]:
        """The statements that end the others in a database with these tables, on SQLite and PostgreSQL."""
        statements = [f'DELETE FROM "{table}"' for table in _ENDED if table in tables]  # noqa: S608  from above
        if not self.passwords and _ACCOUNTS in tables:
            unusable = make_password(None)  # letters and digits behind an exclamation mark
            statements.append(f"UPDATE \"{_ACCOUNTS}\" SET password = '{unusable}'")  # noqa: S608
        if not self.tokens:
            statements += [
                f'UPDATE "{table}" SET revoked = CURRENT_TIMESTAMP WHERE revoked IS NULL'  # noqa: S608
                for table in _REVOKED
                if table in tables
            ]
        return statements
