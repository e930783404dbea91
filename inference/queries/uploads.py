"""Uploads that wait for their owner's decision."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from django.db.models import QuerySet
from django.db.models.functions import Length

from inference.exchange.errors import ExchangeError
from inference.exchange.importing import name_list_of, rejects_of
from inference.models import Upload
from inference.models.upload import UNDECIDED


def waiting_uploads() -> QuerySet[Upload]:
    """Uploads that no import works on, oldest first, with their `size` in bytes and without their content."""
    return Upload.objects.filter(UNDECIDED).defer("content").annotate(size=Length("content")).order_by("id")


SIDE_FILE_SIZE = 4 << 20  # bytes; a list with all schemes that an instruction set has is far smaller


def waiting_name_lists() -> list[Upload]:
    """Those of the waiting uploads that translate Palmed's instructions, newest first."""
    return _readable_by(name_list_of)[::-1]


def waiting_rejects() -> list[Upload]:
    """Those of the waiting uploads that say which schemes a run rejected, oldest first."""
    return _readable_by(rejects_of)


def _readable_by(read: Callable[[bytes, str], object]) -> list[Upload]:
    """The small waiting uploads that this reads, oldest first."""
    found = []
    for upload in waiting_uploads().defer(None).filter(size__lte=SIDE_FILE_SIZE):
        with suppress(ExchangeError):
            read(bytes(upload.content), upload.file_name)
            found.append(upload)
    return found
