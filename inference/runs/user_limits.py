"""How much a user may have at a time: settings of the site, so that nobody's accident is everybody's trouble.

What commands do, for nobody in particular, is not limited.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import Sum
from django.db.models.functions import Length

from inference.models import Run, Upload
from inference.runs.errors import LimitError


def room_for_run(user: Any) -> None:
    """Raise `LimitError` where the user has as many unfinished runs as one may have.

    Asked where nobody else submits a run at the same time (`hold_names`), so that two of them cannot both be
    the last one.
    """
    most = settings.RUNS_PER_USER
    if user is None or not most:
        return
    unfinished = Run.objects.filter(created_by=user).exclude(state__in=Run.FINAL).count()
    if unfinished >= most:
        raise LimitError(
            f"you have {unfinished} unfinished runs, and {most} is the most at a time: wait for one to end, "
            "or cancel one"
        )


def room_for_upload(user: Any, size: int) -> None:
    """Raise `LimitError` where the user's files, with one more of so many bytes, are more than one may have.

    Within the transaction that stores it.
    """
    if user is None:
        return
    # Until the transaction ends, this user's other uploads wait: two cannot both be the last one.
    get_user_model().objects.select_for_update().filter(pk=user.pk).first()
    files = Upload.objects.filter(created_by=user)
    most, most_bytes = settings.UPLOADS_PER_USER, settings.UPLOADED_BYTES_PER_USER
    if most and files.count() >= most:
        raise LimitError(f"{most} files of yours wait, and no more can: import or discard some")
    if most_bytes:
        together = files.aggregate(bytes=Sum(Length("content")))["bytes"] or 0
        if together + size > most_bytes:
            raise LimitError(
                f"your files that wait would have {(together + size) / 2**20:.1f} MiB together, and "
                f"{most_bytes >> 20} MiB is the most: import or discard some"
            )
