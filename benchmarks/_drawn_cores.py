"""Simulated x86-64 cores drawn at random, on which the starter set is measured."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from inference.core.core_model.model import CoreModel, FrontEndLimits, OperandLatencies
from inference.core.core_model.scheduled_times import ScheduledTimes
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops, uops_of
from inference.core.simulation.policy import Binding, SchedulerPolicy, SharedResultBus
from inference.isa.dependences import InstructionAccesses
from inference.isa.x86.bodies import body_accesses, loop_body
from inference.isa.x86.scheme_set import described
from inference.isa.x86.starter_set import STARTER_SET
from inference.measuring.scheduled_core import ScheduledCore
from inference.measuring.simulated import SimulatedProcessor

NOISE = 0.01
_FEWEST_PORTS, _MOST_PORTS = 6, 16

_UNITS: Mapping[str, str] = {
    # {unit: mnemonics}; whatever has no entry runs on any ALU or, with vectors, on any vector port
    "shift": "shl sar ror shlx bextr bt rol shr",
    "multiply": "imul pdep lzcnt popcnt bsf",
    "vector shift": "vpslld vpsrld pslld",
    "vector multiply": "vpmulld vmulps vfmadd231pd vmulpd mulsd mulss",
    "vector add": "vaddpd vmaxpd vcvtdq2ps addsd subsd cvtsi2sd",
    "shuffle": "vpshufb vshufps vpermd vpunpcklwd vblendps unpcklps shufps",
    "divide": "vdivps divsd sqrtsd",
}
_UNIT_OF = {name: unit for unit, names in _UNITS.items() for name in names.split()}
_LATENCY = {"multiply": 3, "vector multiply": 4, "vector add": 3, "divide": 11}
_LOAD = 4
_MOVES = ("mov", "movzx", "movsx", "vmovaps", "movss", "movsd", "movaps", "movups")


@dataclass(frozen=True)
class DrawnCore:
    """A simulated core, and what is true of it.

    Args:
        seed: What it was drawn by.
        truth: Its µops, of the starter set.
        scheduled: Its scheduler; None for one that spreads µops as well as ports and slots allow.
    """

    seed: int
    truth: PortMapping
    scheduled: ScheduledCore | None

    @property
    def wastes(self) -> bool:
        """Whether code takes longer than ports and slots allow."""
        return self.scheduled is not None

    def processor(self) -> SimulatedProcessor:
        return SimulatedProcessor(self.truth, noise=NOISE, seed=self.seed, core=self.scheduled)

    def facts(self) -> ScheduledTimes | None:
        """Its latencies and slots per cycle, as measured; None where code takes what ports and slots say."""
        if self.scheduled is None:
            return None
        model = replace(
            self.scheduled.model,
            mapping=None,
            front_end=FrontEndLimits(slots=float(self.scheduled.width)),
        )
        schemes = [found[0] for name in self.truth.usage if (found := described(name)) is not None]
        return ScheduledTimes(model, schemes, lambda experiment: loop_body(experiment.terms))


def drawn_core(seed: int) -> DrawnCore:
    """A core with 6 to 16 ports, every second one with a scheduler that binds µops when they are dispatched.

    It is 2 to 8 slots wide, hardly less than it has ALUs. Vector units share the ports of ALUs or have their
    own, and a store takes 0.5 to 2 cycles.
    """
    dice = random.Random(seed)
    while True:
        units, ports = _drawn_units(dice)
        if _FEWEST_PORTS <= ports <= _MOST_PORTS:
            break
    width = dice.randint(max(2, units["alu"].bit_count() - 1), 8)
    stored = dice.choice((1, 1, 2))
    usage = {scheme: _uops(scheme, units, stored) for scheme in sorted(STARTER_SET)}
    truth = PortMapping(tuple(map(str, range(ports))), usage, issue_width=width)
    if seed % 2 == 0:
        return DrawnCore(seed, truth, None)
    core = CoreModel(truth, {scheme: _latencies(scheme) for scheme in usage})
    memory = units["load"] | units["store"]
    return DrawnCore(seed, truth, ScheduledCore(core, _drawn_policy(dice, units), width, body_of, memory))


def _drawn_units(dice: random.Random) -> tuple[dict[str, int], int]:
    """{unit: ports}, and how many ports there are."""
    ports = iter(range(2 * _MOST_PORTS))

    def fresh(fewest: int, most: int) -> list[int]:
        return [next(ports) for _ in range(dice.randint(fewest, most))]

    def some(of: Sequence[int]) -> int:
        return mask_of(dice.sample(of, dice.randint(1, len(of))))

    alus = fresh(2, 6)
    vectors = alus[: dice.randint(1, min(4, len(alus)))] if dice.random() < 0.5 else fresh(2, 4)
    units = {unit: some(vectors if "vector" in unit or unit == "shuffle" else alus) for unit in _UNITS}
    units["divide"] = mask_of(vectors[:1])
    units |= {"alu": mask_of(alus), "vector": mask_of(vectors)}
    units |= {"load": mask_of(fresh(1, 4)), "store": mask_of(fresh(1, 2))}
    return units, next(ports)


def _drawn_policy(dice: random.Random, units: Mapping[str, int]) -> SchedulerPolicy:
    binding = dice.choice((Binding.LEAST_LOADED, Binding.LEAST_LOADED, Binding.RANDOM, Binding.ROUND_ROBIN))
    conflicts = dice.random() < 0.5
    shared = (SharedResultBus(units["multiply"], units["shift"]),) if dice.random() < 0.3 else ()
    return SchedulerPolicy(
        binding,
        load_age=dice.randint(0, 1),
        load_step=dice.randint(1, 3),
        queue=dice.choice((8, 12, 16, 24)),
        writeback_conflicts=conflicts,
        speculative_select=dice.random() < 0.5,
        shared_buses=shared if conflicts else (),
    )


def _uops(scheme: str, units: Mapping[str, int], stored: int) -> Uops:
    mnemonic, _, operands = scheme.partition(" ")
    unit = _UNIT_OF.get(mnemonic, "vector" if "XMM" in operands or "YMM" in operands else "alu")
    destination, _, _ = operands.partition(",")
    uops: list[tuple[int, int]] = []
    if "MEM" not in operands or mnemonic not in _MOVES:
        uops.append((units[unit], 1))
    if "MEM" in operands and not ("MEM" in destination and ":W" in destination):
        uops.append((units["load"], 1))
    if "MEM" in destination and "W" in destination:
        uops.append((units["store"], stored))
    return uops_of(uops)


def _latencies(scheme: str) -> OperandLatencies:
    """Of every operand that it reads to every one that it writes; from an address on with the load."""
    computing = _LATENCY.get(_UNIT_OF.get(scheme.partition(" ")[0], ""), 1)
    instruction = body_of(Experiment.of([scheme]))[0][0]
    return {
        (read.operand, write.operand): float(computing + _LOAD * read.operand.endswith("address"))
        for read in instruction.reads
        for write in instruction.writes
    }


@lru_cache(maxsize=20_000)
def body_of(experiment: Experiment) -> tuple[Sequence[InstructionAccesses], int]:
    return body_accesses(experiment.terms)


def mask_of(ports: Sequence[int]) -> int:
    return sum(1 << port for port in ports)
