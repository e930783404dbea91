"""What work costs: seconds, processor time, memory; and what pages of the server cost."""

from __future__ import annotations

import contextlib
import resource
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import psutil
from django.test import Client

from benchmarks import Result

Value = TypeVar("Value")


@dataclass(frozen=True)
class Cost(Generic[Value]):
    """Wall and CPU seconds of this process, and what the work returned."""

    wall: float
    cpu: float
    value: Value


def cost_of(work: Callable[[], Value]) -> Cost[Value]:
    wall, cpu = time.perf_counter(), time.process_time()
    value = work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu, value)


def page_result(
    client: Client,
    case: str,
    url: str,
    repeats: int,
    more: Mapping[str, object],
) -> Result:
    """Median milliseconds of a request in this process, without network; the first one is not counted.

    Raises `RuntimeError` for a page that does not answer with 200.
    """
    costs = [cost_of(lambda: client.get(url)) for _ in range(repeats + 1)]
    answer = costs[0].value
    if answer.status_code != 200:
        raise RuntimeError(f"{url} answered {answer.status_code}")
    cpu = median_milliseconds(cost.cpu for cost in costs[1:])
    wall = median_milliseconds(cost.wall for cost in costs[1:])
    return Result(case, wall, "ms", more={**more, "cpu": cpu, "bytes": len(answer.content)})


def median_milliseconds(seconds: Iterable[float]) -> float:
    return round(1000 * statistics.median(seconds), 1)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed; 0 of none."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else 0.0


def peak_mebibytes() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def mebibytes_of(processes: Iterable[int]) -> float:
    """Memory of processes, what several share counted by its part (PSS); nothing of those that have ended."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            total += psutil.Process(process).memory_full_info().pss
    return total / 2**20


def cpu_seconds() -> float:
    """Of this process, its descendants that live, and those of theirs that have been waited for."""
    own, total = psutil.Process(), 0.0
    for process in (own, *own.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])  # own and waited for, user and system
    return total
