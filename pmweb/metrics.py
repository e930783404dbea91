"""Numbers of the site for whoever watches it, as Prometheus reads them (text format 0.0.4).

What is counted is read from the database when it is asked for: every web process says the same of the site,
and each its own of itself (`pmweb_process_*`).
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.models import Count, Min
from django.utils import timezone

from inference.models import Batch, Machine, Run, Upload
from inference.models.machine import SILENCE
from inference.runs.kinds import RUN_KINDS
from inference.runs.leases import abandoned
from pmweb import __version__
from pmweb.timing import ANSWERS, LIMITS, Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Metric:
    """A number of one name, or several that labels tell apart; `kind` is gauge, counter or histogram.

    Of a histogram, `values` are the classes and `sums` what Prometheus expects beside them. `common` are
    labels of all its lines.
    """

    name: str
    help: str
    values: Iterable[tuple[Labels, float]]
    kind: str = "gauge"
    sums: Mapping[str, float] = field(default_factory=dict)
    common: Labels = field(default_factory=dict)


def exposition() -> str:
    """All metrics as text. Raises `OperationalError` where the database does not answer."""
    lines: list[str] = []
    for metric in [*_of_site(), *_of_process()]:
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
        name = f"{metric.name}_bucket" if metric.kind == "histogram" else metric.name
        samples = [(name, labels, value) for labels, value in metric.values]
        samples += [(f"{metric.name}_{part}", {}, value) for part, value in metric.sums.items()]
        lines += [
            f"{name}{_labelled({**metric.common, **labels})} {float(value):.15g}"
            for name, labels, value in samples
        ]
    return "\n".join(lines) + "\n"


def _of_site() -> list[Metric]:
    now = timezone.now()
    waiting = Run.objects.filter(state=Run.State.QUEUED)
    oldest = waiting.aggregate(at=Min("created"))["at"]
    online = Machine.objects.filter(last_seen__gt=now - SILENCE)
    return [
        Metric("pmweb_info", "Version and database of the site.", [(_identity(), 1)]),
        Metric("pmweb_runs", "Runs by kind and state.", _runs()),
        Metric(
            "pmweb_queue_wait_seconds",
            "How long the run that waits longest has been there; 0 where none waits.",
            [({}, max((now - oldest).total_seconds(), 0.0) if oldest else 0.0)],
        ),
        Metric(
            "pmweb_runs_abandoned",
            "Running runs whose worker has been silent for longer than its lease.",
            [({}, Run.objects.filter(abandoned(now)).count())],
        ),
        Metric(
            "pmweb_workers",
            "Workers that have a run at the moment.",
            [({}, Run.objects.filter(state=Run.State.RUNNING).values("worker").distinct().count())],
        ),
        Metric("pmweb_agents_online", "Machines with a connected agent.", [({}, online.count())]),
        Metric("pmweb_batches", "Batches for agents by state.", _by(Batch, "state", Batch.State.values)),
        Metric(
            "pmweb_uploads_waiting",
            "Uploaded files that have not been imported.",
            [({}, Upload.objects.count())],
        ),
        Metric("pmweb_database_bytes", "Size of the database.", [({}, _database_bytes())]),
    ]


def _of_process() -> list[Metric]:
    """Each with the id of the process: behind one address there may be several."""
    own = {"pid": str(os.getpid())}
    used = resource.getrusage(resource.RUSAGE_SELF)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return [
        Metric(
            "pmweb_process_resident_memory_bytes",
            "Memory of the web process that answered.",
            [({}, pages * resource.getpagesize())],
            common=own,
        ),
        Metric(
            "pmweb_process_cpu_seconds_total",
            "Processor time of the web process that answered.",
            [({}, used.ru_utime + used.ru_stime)],
            "counter",
            common=own,
        ),
        Metric(
            "pmweb_process_open_fds",
            "Open files of the web process that answered.",
            [({}, sum(1 for _ in Path("/proc/self/fd").iterdir()))],
            common=own,
        ),
        Metric(
            "pmweb_process_failed_answers_total",
            "Answers with status 500 or more of the web process that answered.",
            [({}, ANSWERS.errors)],
            "counter",
            common=own,
        ),
        Metric(
            "pmweb_process_answer_seconds",
            "How long the web process that answered took for each answer.",
            _classes(ANSWERS),
            "histogram",
            {"sum": ANSWERS.seconds, "count": sum(ANSWERS.counts)},
            own,
        ),
    ]


def _classes(histogram: Histogram) -> list[tuple[Labels, float]]:
    """How many answers took at most so long, in the last one any."""
    limits = [*(f"{limit:g}" for limit in LIMITS), "+Inf"]
    sums = accumulate(histogram.counts)
    return [({"le": limit}, count) for limit, count in zip(limits, sums, strict=True)]


def _identity() -> Labels:
    return {
        "version": __version__,
        "database": connection.vendor,
        "redis": "yes" if settings.REDIS_URL else "no",
    }


def _runs() -> list[tuple[Labels, float]]:
    """Every kind and state, also those of which there is none: a number that is missing says nothing."""
    found = Run.objects.order_by().values_list("kind", "state").annotate(count=Count("pk"))
    counts = {(kind, state): count for kind, state, count in found}
    kinds = sorted({*RUN_KINDS, *(kind for kind, _ in counts)})
    return [
        ({"kind": kind, "state": state}, counts.get((kind, state), 0))
        for kind in kinds
        for state in Run.State.values
    ]


def _by(model: type[Batch], field: str, known: Iterable[str]) -> list[tuple[Labels, float]]:
    found = model._default_manager.order_by().values_list(field).annotate(count=Count("pk"))
    counts = dict.fromkeys(known, 0) | dict(found)
    return [({field: value}, count) for value, count in sorted(counts.items())]


def _database_bytes() -> int:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    name = str(settings.DATABASES["default"]["NAME"])
    return sum(os.stat(path).st_size for path in (name, f"{name}-wal") if os.path.exists(path))  # noqa: PTH110, PTH116


def _labelled(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return re.sub(r'[\\"\n]', lambda found: {"\\": r"\\", '"': r"\"", "\n": r"\n"}[found.group()], text)
