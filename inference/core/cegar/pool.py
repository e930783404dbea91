"""The mappings found that explain everything measured so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from inference.core.cegar.shape import Candidate, Observation

ENOUGH = 8
"""Mappings in a row that only longer experiments tell from the first, before longer ones are asked."""


@dataclass
class Pool:
    """A first mapping, those that nothing admissible tells from it, those not yet compared with it.

    Experiments of up to `longest` instructions are asked while they tell something, as in §4.3: mappings that
    take longer ones come `later`.

    "Cannot be told apart" is not transitive: where the first mapping falls, its successor is compared with
    all that are left.
    """

    first: Candidate
    aside: list[Candidate] = field(default_factory=list)
    waiting: list[Candidate] = field(default_factory=list)
    later: list[Candidate] = field(default_factory=list)
    longest: int = 2  # alone, the schemes were measured before
    fresh: int = 0  # found and set aside since the last measurement

    def keep(self, observation: Observation, second: Candidate) -> bool:
        """Only those that explain this too; False where none does."""
        known = (self.first, second, *self.aside, *self.waiting, *self.later)
        left = [one for one in known if observation.holds(one)]
        if not left:
            return False
        survives = left[0] == self.first
        kept = set(left)
        self.waiting = [one for one in self.waiting if one in kept] if survives else left[1:]
        self.aside = [one for one in self.aside if survives and one in kept]
        self.later = [one for one in self.later if survives and one in kept]
        self.first = left[0]
        self.fresh = 0
        return True

    def postpone(self, second: Candidate, length: int) -> bool:
        """Whether an experiment of this length is too long for now."""
        if length <= self.longest:
            return False
        self.later.append(second)
        if len(self.later) >= ENOUGH:
            self.lengthen()
        return True

    def lengthen(self) -> bool:
        """Allow one more instruction where mappings wait for that; whether there are any."""
        self.longest += bool(self.later)
        self.waiting, self.later = self.waiting + self.later, []
        return bool(self.waiting)
