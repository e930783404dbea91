"""Files that come in, from a page or a program: kept until their owner decides what becomes of them."""

from __future__ import annotations

import hashlib
from pathlib import PurePath
from typing import Any, BinaryIO

from django.conf import settings

from inference.exchange.incoming import taken_in
from inference.models import Upload
from inference.models.upload import UNDECIDED
from inference.runs.limits import room_for_upload

NAME_LENGTH = 300  # characters, as the column has it


def keep(file: BinaryIO, name: str, user: Any) -> Upload:
    """Store a file, or find it if the same one waits already. Within a transaction.

    Raises `ExchangeError` for what cannot be read at all, and `LimitError` where the user has no room for it.
    """
    content = taken_in(file, name or "upload", settings.UPLOAD_LIMIT_BYTES)
    digest = hashlib.sha256(content).hexdigest()
    name = PurePath(name or "upload").name[:NAME_LENGTH]
    same = Upload.objects.filter(UNDECIDED, sha256=digest, file_name=name).defer("content").first()
    if same is not None:
        return same
    room_for_upload(user, len(content))
    return Upload.objects.create(file_name=name, content=content, sha256=digest, created_by=user)
