"""Files that come in: kept until their owner decides what becomes of them, and each imported by one run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, Any, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Length

from inference.formats.import_formats import to_be_kept
from inference.models import Run, Upload
from inference.models.upload import UNDECIDED
from inference.runs.errors import ConfigError, JobError
from inference.runs.request import read_row
from inference.runs.user_limits import room_for_upload


def free_upload(pk: object) -> Upload:
    """The file with this id, without its content. Raises `ConfigError` where it is being imported."""
    return _checked(read_row(Upload.objects.select_related("run").defer("content"), "upload", pk, _TITLE))


def claim_upload(run: Run) -> None:
    """From now on the file shows which run imports it; raises `ConfigError` where another one does.

    To be called in the transaction that submits the run.
    """
    rows = Upload.objects.select_for_update(of=("self",)).defer("content")
    upload = _checked(read_row(rows, "upload", run.config["upload"], _TITLE))
    Upload.objects.filter(pk=upload.pk).update(run=run)


def discard_upload(upload: Upload) -> None:
    """Delete a file before what it says is stored. Raises `JobError` where another run was faster."""
    if not Upload.objects.filter(pk=upload.pk).delete()[0]:
        raise JobError(f"{upload.file_name} has been imported meanwhile, by another run")


_TITLE = "uploaded file"


def _checked(upload: Upload) -> Upload:
    if upload.run is not None and upload.run.state not in Run.FINAL:
        raise ConfigError(f"{upload.file_name} is being imported already, by the run {upload.run.name!r}")
    return upload


def waiting_uploads() -> QuerySet[Upload]:
    """Uploads that no import works on, oldest first, with their `size` in bytes and without their content."""
    rows = Upload.objects.filter(UNDECIDED).defer("content", "parsed")
    return rows.annotate(size=Length("content")).order_by("id")


SIDE_FILE_SIZE = 4 << 20  # bytes; a list with all schemes that an instruction set has is far smaller


NAME_LENGTH = 300  # characters, as the column has it


@dataclass(frozen=True)
class _Received:
    """A file that was read once, and is not in the database yet."""

    name: str
    file: IO[bytes]
    size: int
    sha256: str


def keep_all(files: Sequence[UploadedFile[bytes]], user: Any) -> list[Upload]:
    """Store all of the files, or after an error none; of those that wait already, find the one that waits.

    They are read before anything is locked: a large one takes minutes, and meanwhile nobody else could write.

    Raises `ExchangeError` for what cannot be read at all, and `LimitError` where the user has no room for it.
    """
    with ExitStack() as spools:
        received = [_receive(file, spools) for file in files]
        with transaction.atomic():
            return [_keep(each, user) for each in received]


def _receive(file: UploadedFile[bytes], spools: ExitStack) -> _Received:
    name = file.name or "upload"
    kept = to_be_kept(cast("IO[bytes]", file), name, settings.UPLOAD_LIMIT_BYTES, spools)
    size = kept.seek(0, os.SEEK_END)
    kept.seek(0)
    digest = hashlib.sha256()
    while chunk := kept.read(1 << 20):
        digest.update(chunk)
    return _Received(PurePath(name).name[:NAME_LENGTH], kept, size, digest.hexdigest())


def _keep(received: _Received, user: Any) -> Upload:
    digest, name = received.sha256, received.name
    same = Upload.objects.filter(UNDECIDED, sha256=digest, file_name=name).defer("content").first()
    if same is not None:
        return same
    room_for_upload(user, received.size)
    received.file.seek(0)
    return Upload.objects.create(file_name=name, content=received.file.read(), sha256=digest, created_by=user)
