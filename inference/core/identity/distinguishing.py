"""Experiments that distinguish two port mappings (thesis §4.2.2 and §4.3).

Three-level mappings are searched (`searching`); for two-level ones experiments are constructed. In a
two-level mapping M, f(S) = |⋃_{i∈S} M[i]| is the number of ports that the schemes S have together, and

    tp⁻¹(e) = max over S of e(S) / f(S)                         (thesis §5.1.4)

where e(S) is the number of instances of S in e. Let t₁ < t₂ for an experiment e, and S be the maximiser of
t₂. The instances of other schemes contribute nothing to t₂ and may slow t₁, so a smallest experiment has none
of them, and t₂ = |e| / f₂(S): its port set Q = ⋃ M₂[i] is full. For a given Q the experiment may use all
schemes whose ports lie in Q, and is a solution exactly when

    t₁(e) < |e| · κ      with κ = 1/|Q| - margin, and κ > 1/R_max.

Solutions are the integer vectors inside the polymatroid that f₁, restricted to those schemes, spans when
scaled by |e| · κ. There are some exactly when f₁ · κ > 1 (else even all ports together are too slow): then
every base of f₁ itself is one, with f₁ instructions that take a single cycle. So examining all Q decides
whether any experiment distinguishes the mappings, and the smallest one has no more instructions than there
are ports.

Smaller ones than a base are constructed instance by instance: an instance is added if the remaining ones
could still be spread, in fractions, over the ports of the remaining schemes. Backtracking only has to handle
rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.identity.canonical import part_of, same_up_to_renaming
from inference.core.identity.searching import DistinguishingQuestion, SchemeClass, decimal, search_answer
from inference.core.mapping import MAX_PORTS, R_MAX_RANGE, PortMapping
from inference.core.throughput import densest_ports, inverse_throughput
from inference.core.tunables import check_integer, check_number

MAX_LENGTH = 1_000_000  # instructions: the most that a caller may allow

DEFAULT_LENGTH = 4
"""Largest length of three-level experiments unless another is given."""


@dataclass(frozen=True)
class Distinction:
    """An experiment, and the inverse throughput that each of two mappings predicts for it, in cycles."""

    experiment: Experiment
    first: float
    second: float


def distinguishing_experiment(
    a: PortMapping,
    b: PortMapping,
    *,
    noise: float = 0.0,
    r_max: float | None = None,
    max_length: int | None = None,
    schemes: Sequence[str] | None = None,
    pulse: Callable[[], None] = lambda: None,
) -> Distinction | None:
    """A smallest experiment whose predicted inverse throughputs differ by more than measurements vary.

    The predictions, within each mapping's limits, differ by more than 2 · noise · |e| cycles: no measurement
    with an error below `noise` cycles per instruction agrees with both (§4.3). Of the smallest experiments,
    the first when their instructions are listed in ascending order is returned, e.g. `a; a` before `a; b`
    before `b; b`. All comparisons are exact; `noise` and `r_max` count as the decimal numbers that they are
    written as (0.02 is 1/50).

    In the two-level model the experiment is constructed, and has at most as many instructions as there are
    ports; time grows with the number of different unions of as many port sets as the experiment has
    instructions. In the three-level model it is searched for among the multisets of schemes that the mappings
    treat differently; a few milliseconds per ten thousand of these.

    Args:
        a: First mapping.
        b: Second mapping.
        noise: Largest error of a measurement in cycles per instruction, ≥ 0.
        r_max: Instructions per cycle for both mappings; None leaves each its own.
        max_length: Largest number of instructions; `DEFAULT_LENGTH` in the three-level model.
        schemes: Schemes to make experiments of; by default all that both mappings describe.
        pulse: Called all the time; what it raises ends the search.

    Returns:
        None where there is no such experiment of up to `max_length` instructions. In the two-level model
            (every scheme has one µop) and without `max_length`, there is none of any length: either the
            mappings are the same up to a renaming of ports, or wherever they differ the noise or R_max hides
            it. In the three-level model a longer one may exist, or the mappings may be indistinguishable
            although no renaming makes them equal.

    Raises:
        InvalidInputError: For numbers out of range.
        UnknownSchemeError: For schemes that a mapping does not describe.
    """
    question = _question(a, b, noise, r_max, schemes, pulse)
    if max_length is not None:
        check_integer("max_length", max_length, 1, MAX_LENGTH)
    if not question.classes or _are_equal(a, b, question):
        return None
    if question.is_two_level:
        answer = construct_answer(question, max_length)
    else:
        answer = search_answer(question, DEFAULT_LENGTH if max_length is None else max_length)
    if answer is None:
        return None
    experiment = Experiment.of([question.classes[k].scheme for k in answer])
    first, second = (
        inverse_throughput(replace(mapping, r_max=rate), experiment)
        for mapping, rate in zip((a, b), question.rates, strict=True)
    )
    return Distinction(experiment, first, second)


def _question(
    a: PortMapping,
    b: PortMapping,
    noise: float,
    r_max: float | None,
    schemes: Sequence[str] | None,
    pulse: Callable[[], None],
) -> DistinguishingQuestion:
    """The checked question; equal schemes of both mappings form one class.

    Raises:
        InvalidInputError: The noise or R_max is out of range.
        UnknownSchemeError: A mapping lacks a scheme.
    """
    if not (math.isfinite(noise) and noise >= 0):
        raise InvalidInputError(
            f"noise must be a finite number of cycles per instruction >= 0, not {noise!r}"
        )
    if r_max is not None:
        check_number("R_max", r_max, *R_MAX_RANGE)
    names = sorted(a.usage.keys() & b.usage.keys() if schemes is None else set(schemes))
    unknown = [scheme for scheme in names if scheme not in a.usage or scheme not in b.usage]
    if unknown:
        raise UnknownSchemeError(unknown)
    return DistinguishingQuestion(
        classes=DistinguishingQuestion.classes_of(
            SchemeClass(scheme, (a.usage[scheme], b.usage[scheme]), (a.slots_of(scheme), b.slots_of(scheme)))
            for scheme in names
        ),
        margin=2 * decimal(noise),
        rates=(a.r_max, b.r_max) if r_max is None else (r_max, r_max),
        widths=(a.issue_width, b.issue_width),
        pulse=pulse,
    )


def _are_equal(a: PortMapping, b: PortMapping, question: DistinguishingQuestion) -> bool:
    """Whether a renaming of ports makes the mappings equal as far as the question is concerned."""
    if question.per_slot[0] != question.per_slot[1] or any(
        group.slots[0] != group.slots[1] for group in question.classes if any(question.per_slot)
    ):
        return False
    schemes = [scheme_class.scheme for scheme_class in question.classes]
    n_ports = max(len(a.ports), len(b.ports))
    return question.floors[0] == question.floors[1] and same_up_to_renaming(
        part_of(a, schemes, n_ports), part_of(b, schemes, n_ports)
    )


Answer = tuple[int, ...]


def construct_answer(question: DistinguishingQuestion, max_length: int | None) -> Answer | None:
    """The first of the smallest answers to a two-level question, of up to `max_length` instructions."""
    sides = [_Side(question, slow=slow) for slow in (0, 1)]
    length = 0
    while max_length is None or length < max_length:
        length += 1
        for side in sides:
            side.grow()
        if not any(side.goals or side.growing for side in sides):
            return None
        best: Answer | None = None
        for side in sides:
            for goal in side.goals:
                best = side.first(goal, length, best) or best
        if best is not None:
            return best
    return None


@dataclass(frozen=True)
class _Goal:
    """Use `members` only, with fewer than `cpi` cycles per instruction in the fast mapping.

    `shortest`: fewer instructions cannot reach the goal, since a single one takes too long.
    """

    members: tuple[int, ...]
    cpi: Fraction
    shortest: int


class _Side:
    """Searches for experiments for which one mapping, that of index `slow`, is the slower one."""

    def __init__(self, question: DistinguishingQuestion, *, slow: int) -> None:
        self._slow = [_port_set(group.uops[slow]) for group in question.classes]
        self._port_sets = set(self._slow)
        self._fast = [_port_set(group.uops[1 - slow]) for group in question.classes]
        self._pulse = question.pulse
        self._margin = question.margin
        self._floor = question.floors[1 - slow]
        threshold = self._margin + self._floor
        self._widest = math.ceil(1 / threshold) - 1 if threshold else MAX_PORTS
        self._unions: set[int] = {0}
        self.growing: set[int] = {0}
        self.goals: list[_Goal] = []
        # The slow mapping may be slow because of R_max instead of ports, for any schemes.
        self._add_goal(tuple(range(len(question.classes))), question.floors[slow])

    def grow(self) -> None:
        """Add the unions with one more port set: n instructions fill a union of at most n.

        Unions that are too wide to be slow enough are dropped, since larger ones are even faster.
        """
        grown = {union | ports for union in self.growing for ports in self._port_sets} - self._unions
        self._unions |= grown
        self.growing = {union for union in grown if union.bit_count() <= self._widest}
        for union in sorted(self.growing):
            self._pulse()
            inside = (k for k, ports in enumerate(self._slow) if ports and ports & ~union == 0)
            self._add_goal(tuple(inside), Fraction(1, union.bit_count()))

    def _add_goal(self, members: tuple[int, ...], cpi: Fraction) -> None:
        """Add the goal to be faster than `cpi` by the margin, if that is possible."""
        cpi -= self._margin
        if cpi <= self._floor:
            return
        widest = max(self._fast[k].bit_count() for k in members)
        together = self._ports_of(members).bit_count()
        if not all(self._fast[k] for k in members):
            self.goals.append(_Goal(members, cpi, 1))  # one instruction without ports takes no time at all
        elif together * cpi > 1:
            self.goals.append(_Goal(members, cpi, int(1 / (widest * cpi)) + 1))

    def _ports_of(self, members: tuple[int, ...]) -> int:
        ports = 0
        for k in members:
            ports |= self._fast[k]
        return ports

    def first(self, goal: _Goal, length: int, below: Answer | None) -> Answer | None:
        """The first answer of this length that reaches the goal, if it comes before the answer `below`."""
        if length < goal.shortest:
            return None
        return self._extend((), {}, goal, length, below)

    def _extend(
        self, prefix: Answer, work: Mapping[int, int], goal: _Goal, length: int, below: Answer | None
    ) -> Answer | None:
        """The first extension of a prefix, in lexicographic order, to an answer with the goal's time.

        Branches are cut where even the remaining instances could not reach it, and at `below`, a
        known answer.
        """
        if len(prefix) == length:
            return prefix
        n_left = length - len(prefix) - 1
        for position, k in enumerate(goal.members):
            if prefix and k < prefix[-1]:
                continue
            self._pulse()
            longer = (*prefix, k)
            if below is not None and (longer > below[: len(longer)] or longer == below):
                return None
            ports = self._fast[k]
            extended = {**work, ports: work.get(ports, 0) + 1} if ports else work
            if _fits(self._full_work(extended, goal.members[position:], n_left), goal.cpi * length):
                answer = self._extend(longer, extended, goal, length, below)
                if answer is not None:
                    return answer
        return None

    def _full_work(self, work: Mapping[int, int], members: tuple[int, ...], n_left: int) -> Mapping[int, int]:
        """A lower bound of a complete experiment's work: what remains may use any port of the members."""
        if not n_left or not all(self._fast[k] for k in members):
            return work
        ports = self._ports_of(members)
        return {**work, ports: work.get(ports, 0) + n_left}


def _port_set(uops: tuple[tuple[int, int], ...]) -> int:
    return uops[0][0] if uops else 0


def _fits(work: Mapping[int, int], cycles: Fraction) -> bool:
    """Whether the ports do this work in less than `cycles`."""
    if not work:
        return True
    densest = densest_ports(work)
    return densest.mass < cycles * densest.width
