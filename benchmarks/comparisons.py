"""Comparisons of predictors on a generated set: from 10^6 measurements to a map, from a bin to its list.

The set and its comparison are made in a temporary SQLite database. Wall seconds of requests in this process,
without network, medians; `cold` ones begin without anything in memory. CPU seconds stand beside them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

from django.test import Client, override_settings

from benchmarks import Result
from benchmarks._generated_set import generate_set, generated_mapping
from benchmarks._in_process_worker import done
from benchmarks._temporary_database import PLAIN_STATIC, temporary_database
from inference.features.judging.comparisons import query as looking
from inference.features.judging.comparisons import selection
from inference.models import Comparison, PortMapping, Run
from inference.storage.rows import store_mapping
from pmweb.accounts.people import ensure_administrator

ROWS = 1_000_000
_REQUESTS = 7
_CACHES = (
    looking.sheet_of,
    looking._compared,
    looking._selected,
    looking._scores,
    looking._heat_map,
    looking._length_maps,
    looking._pictures,
    looking._biases,
    selection._facets,
)


def run(quick: bool) -> Iterator[Result]:
    """The pages of a comparison of three predictors; `quick` has a tenth of the measurements."""
    rows = ROWS // 10 if quick else ROWS
    with temporary_database(), override_settings(ALLOWED_HOSTS=["*"], STORAGES=PLAIN_STATIC):
        began = time.monotonic()
        made = _compared(rows)
        more = {"rows": rows, "predictors": 3, "compared_in_seconds": round(time.monotonic() - began, 1)}
        size = Comparison.objects.get()
        more["megabytes"] = round((len(size.points) + len(size.table)) / 1e6, 1)
        client = Client()
        client.force_login(ensure_administrator())
        page = f"/comparisons/{made.pk}/"
        in_map = f"{page}?tab=map&column=0"
        for case, url in (
            ("scores", page),
            ("heat map", in_map),
            ("bin", f"{in_map}&bin=12,12"),
            ("bias", f"{page}?tab=schemes&column=1"),
            ("heat map, filtered", f"{in_map}&q=op00&unit=ipc"),
        ):
            for cold in (True, False):
                wall, processor = _times(partial(_get, client, url), cold)
                name = f"{case}{', cold' if cold else ''}"
                yield Result(name, wall, "ms", None, {**more, "cpu_milliseconds": processor})


def _compared(rows: int) -> Run:
    judge = generate_set(rows)
    mapping = store_mapping("generated", judge.isa, generated_mapping(), origin=PortMapping.Origin.IMPORT)
    config = {"experiment_set": judge.pk, "mappings": [mapping.pk], "tools": ["Always", "Seldom"]}
    return done("comparison", config)


def _get(client: Client, url: str) -> None:
    answer = client.get(url)
    assert answer.status_code == 200, answer.status_code


def _times(work: Callable[[], None], cold: bool) -> tuple[float, float]:
    """Median milliseconds of wall and processor."""
    work()  # templates are compiled
    wall, processor = [], []
    for _ in range(_REQUESTS):
        if cold:
            for cache in _CACHES:
                cache.cache_clear()
        began, used = time.perf_counter(), time.process_time()
        work()
        wall.append(1000 * (time.perf_counter() - began))
        processor.append(1000 * (time.process_time() - used))
    return round(statistics.median(wall), 1), round(statistics.median(processor), 1)
