"""Metrics of the site for monitoring, in Prometheus' text format 0.0.4.

Metrics of the site are read from the database at each request, so all web processes report the same. Metrics
of the answering process (`pmweb_process_*`) have its id, since several may listen at one address.

The time of an answer is measured outside of Django, so it includes the wait for a thread. It ends when the
answer begins; streams do not count.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, Min, QuerySet
from django.utils import timezone
from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics_core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from inference.models import Batch, Machine, Run, Upload
from inference.models.machine import SILENCE
from inference.runs.kinds import RUN_KINDS
from inference.runs.leases import abandoned
from pmweb import __version__
from pmweb.origins import Application, Message, Receive, Send

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


BUCKETS = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0)
"""Upper limits of the histogram's buckets in seconds; the last bucket is unlimited."""

PROCESS = CollectorRegistry()
"""Metrics of this process since its start."""

ANSWERS = Histogram(
    "pmweb_process_answer_seconds",
    "Seconds of the answering web process per answer.",
    buckets=BUCKETS,
    registry=PROCESS,
)
FAILURES = Counter(
    "pmweb_process_failed_answers",
    "Answers of the answering web process with status 500 or more.",
    registry=PROCESS,
)
_STREAM = b"text/event-stream"


class _SiteNumbers(Collector):
    def collect(self) -> Iterator[Metric]:
        yield from _site_metrics()
        labels = {"pid": str(os.getpid())}
        for metric in PROCESS.collect():
            metric.samples = [sample._replace(labels=sample.labels | labels) for sample in metric.samples]
            yield metric


def exposition() -> str:
    """All metrics as text. Raises `OperationalError` if the database does not answer."""
    return generate_latest(_SiteNumbers()).decode()


def _site_metrics() -> Iterator[Metric]:
    now = timezone.now()
    oldest = Run.objects.filter(state=Run.State.QUEUED).aggregate(at=Min("created"))["at"]
    wait = max((now - oldest).total_seconds(), 0.0) if oldest else 0.0
    working = Run.objects.filter(state=Run.State.RUNNING).values("worker").distinct()
    online = Machine.objects.filter(last_seen__gt=now - SILENCE)
    batches = {(state,): 0 for state in Batch.State.values} | _counts(Batch.objects.all(), "state")
    yield InfoMetricFamily("pmweb", "Version and database of the site.", _identity())
    yield _gauge("pmweb_runs", "Runs by kind and state.", _runs(), "kind", "state")
    yield GaugeMetricFamily(
        "pmweb_queue_wait_seconds",
        "Age of the oldest waiting run; 0 without one.",
        wait,
    )
    yield GaugeMetricFamily(
        "pmweb_runs_abandoned",
        "Running runs whose worker has been silent for longer than its lease.",
        Run.objects.filter(abandoned(now)).count(),
    )
    yield GaugeMetricFamily("pmweb_workers", "Workers that have a run at the moment.", working.count())
    yield GaugeMetricFamily("pmweb_agents_online", "Machines with a connected agent.", online.count())
    yield _gauge("pmweb_batches", "Batches for agents by state.", batches, "state")
    yield GaugeMetricFamily(
        "pmweb_uploads_waiting", "Uploaded files that have not been imported.", Upload.objects.count()
    )
    yield GaugeMetricFamily("pmweb_database_bytes", "Size of the database.", _database_bytes())


def _gauge(name: str, description: str, values: Mapping[tuple[str, ...], int], *labels: str) -> Metric:
    family = GaugeMetricFamily(name, description, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _identity() -> dict[str, str]:
    return {
        "version": __version__,
        "database": connection.vendor,
        "redis": "yes" if settings.REDIS_URL else "no",
    }


def _runs() -> dict[tuple[str, ...], int]:
    """Number of runs per kind and state, including zeros: a missing metric would be ambiguous."""
    counts = _counts(Run.objects.all(), "kind", "state")
    kinds = sorted({*RUN_KINDS, *(kind for kind, _ in counts)})
    return {(kind, state): 0 for kind in kinds for state in Run.State.values} | counts


def _counts(rows: QuerySet[Run] | QuerySet[Batch], *fields: str) -> dict[tuple[str, ...], int]:
    counted = rows.order_by().values_list(*fields).annotate(count=Count("pk"))
    return {tuple(values): count for *values, count in counted}


def _database_bytes() -> int:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    name = str(settings.DATABASES["default"]["NAME"])
    return sum(os.stat(path).st_size for path in (name, f"{name}-wal") if os.path.exists(path))  # noqa: PTH110, PTH116


disable_created_metrics()

ProcessCollector(namespace="pmweb", registry=PROCESS)


def timed(pages: Application) -> Application:
    """The application, with the times of its answers observed."""

    async def answer(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        started = time.perf_counter()

        async def observe(message: Message) -> None:
            if message["type"] == "http.response.start" and not any(
                value.startswith(_STREAM) for _, value in message.get("headers", ())
            ):
                ANSWERS.observe(time.perf_counter() - started)
                FAILURES.inc(message["status"] >= 500)
            await send(message)

        await pages(scope, receive, observe)

    return answer
