"""The mappings found that explain everything measured so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from inference.core.cegar.shape import Candidate, Observation


@dataclass
class Pool:
    """A first mapping, those that nothing admissible tells from it, those not yet compared with it.

    "Cannot be told apart" is not transitive: where the first mapping falls, its successor is compared with
    all that are left.
    """

    first: Candidate
    aside: list[Candidate] = field(default_factory=list)
    waiting: list[Candidate] = field(default_factory=list)
    fresh: int = 0  # found and set aside since the last measurement

    def keep(self, observation: Observation, second: Candidate) -> bool:
        """Only those that explain this too; False where none does."""
        left = [one for one in (self.first, second, *self.aside, *self.waiting) if observation.holds(one)]
        if not left:
            return False
        survives = left[0] == self.first
        kept = set(left)
        self.waiting = [one for one in self.waiting if one in kept] if survives else left[1:]
        self.aside = [one for one in self.aside if one in kept] if survives else []
        self.first = left[0]
        self.fresh = 0
        return True
