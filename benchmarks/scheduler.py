"""How well a core's scheduler explains recorded mixes that it was not inferred from.

The mixes are the integer experiments of a Zen 5's starter set, recorded with all latencies and the front end.
Ports are given by hand, as that core is documented: what is measured here is the scheduler, not the search
for ports. 160 of the mixes are simulated for the inference; the others have never been seen. The reference is
the error of ports, slots and dependences alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks import Result
from benchmarks._measured import cost_of
from benchmarks._published_data import zen5_core_of_mixes, zen5_results
from inference.core.core_model import CodeShape, CoreModel, predict_core
from inference.core.core_model.scheduler_experiments import operation_kinds, usable_experiments
from inference.core.core_model.scheduler_inference import (
    CoreSchedulerFinding,
    MeasuredBody,
    infer_core_scheduler,
)
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.metrics import Scores, score
from inference.isa.x86.bodies import body_accesses
from inference.isa.x86.scheme_set import scheme_and_form

ALU, MULTIPLY, SHIFT = 0b111111, 0b000111, 0b111000
_MNEMONICS = {
    ALU: "add sub cmp test and or xor neg not andn lzcnt popcnt movzx lea mov bswap inc dec",
    MULTIPLY: "imul",
    SHIFT: "shl shr sar ror rol bt shlx sarx bextr pdep",
}
PORTS_BY_HAND = {mnemonic: ports for ports, names in _MNEMONICS.items() for mnemonic in names.split()}
WIDTH = 8  # µops that are issued per cycle
SECONDS, _QUICK_SECONDS = 60, 5
_COPIES = CodeShape(0, loop=False, copied=True)
"""Straight-line code that repeats the mix, without a loop around it."""


def run(quick: bool) -> Iterator[Result]:
    """The error on mixes that the scheduler was not inferred from; `quick` searches for some seconds."""
    core, cycles = recorded_core()
    cost = cost_of(lambda: inferred(core, cycles, _QUICK_SECONDS if quick else SECONDS))
    finding, chosen = cost.value
    fresh = {mix: measured for mix, measured in cycles.items() if mix not in chosen}
    alone, simulated = (
        scores(replace(core, scheduler=scheduler), fresh) for scheduler in (None, finding.scheduler)
    )
    more = {
        "mixes": len(fresh),
        "tau": round(simulated.kendall or 0.0, 4),
        "tau_without": round(alone.kendall or 0.0, 4),
        "policies": finding.tried,
        "finished": finding.finished,
        "fit_as_well": len(finding.alternatives),
        "seconds": round(cost.cpu, 1),
        "found": finding.scheduler is not None,
    }
    yield Result("zen5-mixes", _percent(simulated), "% MAPE", reference=_percent(alone), more=more)


def recorded_core() -> tuple[CoreModel, dict[Experiment, float]]:
    """The core with ports by hand, and the cycles of its integer mixes. Raises `MissingDataError`."""
    cycles = {
        result.experiment: result.cycles
        for result in zen5_results("starter.csv")
        if result.cycles and all(map(_ports, result.experiment.schemes))
    }
    usage = {scheme: ((_ports(scheme), 1),) for mix in cycles for scheme in mix.schemes}
    ports = PortMapping(tuple("012345"), usage, issue_width=WIDTH)
    return replace(zen5_core_of_mixes(), mapping=ports), cycles


def inferred(
    core: CoreModel, cycles: dict[Experiment, float], seconds: float
) -> tuple[CoreSchedulerFinding, set[Experiment]]:
    """What a search of so many seconds finds, and the mixes that it used."""
    schemes = [found[0] for text in _usage(core) if (found := scheme_and_form(text)) is not None]
    kinds = operation_kinds(core, schemes)
    bodies = [
        MeasuredBody(
            mix.experiment,
            *body_accesses(mix.experiment.terms),
            cycles[mix.experiment],
            mix.group,
        )
        for mix in usable_experiments(cycles, kinds)
    ]
    ends = time.monotonic() + seconds
    finding = infer_core_scheduler(core, bodies, kinds, lambda: time.monotonic() < ends)
    return finding, {body.experiment for body in bodies}


def scores(core: CoreModel, cycles: dict[Experiment, float]) -> Scores:
    """Of a core model on mixes."""
    predicted = []
    for mix in cycles:
        instructions, copies = body_accesses(mix.terms)
        predicted.append(predict_core(instructions, _COPIES, core).cycles / copies)
    return score([*cycles.values()], predicted)


def _ports(scheme: str) -> int:
    """By the mnemonic; 0 for what uses memory, scales an index, or is not in the table."""
    if "MEM[" in scheme or "S*I" in scheme:
        return 0
    return PORTS_BY_HAND.get(scheme.partition(" ")[0], 0)


def _usage(core: CoreModel) -> Sequence[str]:
    return () if core.mapping is None else [*core.mapping.usage]


def _percent(of: Scores) -> float:
    return round(of.mape or 0.0, 2)
