"""A front made by hand, and a search that answers with it: what a re-fit finds, without one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from inference.core import pmevo
from inference.core.mapping import PortMapping, Uops
from inference.core.pmevo import FrontPoint, PMEvoResult
from inference.core.pmevo.events import Cloud, FrontImproved, Sweep

SIZE = 4
"""Points of the front, that of the result among them."""

_search = pmevo.infer


def front_of(mapping: PortMapping, error: float) -> tuple[FrontPoint, ...]:
    """The mapping itself, then ones in which more and more schemes can use all ports."""
    everywhere: Uops = ((2 ** len(mapping.ports) - 1, 1),)
    points = []
    for place in range(SIZE):
        spread = sorted(mapping.usage)[:place]
        value = replace(mapping, usage={**mapping.usage, **dict.fromkeys(spread, everywhere)})
        points.append(FrontPoint(error + place / 100, value.volume, 10 - place, value))
    return tuple(points)


def infer(problem: Any, measurer: Any, reporter: Any, *arguments: Any) -> PMEvoResult:
    """PMEvo, with a population, two sweeps and a front told of and in the result."""
    found = _search(problem, measurer, reporter, *arguments)
    points = front_of(found.mapping, 0.05)
    reporter.emit(Cloud.of(10**6, np.array([0.05, 0.2]), np.array([30, 20])))
    reporter.emit(Sweep(0, 1, 3, 0.06, 40, 9))
    reporter.emit(Sweep(1, 1, 4, 0.07, 44, 12))
    reporter.emit(Sweep(0, 2, 1, 0.05, 41, 10))
    reporter.emit(FrontImproved.of((point.error, point.volume, point.kinds) for point in points))
    return replace(found, front=points, exhaustive=found.experiments * 4)


@pytest.fixture
def fronted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of PMEvo in this process end with a front."""
    monkeypatch.setattr(pmevo, "infer", infer)
