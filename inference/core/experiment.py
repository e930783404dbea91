"""Experiments, multisets of instruction schemes, and the measurement of one of them (thesis §3.1)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import TypeGuard

from inference.core.errors import InvalidInputError


@dataclass(frozen=True, slots=True, order=True)
class Experiment:
    """A multiset of instruction schemes, executed as a loop body without dependencies.

    `terms`: (scheme text, multiplicity ≥ 1), sorted by scheme, so that equal multisets compare equal.

    >>> Experiment.of(["add", "mul", "add"]).terms
    (('add', 2), ('mul', 1))
    """

    terms: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, schemes: Iterable[str] | Mapping[str, int]) -> Experiment:
        """Build from a sequence of schemes, whose repeats add up, or from {scheme: multiplicity}.

        Raises:
            InvalidInputError: For no scheme at all, or a multiplicity that is not a whole number ≥ 1.
        """
        counts = dict(schemes) if isinstance(schemes, Mapping) else Counter(schemes)
        _check_terms(counts.items())
        return cls(tuple(sorted(counts.items())))

    def __post_init__(self) -> None:
        _check_terms(self.terms)
        if any(first[0] >= second[0] for first, second in pairwise(self.terms)):
            raise InvalidInputError(f"terms must be sorted by scheme, without repeats: {self}")

    @property
    def length(self) -> int:
        """|e|: the number of instructions, repeats included."""
        return sum(count for _, count in self.terms)

    @property
    def schemes(self) -> tuple[str, ...]:
        return tuple(scheme for scheme, _ in self.terms)

    @property
    def is_singleton(self) -> bool:
        return len(self.terms) == 1 and self.terms[0][1] == 1

    def __str__(self) -> str:
        return "; ".join(f"{count}*{scheme}" if count > 1 else scheme for scheme, count in self.terms)


@dataclass(frozen=True, slots=True, order=True)
class OrderedExperiment(Experiment):
    """An experiment whose instructions have to be in this order.

    It never equals the multiset of the same schemes.

    The model knows no order (Definition 3.1). Measuring several orders of one multiset shows what that costs
    (thesis §3.2.2). `order` holds every scheme as often as `terms` says.
    """

    order: tuple[str, ...]

    @classmethod
    def in_order(cls, order: Iterable[str]) -> OrderedExperiment:
        sequence = tuple(order)
        return cls(Experiment.of(sequence).terms, sequence)

    def __post_init__(self) -> None:
        Experiment.__post_init__(self)
        if Counter(self.order) != dict(self.terms):
            raise InvalidInputError(f"the order {self.order} is not one of {self}")

    @property
    def multiset(self) -> Experiment:
        """The experiment without an order of its instructions."""
        return Experiment(self.terms)


def _check_terms(terms: Collection[tuple[str, int]]) -> None:
    if not terms:
        raise InvalidInputError("an experiment needs at least one instruction scheme")
    for scheme, count in terms:
        if not isinstance(scheme, str):
            raise InvalidInputError(f"an instruction scheme is a text, not {scheme!r}")
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InvalidInputError(f"multiplicity of {scheme!r} must be a whole number ≥ 1, not {count!r}")


class MeasurementState(StrEnum):
    """How far a measured number can be trusted."""

    SETTLED = "settled"
    UNSETTLED = "unsettled"  # the passes did not agree within the tolerance
    CONTENDED = "contended"  # the machine was too busy for any number to mean something
    FAILED = "failed"  # no number: crash, illegal instruction, time-out


@dataclass(frozen=True, slots=True)
class Measured:
    """An experiment with its measured inverse throughput.

    `cycles`: per execution of the whole experiment (never per instruction), finite and > 0; None exactly
    where the state is FAILED, and then `note` has the reason. `spread`: max − min over the passes, in cycles.
    `annotations`: {tool: its answer for the same experiment, in cycles}. `counters`: events per execution of
    the experiment, `uops` for all µops, `port X` for those executed on a port.

    Raises:
        InvalidInputError: For cycles or a spread that contradict this.
    """

    experiment: Experiment
    cycles: float | None
    state: MeasurementState = MeasurementState.SETTLED
    spread: float | None = None
    passes: int = 1
    note: str = ""
    annotations: Mapping[str, float] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.state is MeasurementState.FAILED:
            if self.cycles is not None:
                raise InvalidInputError(f"a failed measurement of {self.experiment} cannot have cycles")
        elif not _is_finite(self.cycles) or self.cycles <= 0:
            raise InvalidInputError(
                f"cycles of {self.experiment} must be a finite number > 0, not {self.cycles!r}"
            )

        if self.spread is not None and (not _is_finite(self.spread) or self.spread < 0):
            raise InvalidInputError(
                f"the spread of {self.experiment} must be a finite number ≥ 0, not {self.spread!r}"
            )

    @property
    def usable(self) -> bool:
        """Whether an inference may learn from this measurement."""
        return self.state is MeasurementState.SETTLED


def _is_finite(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class Unit(StrEnum):
    """The unit in which a number of cycles is shown."""

    CYCLES = "cycles"
    CPI = "cpi"
    IPC = "ipc"

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {
    Unit.CYCLES: "cycles",
    Unit.CPI: "cycles per instruction",
    Unit.IPC: "instructions per cycle",
}
