"""A comparison of five sources on a generated set, and a mapping's accuracy on it: from 10^6 measurements to
any view, and to other selections.

The set and its comparison are made in a temporary SQLite database. Wall seconds of requests in this
process, without network, medians; CPU seconds stand beside them. `first` begins without anything in memory,
`again` has been asked before, `other` is another selection of items each time, which nothing has been
worked out for.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path

from django.test import Client

from benchmarks import Result
from benchmarks._generated_sets import generate_set, generated_mapping
from benchmarks._in_process_worker import done
from benchmarks._measured import cost_of, median_milliseconds
from benchmarks._sites import administrators_client, temporary_database
from inference.features.judging.engine import evaluation_sheets, view_addresses, views
from inference.features.judging.engine import query as looking
from inference.models import Comparison, PortMapping, Run
from inference.storage.mappings import store_mapping

ROWS = 1_000_000  # measurements of the judged set
FIRST_VIEW, OTHER_SELECTION = 1000.0, 500.0
"""Milliseconds that the first view and another selection may take."""

MEMORY = 300.0
"""Megabytes that looking at all sources may take."""

_REQUESTS = 7  # per page, of which the median counts
_CACHES = [
    function
    for module in (looking, evaluation_sheets, view_addresses, views)
    for function in vars(module).values()
    if hasattr(function, "cache_clear")
]
_STATUS = Path("/proc/self/status")


def run(quick: bool) -> Iterator[Result]:
    """The pages of a comparison of five sources; `quick` has a tenth of the measurements."""
    rows = ROWS // 10 if quick else ROWS
    with temporary_database():
        began = time.monotonic()
        run_row = _compared(rows)
        more = {"rows": rows, "sources": 5, "compared_in_seconds": round(time.monotonic() - began, 1)}
        size = Comparison.objects.get(run=run_row)
        more["megabytes"] = round((len(size.points) + len(size.table)) / 1e6, 1)
        client = administrators_client()
        page = f"/comparisons/{run_row.pk}/"
        evaluated = PortMapping.objects.earliest("pk")
        done("evaluate", {"mapping": evaluated.pk, "experiment_set": run_row.config["experiment_set"]})
        in_map = f"{page}?tab=map&column=0"
        for case, url in (
            ("scores", page),
            ("heat map", in_map),
            ("bin", f"{in_map}&bin=12,12"),
            ("bias", f"{page}?tab=schemes&column=1"),
            ("matrix", f"{page}?tab=matrix"),
            ("traits", f"{page}?tab=traits&column=0"),
            ("telling", f"{page}?tab=telling&column=0&against=1"),
            ("accuracy", f"/mappings/{evaluated.pk}/?tab=accuracy"),
        ):
            yield _result(f"{case}, first", partial(_get, client, url), FIRST_VIEW, more, cold=True)
            yield _result(f"{case}, again", partial(_get, client, url), None, more)
        selections = (f"&q=op{number:03}" for number in count())
        for case, url in (
            ("scores", f"{page}?tab=scores"),
            ("heat map", in_map),
            ("matrix", f"{page}?tab=matrix"),
        ):
            work = _with_selections(client, url, selections)
            yield _result(f"{case}, other", work, OTHER_SELECTION, more)
        yield Result("memory", _memory(client, page), "MB", MEMORY, more)


def _compared(rows: int) -> Run:
    """A comparison of three mappings and two tools on a generated set."""
    judged = generate_set(rows)
    mappings = [
        store_mapping(
            f"generated {seed}", judged.isa, generated_mapping(seed), origin=PortMapping.Origin.IMPORT
        )
        for seed in (1, 2, 3)
    ]
    sources = [*(f"mapping:{row.pk}" for row in mappings), "tool:Always", "tool:Seldom"]
    return done("judge", {"experiment_set": judged.pk, "sources": sources})


def _get(client: Client, url: str) -> None:
    answer = client.get(url)
    assert answer.status_code == 200, answer.status_code


def _with_selections(client: Client, url: str, selections: Iterator[str]) -> Callable[[], None]:
    return lambda: _get(client, url + next(selections))


def _result(
    case: str,
    work: Callable[[], None],
    limit: float | None,
    more: Mapping[str, object],
    *,
    cold: bool = False,
) -> Result:
    """Median milliseconds of some work, which has run once before; `cold`: caches are emptied each time."""
    work()  # templates are compiled
    costs = []
    for _ in range(_REQUESTS):
        if cold:
            _forget()
        costs.append(cost_of(work))
    cpu = median_milliseconds(cost.cpu for cost in costs)
    wall = median_milliseconds(cost.wall for cost in costs)
    return Result(case, wall, "ms", limit, {**more, "cpu_milliseconds": cpu})


def _forget() -> None:
    for cache in _CACHES:
        cache.cache_clear()


def _memory(client: Client, page: str) -> float:
    """By how many megabytes the process grows at most while all sources are looked at, with a selection."""
    _forget()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = _kilobytes("VmRSS")
    for url in (page, f"{page}?q=op007", f"{page}?tab=map&q=op008", f"{page}?tab=matrix", f"{page}?common=1"):
        _get(client, url)
    return round((_kilobytes("VmHWM") - before) / 1000, 1)


def _kilobytes(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1])
