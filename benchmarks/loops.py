"""Whether twelve loops are explained rightly, and how far the predicted cycles are from measured ones.

`loops.toml` has the loops with their expected reasons, written before any of them was explained, and says
when an explanation is right. `PMWEB_LOOPS_CORE` names a core model of this site; without it, the recorded
one that the product ships explains them. `PMWEB_LOOPS_MACHINE` names a machine that measures them as well,
by this site, which has to run.

`reasons`: the share that is explained rightly, with the largest bound of each loop, and those that are wrong.
`predicted`: MAPE of what was measured, with the cycles of each, measured, predicted and simulated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import MissingDataError, Result
from inference.core.core_model import Assumptions, BoundKind
from inference.core.loop.values import LoopAnalysis
from inference.core.metrics import score
from inference.core.simulation.steady_state import compile_simulation
from inference.features.asking.loop.query import analysis_of
from inference.features.learning.core_model.query import usable_core_models
from inference.features.library.gallery.query import recorded_cores
from inference.isa.blocks import Block, block_of_text
from inference.isa.tables import table_of_module
from inference.measuring.blocks import LOOP, UNROLLED
from inference.models import Machine, Run, StoredCoreModel
from inference.runs import lifecycle
from tests.launched import wait_until

_WAIT_SECONDS = 300.0  # for all measurements
_PORT_BOUNDS = (BoundKind.PORTS, BoundKind.SCHEDULER)
_ROUNDING = 1e-3  # cycles
_MIN_SHARE = 0.5
"""Of the fullest port's load, that the expected instructions make."""


@dataclass(frozen=True)
class ExpectedReason:
    """`kinds` of the largest bound, and the instructions that make it, from 0."""

    kinds: frozenset[str]
    instructions: frozenset[int]

    def accepts(self, analysis: LoopAnalysis) -> bool:
        """Whether the largest bound of an analysis has the expected kind and instructions."""
        largest = analysis.bounds[0]
        if largest.kind not in self.kinds:
            return False
        if largest.chain:
            return self.instructions <= {step.instruction for step in largest.chain}
        is_time_alone = largest.usual > max(analysis.port_loads, default=0.0) + _ROUNDING
        if largest.kind is BoundKind.PORTS and is_time_alone:
            schemes = {analysis.instructions[place].scheme for place in self.instructions}
            return any(largest.why.startswith(f"{scheme} ") for scheme in schemes)
        if largest.kind in _PORT_BOUNDS:
            return _share_of_fullest_port(analysis, self.instructions) >= _MIN_SHARE
        return True


@dataclass(frozen=True)
class ExpectedLoop:
    """A loop of the table."""

    name: str
    block: Block
    mode: str
    reasons: tuple[ExpectedReason, ...]

    def is_right(self, analysis: LoopAnalysis) -> bool:
        return bool(analysis.bounds) and any(reason.accepts(analysis) for reason in self.reasons)


def expected_loops() -> list[ExpectedLoop]:
    """The loops of `loops.toml`, in its order."""
    return [_loop(name, entry) for name, entry in table_of_module(__file__).items()]


def _loop(name: str, entry: Mapping[str, Any]) -> ExpectedLoop:
    reasons = tuple(
        ExpectedReason(frozenset(reason["bounds"]), frozenset(n - 1 for n in reason["instructions"]))
        for reason in entry["reasons"]
    )
    return ExpectedLoop(name, block_of_text(entry["code"]), entry.get("mode", LOOP), reasons)


def _share_of_fullest_port(analysis: LoopAnalysis, instructions: frozenset[int]) -> float:
    loads = analysis.port_loads
    fullest = max(range(len(loads)), key=loads.__getitem__, default=0)
    if not loads or not loads[fullest]:
        return 0.0
    pressures = (analysis.instructions[place].pressure for place in instructions)
    return sum(pressure[fullest] for pressure in pressures if pressure is not None) / loads[fullest]


def run(quick: bool) -> Iterator[Result]:
    """The reasons, and with a machine the predictions; `quick` measures nothing."""
    row = _core(os.environ.get("PMWEB_LOOPS_CORE", ""))
    loops = expected_loops()
    compile_simulation()
    analyses = [
        analysis_of(loop.block, row, Assumptions(nearest=True, in_loop=loop.mode == LOOP)) for loop in loops
    ]
    right = [loop.is_right(analysis) for loop, analysis in zip(loops, analyses, strict=True)]
    more = {
        "core": row.name,
        "right": sum(right),
        "of": len(loops),
        "wrong": [loop.name for loop, is_right in zip(loops, right, strict=True) if not is_right],
        "largest": {loop.name: _largest(analysis) for loop, analysis in zip(loops, analyses, strict=True)},
    }
    yield Result("reasons", round(sum(right) / len(loops), 4), "share of right reasons", 1.0, more)
    if (name := os.environ.get("PMWEB_LOOPS_MACHINE")) and not quick:
        yield _accuracy(loops, analyses, _machine(name))


def _core(name: str) -> StoredCoreModel:
    if not name:
        return next(core.row for core in recorded_cores() if core.core == "Zen 4")
    row = usable_core_models().filter(name=name).first()
    if row is None:
        raise MissingDataError(f"this site has no core model {name!r}: set PMWEB_HOME and PMWEB_LOOPS_CORE")
    return row


def _machine(name: str) -> Machine:
    row = Machine.objects.filter(name=name).first()
    if row is None:
        raise MissingDataError(f"this site has no machine {name!r}: set PMWEB_HOME and PMWEB_LOOPS_MACHINE")
    return row


def _largest(analysis: LoopAnalysis) -> str:
    """`dependencies 4.00: xor eax, ecx; imul eax, 0x1000193`, with the instructions of a chain."""
    if not analysis.bounds:
        return ""
    bound = analysis.bounds[0]
    chain = "; ".join(analysis.instructions[step.instruction].text for step in bound.chain)
    return f"{bound.kind} {bound.usual:.2f}: {chain or bound.why}"


def _accuracy(loops: Sequence[ExpectedLoop], analyses: Sequence[LoopAnalysis], machine: Machine) -> Result:
    """MAPE of the predicted cycles on the loops whose measurement settled."""
    measured = {
        name: cycles
        for mode in (LOOP, UNROLLED)
        for name, cycles in _measured([loop for loop in loops if loop.mode == mode], mode, machine).items()
    }
    rows = {loop.name: analysis for loop, analysis in zip(loops, analyses, strict=True)}
    scores = score([*measured.values()], [rows[name].usual for name in measured])
    cycles = {
        name: [round(value, 3), round(rows[name].usual, 3), rows[name].simulated]
        for name, value in measured.items()
    }
    unsettled = [loop.name for loop in loops if loop.name not in measured]
    more = {"machine": machine.name, "loops": cycles, "unsettled": unsettled}
    return Result("predicted", round(scores.mape or 0.0, 2), "% MAPE", more=more)


def _measured(loops: Sequence[ExpectedLoop], mode: str, machine: Machine) -> dict[str, float]:
    """{name of a loop: cycles per iteration}, of those that settled."""
    config = {
        "machine": machine.pk,
        "isa": loops[0].block.isa,
        "blocks": [loop.block.hex for loop in loops],
        "options": {"mode": mode},
    }
    task = lifecycle.submit("block", config, lifecycle.unused_name("twelve loops"))
    ended = Run.objects.filter(pk=task.pk, state__in=Run.FINAL)
    wait_until(ended.exists, _WAIT_SECONDS, "the measurements")
    task.refresh_from_db()
    assert task.state == Run.State.DONE, task.error
    results = zip(loops, task.result["blocks"], strict=True)
    return {loop.name: result["cycles"] for loop, result in results if result["state"] == "settled"}
