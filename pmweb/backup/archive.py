"""The file of a back-up: `manifest.json`, the dump of the database, and the secret key where it is a file.

The manifest says which program made it, which migrations the database had, how many rows each table has, and
the dump's SHA-256. Restoring compares all of that, so that a back-up that cannot be trusted is found out.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import shutil
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from inference.formats import strict_json
from inference.models.schema import OWN
from pmweb import __version__


class BackupError(Exception):
    """Why a back-up cannot be made or put back, and what to do, for the person at the terminal."""


SUFFIX = ".pmweb-backup"
_MANIFEST, _DUMP, _SECRET = "manifest.json", "database", "secret-key"
_FORMAT = 1
_MANIFEST_LIMIT, _MOST_VALUES = 4 * 2**20, 200_000
_SECRET_LIMIT = 4096
_CHUNK = 2**20
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, KeyError, ValueError),
    *(NotImplementedError, RuntimeError),  # packed in a way, or with a password, that no back-up has
)


@dataclass(frozen=True)
class BackupManifest:
    """What is in a back-up. `rows`: {table: number of rows}; `migrations`: "app.name" of those applied."""

    database: str
    rows: dict[str, int]
    migrations: list[str]
    sha256: str
    created: str
    version: str = __version__
    format: int = _FORMAT
    product: str = "pmweb"


def write(target: Path, dump: Path, rows: dict[str, int], secret: Path) -> BackupManifest:
    """Pack a dump into a new file that only its owner can read; complete, or not there at all."""
    with dump.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    applied = sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())
    now = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = BackupManifest(connection.vendor, rows, applied, digest, now)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with (
            os.fdopen(descriptor, "wb") as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed,
        ):
            packed.writestr(_MANIFEST, json.dumps(asdict(manifest), indent=1))
            packed.write(dump, _DUMP)
            if secret.is_file():
                packed.write(secret, _SECRET)
        put_in_place(draft, target)
    finally:
        draft.unlink(missing_ok=True)
    return manifest


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
        manifest = BackupManifest(**facts)
        _check_types(manifest)
    except TypeError as error:
        raise BackupError(f"{path} has a manifest that makes no sense ({str(error)[:200]})") from error
    _check_known(path, manifest)
    return manifest


def _check_types(manifest: BackupManifest) -> None:
    """Raises `TypeError` for a field of another type than the class has."""
    numbered = isinstance(manifest.rows, dict) and all(type(each) is int for each in manifest.rows.values())
    named = isinstance(manifest.migrations, list) and all(isinstance(one, str) for one in manifest.migrations)
    texts = (manifest.database, manifest.sha256, manifest.created, manifest.version)
    if not (numbered and named and all(isinstance(text, str) for text in texts)):
        raise TypeError("rows are numbers by table, migrations a list of names, and all else is text")


def unpack(path: Path, manifest: BackupManifest, target: Path) -> bytes | None:
    """Put the dump where `target` says; the secret key, or None. Raises `BackupError` for a damaged file."""
    try:
        with zipfile.ZipFile(path) as packed:
            room_for(target.parent, packed.getinfo(_DUMP).file_size)  # no more than that is unpacked
            with packed.open(_DUMP) as source, target.open("wb") as copy:
                digest = _copy(source, copy)
            secret = _secret(packed) if _SECRET in packed.namelist() else None
    except _DAMAGED as error:
        raise BackupError(f"{path} is damaged ({error}): take another back-up") from error
    if digest != manifest.sha256:
        raise BackupError(f"{path} is damaged: the dump is not the one that was made. Take another back-up")
    return secret


def _secret(packed: zipfile.ZipFile) -> bytes:
    with packed.open(_SECRET) as file:
        secret = file.read(_SECRET_LIMIT + 1)
    if len(secret) > _SECRET_LIMIT:
        raise zipfile.BadZipFile(f"{_SECRET} is no key: it has more than {_SECRET_LIMIT} bytes")
    return secret


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


def check_rows(expected: dict[str, int], found: dict[str, int], tables: Collection[str]) -> None:
    """Raises `BackupError` where one of these tables has not the rows that it had."""
    differing = sorted(name for name in tables if expected.get(name) != found.get(name))
    if differing:
        name = differing[0]
        raise BackupError(
            f"the table {name} has {found.get(name, 'no')} rows, and the back-up {expected.get(name, 'no')}: "
            "the back-up is damaged"
        )


def _copy(source: IO[bytes], copy: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := source.read(_CHUNK):
        digest.update(chunk)
        copy.write(chunk)
    return digest.hexdigest()


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
