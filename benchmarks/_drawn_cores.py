"""Simulated cores: drawn at random, and one that behaves as a recorded Zen 5."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from benchmarks._published_data import zen5_core, zen5_results
from inference.core.core_model.front_end_limits import FrontEndLimits
from inference.core.core_model.model import CoreModel, OperandLatencies
from inference.core.core_model.scheduled_times import ScheduledTimes
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops, uops_of
from inference.core.simulation.program import Binding, SchedulerPolicy, SharedResultBus
from inference.isa.dependences import InstructionAccesses
from inference.isa.tables import table_of_module
from inference.isa.x86.bodies import body_accesses, loop_body
from inference.isa.x86.scheme_set import scheme_and_form
from inference.isa.x86.starter_set import STARTER_SET
from inference.measuring.simulated import ScheduledCore, SimulatedProcessor

NOISE = 0.01  # standard deviation of a measurement, as a share of its cycles
_MIN_PORTS, _MAX_PORTS = 6, 16

_TABLE = table_of_module(__file__)
_UNITS, _LATENCY = _TABLE["units"], _TABLE["latencies"]
_UNIT_OF = {name: unit for unit, names in _UNITS.items() for name in names.split()}
_LOAD = 4  # cycles from a load's address to its value
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
        schemes = [found[0] for name in self.truth.usage if (found := scheme_and_form(name)) is not None]
        return ScheduledTimes(model, schemes, lambda experiment: loop_body(experiment.terms))


def drawn_core(seed: int) -> DrawnCore:
    """A core with 6 to 16 ports, every second one with a scheduler that binds µops when they are dispatched.

    It is 2 to 8 slots wide, hardly less than it has ALUs. Vector units share the ports of ALUs or have their
    own, and a store takes 0.5 to 2 cycles.
    """
    dice = random.Random(seed)
    while True:
        units, ports = _drawn_units(dice)
        if _MIN_PORTS <= ports <= _MAX_PORTS:
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
    ports = iter(range(2 * _MAX_PORTS))

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
    """A random scheduler: how it binds µops to ports, how long its queue is, and what it wastes."""
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
    """The µops of a scheme: one that computes unless it only moves, one per load, `stored` ones per store."""
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


WIDTH = 8  # µops that are issued per cycle
_MAX_UOPS = 8
"""Of an instruction: what is slower, such as divisions, occupies its unit for as long."""

_ZEN5_UNITS = {unit: mask_of(ports) for unit, ports in _TABLE["zen5"].items()}
_PORTS = 17  # units of the recorded Zen 5
_PATTERNS: Sequence[tuple[str, str]] = _TABLE["zen5_patterns"]["rows"]
_ANY_VECTOR_RATE = 0.3
"""Cycles alone below which a vector operation runs on any vector port."""

_ZEN5_MOVES = re.compile(r"mov(?!msk)|movzx|movsxd?|movbe|vmov(?!msk)|vbroadcast|vlddqu|prefetch")
_NO_PORT = re.compile(r"nop|endbr|clc|stc")


def zen5_like_core(seed: int, schemes: Collection[str] | None = None) -> DrawnCore:
    """The core on some schemes; all of the default set without. Raises `MissingDataError`."""
    rates, recorded = _recorded()
    usage = {scheme: _zen5_uops(scheme, rates, recorded) for scheme in schemes or rates}
    slots = {
        scheme: max(1, sum(n for mask, n in uops if not mask & _MEMORY)) for scheme, uops in usage.items()
    }
    truth = PortMapping(
        tuple(map(str, range(_PORTS))),
        usage,
        issue_width=WIDTH,
        slots={scheme: count for scheme, count in slots.items() if count > 1},
    )
    policy = SchedulerPolicy(
        load_age=1,
        load_step=2,
        queue=8,
        queued=88,
        writeback_conflicts=True,
        speculative_select=True,
        shared_buses=(SharedResultBus(_ZEN5_UNITS["multiply"], _ZEN5_UNITS["shift"]),),
    )
    model = replace(recorded, mapping=truth, alone={})
    optimal = (1 << _PORTS) - 1 & ~_ZEN5_UNITS["alu"]  # recorded mixes of vector operations waste nothing
    return DrawnCore(seed, truth, ScheduledCore(model, policy, WIDTH, body_of, _MEMORY, optimal))


_MEMORY = _ZEN5_UNITS["load"] | _ZEN5_UNITS["store"]


@lru_cache(maxsize=1)
def _recorded() -> tuple[dict[str, float], CoreModel]:
    """Cycles of each scheme of the default set alone, and what else was found out about the core."""
    rates = {
        result.experiment.schemes[0]: result.cycles
        for result in zen5_results("alone_pairs_floods.csv")
        if result.cycles and result.experiment.is_singleton
    }
    return dict(sorted(rates.items())), zen5_core()


def _zen5_uops(scheme: str, rates: Mapping[str, float], recorded: CoreModel) -> Uops:
    """The µops of a scheme, as on a Zen 5: none for moves that renaming does, else by its recorded rate."""
    mnemonic, _, operands = scheme.partition(" ")
    if scheme in recorded.moves or _NO_PORT.match(mnemonic):
        return ()
    is_vector = mnemonic.startswith("v")
    uops: list[tuple[int, int]] = []
    if "MEM" not in operands or not _ZEN5_MOVES.match(mnemonic):
        uops.append(_computing(mnemonic, operands, rates))
    if is_vector and operands.startswith("GPR"):
        uops.append((_ZEN5_UNITS["alu"], 1))
    if re.search(r"MEM\[[0-9]+\](:R|$)", operands):
        uops.append((_ZEN5_UNITS["vector load" if is_vector else "load"], 1))
    if re.search(r"MEM\[[0-9]+\]:R?W", operands):
        uops.append((_ZEN5_UNITS["store"], 1))
    return uops_of(uops)


def _computing(mnemonic: str, operands: str, rates: Mapping[str, float]) -> tuple[int, int]:
    """The ports and the number of the µops that compute."""
    own = re.compile(rf"{mnemonic}(?= |$)(?!.*MEM)")
    rate = min((cycles for text, cycles in rates.items() if own.match(text)), default=0.0)
    if mnemonic.startswith("v") and "GPR" in operands:
        unit = "vector to integer" if operands.startswith("GPR") else "integer to vector"
    elif mnemonic.startswith("v") and rate < _ANY_VECTOR_RATE:
        unit = "vector"
    else:
        matches = (unit for pattern, unit in _PATTERNS if re.match(pattern, mnemonic))
        unit = next(matches, "alu")
    ports = _ZEN5_UNITS[unit]
    count = math.floor(rate * ports.bit_count() + 0.25)
    return ports, min(max(1, count), _MAX_UOPS)
