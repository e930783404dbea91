"""Uploads that wait for their owner's decision."""

from __future__ import annotations

from django.db.models import Q, QuerySet
from django.db.models.functions import Length

from inference.models import Run, Upload


def waiting_uploads() -> QuerySet[Upload]:
    """Uploads that no import works on, oldest first, with their `size` in bytes and without their content.

    One whose import has failed or was cancelled waits again.
    """
    undecided = Q(run__isnull=True) | Q(run__state__in=(Run.State.FAILED, Run.State.CANCELLED))
    return Upload.objects.filter(undecided).defer("content").annotate(size=Length("content")).order_by("id")
