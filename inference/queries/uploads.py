"""Uploads that wait for their owner's decision."""

from __future__ import annotations

from django.db.models import Q, QuerySet
from django.db.models.functions import Length

from inference.exchange.errors import ExchangeError
from inference.exchange.importing import name_list_of
from inference.models import Run, Upload


def waiting_uploads() -> QuerySet[Upload]:
    """Uploads that no import works on, oldest first, with their `size` in bytes and without their content.

    One whose import has failed or was cancelled waits again.
    """
    undecided = Q(run__isnull=True) | Q(run__state__in=(Run.State.FAILED, Run.State.CANCELLED))
    return Upload.objects.filter(undecided).defer("content").annotate(size=Length("content")).order_by("id")


NAME_LIST_SIZE = 4 << 20  # bytes; a list of all names that an instruction set has is far smaller


def waiting_name_lists() -> list[Upload]:
    """Those of the waiting uploads that translate Palmed's instructions, newest first."""
    small = waiting_uploads().defer(None).filter(size__lte=NAME_LIST_SIZE).order_by("-id")
    return [upload for upload in small if _is_name_list(upload)]


def _is_name_list(upload: Upload) -> bool:
    try:
        name_list_of(bytes(upload.content), upload.file_name)
    except ExchangeError:
        return False
    return True
