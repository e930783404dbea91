"""All traces, and for how long each is kept."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings

from pmweb.retention.journals import Journals
from pmweb.retention.samples import Samples
from pmweb.retention.trace import Trace
from pmweb.retention.whole_rows import ANSWERS, AUDIT, CHECKPOINTS, SESSIONS, UPLOADS

TRACES: tuple[Trace, ...] = (CHECKPOINTS, Journals(), Samples(), ANSWERS, UPLOADS, SESSIONS, AUDIT)
BY_KEY = {trace.key: trace for trace in TRACES}
FOR_EVER = 0


def variable(key: str) -> str:
    """The environment's name for how long a trace is kept."""
    return f"PMWEB_KEEP_{key.upper()}"


def policy() -> Mapping[str, int]:
    """How long each trace is kept, by its key: days or rows; 0, for ever."""
    return {trace.key: settings.KEEP[trace.key] for trace in TRACES}
