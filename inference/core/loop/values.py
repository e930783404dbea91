"""The analysis of a block on a core as a value; `None` stands for what was not measured.

All cycles are per iteration. Instructions count from 0 in the order of `Block.listing`: the jump that closes
a loop is the last one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from inference.core.core_model.dependences import ChainStep
from inference.core.core_model.prediction import BoundKind, SchemeSubstitution
from inference.core.mapping import Uops


@dataclass(frozen=True, slots=True)
class CycleRange:
    """Cycles from `low` to `high`: equal where everything is measured; `high` is None without a limit."""

    low: float
    high: float | None

    @property
    def is_exact(self) -> bool:
        return self.high == self.low

    @property
    def text(self) -> str:
        """`2.00`, `2.00 – 4.00`, `≥ 2.00`; `?` where nothing is known.

        >>> CycleRange(2.0, None).text
        '≥ 2.00'
        """
        if self.high is None:
            return f"≥ {self.low:.2f}" if self.low else "?"
        return f"{self.low:.2f}" if self.is_exact else f"{self.low:.2f} – {self.high:.2f}"


class UnknownPart(StrEnum):
    """A property of an instruction that the core model does not have."""

    PORTS = "ports"
    SLOTS = "slots"
    LATENCY = "latency"


@dataclass(frozen=True)
class LoopBound:
    """Cycles that a resource takes at least.

    Attributes:
        chain: For dependencies, the critical cycle.
        usual: The bound with the best guess for each unknown property (nearest scheme, else 1 cycle); it
            lies in `cycles`.
        by_values: Instructions that it rests on and whose time depends on values.
        is_unknown: An unknown property may make it larger. In both cases `cycles` has no upper end.
    """

    kind: BoundKind
    cycles: CycleRange
    usual: float
    why: str
    chain: tuple[ChainStep, ...] = ()
    by_values: tuple[int, ...] = ()
    is_unknown: bool = False


@dataclass(frozen=True)
class InstructionAnalysis:
    """An instruction of the block.

    Args:
        text: Text as in the listing.
        scheme: "" for an instruction without one.
        size: Bytes.
        uops: None where not known; empty where it needs no port.
        pressure: Cycles on each port of the mapping, in its order. The column sums are the port loads of the
            block, the largest of which is the port bound.
        slots: Issue slots.
        on_chain: Cycles that it adds to the critical chain; None where it is not on it.
        latency: The largest latency between its operands; None where it was not measured.
        unknown: What was not measured and is not taken from a substitute.
        substitution: The nearest scheme that stands for it.
        note: How the core treats it specially: "fused with the next", "eliminated", "no port: equal
            registers"; "" for nothing.
    """

    text: str
    scheme: str
    size: int
    uops: Uops | None
    pressure: tuple[float, ...] | None
    slots: float | None
    on_chain: float | None
    latency: float | None
    unknown: tuple[UnknownPart, ...] = ()
    substitution: SchemeSubstitution | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Dependence:
    """A value that one instruction hands to another, as an edge of the dependency graph.

    `key` names it in addresses ("2-0-rax": producer, consumer, location).

    Attributes:
        iterations: 0 within an iteration.
        cycles: None where the latency is unknown.
        basis: Basis as in `ChainStep`.
    """

    key: str
    producer: int
    consumer: int
    location: str
    iterations: int
    cycles: float | None
    basis: str
    is_critical: bool


class RemedyKind(StrEnum):
    """A change that would make the block faster."""

    DEPENDENCE = "dependence"
    LOADS = "loads"
    PORTS = "ports"
    FRONT_END = "front end"
    SCHEDULER = "scheduler"
    ORDER = "order"


@dataclass(frozen=True)
class Remedy:
    """What would change the time: `text` in words, and the `cycles` that would remain."""

    kind: RemedyKind
    text: str
    cycles: float
    dependence: str = ""


@dataclass(frozen=True)
class Changes:
    """Hypothetical changes of a block.

    Args:
        without_dependences: Keys of dependencies that are taken away.
        loads_hit: Latencies that the user gave for loads are ignored.
        latencies: {instruction: cycles} that the user gave (`# LATENCY 40`), in place of measured ones.
    """

    without_dependences: frozenset[str] = frozenset()
    loads_hit: bool = False
    latencies: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class LoopAnalysis:
    """All that a core model says about a block.

    Args:
        bounds: The largest `usual` first.
        cycles: The range of the prediction, from the ranges of the bounds.
        usual: The prediction: the largest `usual`.
        ports: Names of the ports, as pages show them.
        port_loads: Cycles of each port.
        instructions: Instructions as in the listing.
        dependences: The edges of the dependency graph.
        simulated: Cycles by the simulated scheduler; None where the model does not allow a simulation.
        simulation_note: Why `simulated` and `usual` differ by more than 3 %; "" where they do not.
        remedies: The most effective first.
        lacking: Unknown properties of the core, as sentences.
        is_unknown: An unknown property may make the block slower.
        mapping_ports: The ports as the mapping names them, in the order of `ports`.
    """

    bounds: tuple[LoopBound, ...]
    cycles: CycleRange
    usual: float
    ports: tuple[str, ...]
    port_loads: tuple[float, ...]
    instructions: tuple[InstructionAnalysis, ...]
    dependences: tuple[Dependence, ...]
    simulated: float | None = None
    simulation_note: str = ""
    remedies: tuple[Remedy, ...] = ()
    lacking: tuple[str, ...] = ()
    is_unknown: bool = False
    mapping_ports: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.mapping_ports:
            object.__setattr__(self, "mapping_ports", self.ports)
