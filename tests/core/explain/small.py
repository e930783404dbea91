"""Processors small enough to explain in a test, and searches of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from inference.core.blocking_by_cegar import solve_by_cegar
from inference.core.experiment import Experiment, Measured
from inference.core.explain import BlockingSolver, ExplainProblem, ExplainResult, ExplainSettings, infer
from inference.core.mapping import PortMapping, uops_of
from inference.core.protocols import Checkpoint, Measurer
from inference.measuring.simulated import UOPS, SimulatedProcessor
from tests.core.pmevo.small import Listener


def mapping_of(ports: str, usage: dict[str, str], r_max: float | None = None) -> PortMapping:
    """`{"fma": "01 1 1"}`: a µop on ports 0 and 1, two on port 1."""
    names = tuple(ports)
    return PortMapping(
        names,
        {
            scheme: uops_of((sum(1 << names.index(port) for port in uop), 1) for uop in uops.split())
            for scheme, uops in usage.items()
        },
        r_max,
    )


ZENLIKE = mapping_of(
    "0123456",
    {
        "add": "0123",
        "sub": "0123",
        "imul": "1",
        "shl": "12",
        "rol": "12",
        "load": "45",
        "vaddps": "6",
        "add r, m": "0123 45",
        "imul r, m": "1 45",
        "vadd x2": "6 6",
        "complex": "1 12 0123 45 45",
        "loop": "6 1",
    },
    r_max=6.0,
)
"""Four classes of blocking instructions on disjoint and nested port sets, and combinations of them."""

STORES = mapping_of(
    "01234",
    {
        "add": "012",
        "sub": "012",
        "shl": "2",
        "load": "34",
        "store": "4 012",
        "vstore": "4 2",
        "add m, r": "012 4",
    },
    r_max=5.0,
)
"""No scheme has the µop of a store alone."""


DISTURBED = 1.4
"""By how much a disturbed measurement takes longer."""


class DisturbedProcessor(SimulatedProcessor):
    """One of which measurements take longer where `is_disturbed`(experiment, number of the repetition)."""

    def __init__(self, mapping: PortMapping, is_disturbed: Callable[[Experiment, int], bool]) -> None:
        super().__init__(mapping)
        self._is_disturbed = is_disturbed
        self._number = 0

    def repetition(self, number: int) -> DisturbedProcessor:
        """The same processor, measured another time."""
        other = copy.copy(self)
        other._number = number
        return other

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """As simulated, but for what is disturbed."""
        for measured in super().measure(experiments):
            slower = DISTURBED if self._is_disturbed(measured.experiment, self._number) else 1.0
            assert measured.cycles is not None
            yield replace(measured, cycles=slower * measured.cycles)


def explain(
    mapping: PortMapping,
    listener: Listener | None = None,
    *,
    measurer: Measurer | None = None,
    resume: Checkpoint | None = None,
    hint: PortMapping | None = None,
    preferred: tuple[str, ...] = (),
    counters: str = UOPS,
    uops: dict[str, int] | None = None,
    solver: BlockingSolver = solve_by_cegar,
    **settings: object,
) -> ExplainResult:
    """Explain a simulated processor that has this mapping."""
    chosen = ExplainSettings(**{"ports": len(mapping.ports), **settings})  # type: ignore[arg-type]
    problem = ExplainProblem(tuple(mapping.usage), chosen, uops=uops or {}, hint=hint, preferred=preferred)
    processor = measurer or SimulatedProcessor(mapping, counters=counters)
    return infer(problem, processor, listener or Listener(), 1, resume, solver)
