"""Distinguishing experiments of two-level mappings, by construction instead of search.

In a two-level mapping M, f(S) = |⋃_{i∈S} M[i]| is the number of ports that the schemes S have together, and

    tp⁻¹(e) = max over S of e(S) / f(S)                         (thesis §5.1.4)

where e(S) is the number of instances of S in e. Let t₁ < t₂ for an experiment e, and S be the maximiser of
t₂. The instances of other schemes contribute nothing to t₂ and may slow t₁, so a smallest experiment has none
of them, and t₂ = |e| / f₂(S): its port set Q = ⋃ M₂[i] is full. For a given Q the experiment may use all
schemes whose ports lie in Q, and is a solution exactly when

    t₁(e) < |e| · κ      with κ = 1/|Q| - margin, and κ > 1/R_max.

Solutions are the integer vectors inside the polymatroid that f₁, restricted to those schemes, spans when
scaled by |e| · κ. There are some exactly when f₁ · κ > 1 (else even all ports together are too slow): then
every base of f₁ itself is one, with f₁ instructions that take a single cycle. So it is known after a look at
all Q whether any experiment distinguishes the mappings, and the smallest one has no more instructions than
there are ports.

Smaller ones than a base are found instance by instance: an instance is added if the rest could still be
spread, in fractions, over the ports of the remaining schemes. What is left for backtracking is rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from inference.core.flow import densest_ports
from inference.core.identity.question import DistinguishingQuestion
from inference.core.mapping import MAX_PORTS

Answer = tuple[int, ...]


def constructed(question: DistinguishingQuestion, max_length: int | None) -> Answer | None:
    """The first of the smallest answers to a question, of up to `max_length` instructions if given."""
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

    Fewer than `shortest` instructions cannot do: a single one takes too long.
    """

    members: tuple[int, ...]
    cpi: Fraction
    shortest: int


class _Side:
    """One mapping is to be slower than the other: `slow` is its index."""

    def __init__(self, question: DistinguishingQuestion, *, slow: int) -> None:
        self._slow = [_port_set(each.uops[slow]) for each in question.classes]
        self._port_sets = set(self._slow)
        self._fast = [_port_set(each.uops[1 - slow]) for each in question.classes]
        self._pulse = question.pulse
        self._margin = question.margin
        self._floor = question.floors[1 - slow]
        least = self._margin + self._floor
        self._widest = math.ceil(1 / least) - 1 if least else MAX_PORTS
        self._unions: set[int] = {0}
        self.growing: set[int] = {0}
        self.goals: list[_Goal] = []
        # The slow mapping may be slow for its R_max instead of its ports, whatever the schemes.
        self._aim(tuple(range(len(question.classes))), question.floors[slow])

    def grow(self) -> None:
        """Take in the unions of one more port set: n instructions fill a union of at most n.

        Those that are too wide to be slow enough are dropped: whatever they grow into is wider still.
        """
        grown = {union | ports for union in self.growing for ports in self._port_sets} - self._unions
        self._unions |= grown
        self.growing = {union for union in grown if union.bit_count() <= self._widest}
        for union in sorted(self.growing):
            self._pulse()
            inside = (k for k, ports in enumerate(self._slow) if ports and ports & ~union == 0)
            self._aim(tuple(inside), Fraction(1, union.bit_count()))

    def _aim(self, members: tuple[int, ...], cpi: Fraction) -> None:
        """Make it a goal to be faster than this by the margin, if that is possible at all."""
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
        return self._extended((), {}, goal, length, below)

    def _extended(
        self, begun: Answer, work: Mapping[int, int], goal: _Goal, length: int, below: Answer | None
    ) -> Answer | None:
        if len(begun) == length:
            return begun
        left = length - len(begun) - 1
        for position, k in enumerate(goal.members):
            if begun and k < begun[-1]:
                continue
            self._pulse()
            longer = (*begun, k)
            if below is not None and (longer > below[: len(longer)] or longer == below):
                return None
            ports = self._fast[k]
            more = {**work, ports: work.get(ports, 0) + 1} if ports else work
            if _fits(self._with_rest(more, goal.members[position:], left), goal.cpi * length):
                found = self._extended(longer, more, goal, length, below)
                if found is not None:
                    return found
        return None

    def _with_rest(self, work: Mapping[int, int], members: tuple[int, ...], left: int) -> Mapping[int, int]:
        """The work of a complete experiment at least: what is left may go to any port of these members."""
        if not left or not all(self._fast[k] for k in members):
            return work
        ports = self._ports_of(members)
        return {**work, ports: work.get(ports, 0) + left}


def _port_set(uops: tuple[tuple[int, int], ...]) -> int:
    return uops[0][0] if uops else 0


def _fits(work: Mapping[int, int], cycles: Fraction) -> bool:
    """Whether the ports do this work in less than so many cycles."""
    if not work:
        return True
    densest = densest_ports(work)
    return densest.mass < cycles * densest.width
