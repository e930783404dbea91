"""Another three-level mapping that is faster than a given one for some experiment.

A candidate that has all of a set of facts (see `profiles`) which already make it as slow as the first mapping
(but for 2ε) for every experiment is nowhere faster. Such sets are gathered, made as small and weak as they
can be; a candidate must lack a fact of each. When none does, no experiment of any length would tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from inference.core.cegar.encodings import Encoding, Found
from inference.core.cegar.formula import Literal
from inference.core.cegar.profiles import Fact, Profile, facts_of, implies, one_weaker, telling
from inference.core.cegar.shape import Candidate
from inference.core.experiment import Experiment


class Missing(Protocol):
    """Facts that a candidate shall lack."""

    def literal(self, fact: Fact) -> Literal:
        """A literal under which the candidate lacks the fact."""
        ...

    def refine(self, candidate: Candidate) -> bool:
        """State of the facts said to be missing why they are not; whether there was any."""
        ...


class FasterQuestion:
    """Asks for a mapping that is faster than a first one for some experiment."""

    def __init__(self, encoding: Encoding, missing: Missing, pulse: Callable[[], None]) -> None:
        self._encoding = encoding
        self._formula = encoding.formula
        self._shape = encoding.formula.shape
        self._missing = missing
        self._pulse = pulse
        self._profile = Profile(self._shape, ())
        self._enough: list[tuple[Fact, ...]] = []
        self._asked: Literal = 0  # none yet

    def other(self, first: Profile) -> Found | None:
        """A matrix that explains all observations and is faster somewhere, with an experiment, or None."""
        if first is not self._profile:
            self._begin(first)
        while (candidate := self._encoding.find(self._asked)) is not None:
            if self._missing.refine(candidate):
                continue
            facts = facts_of(self._shape, candidate)
            experiment = self._lacks(facts)
            if experiment is not None:
                return candidate, experiment
            self._require_less(self._weakened(facts))
        return None

    def _begin(self, first: Profile) -> None:
        self._profile = first
        self._asked = self._formula.literal()
        known, self._enough = self._enough, []
        for facts in known:
            if self._lacks(facts) is None:
                self._require_less(facts)
        if not self._enough:
            self._require_less(self._weakened(first.facts))

    def _require_less(self, enough: tuple[Fact, ...]) -> None:
        self._enough.append(enough)
        self._formula.clause(-self._asked, *(self._missing.literal(fact) for fact in enough))

    def _lacks(self, facts: Sequence[Fact]) -> Experiment | None:
        """An experiment for which these facts alone leave a candidate faster than the first mapping."""
        self._pulse()
        profile = Profile(self._shape, facts)
        for fact in self._profile.facts:
            if any(implies(each, fact) for each in facts):
                continue
            shares = profile.slower(fact)
            if shares is not None:
                experiment = telling(self._shape, self._profile.facts, facts, shares)
                if experiment is not None:
                    return experiment
        return None

    def _weakened(self, facts: Sequence[Fact]) -> tuple[Fact, ...]:
        """Few and weak facts that still leave no experiment for which the first mapping is slower."""
        kept = list(facts)
        for fact in sorted(facts, key=lambda fact: (fact[0], sum(fact[1]))):
            rest = [each for each in kept if each != fact]
            if rest and self._lacks(rest) is None:
                kept = rest
        for k in range(len(kept)):
            while (weaker := self._one_weaker(kept, k)) is not None:
                kept[k] = weaker
        return tuple(kept)

    def _one_weaker(self, facts: Sequence[Fact], k: int) -> Fact | None:
        """A fact weaker than the k-th that may stand in its place."""
        for fact in one_weaker(self._shape.ports, facts[k]):
            if self._lacks([*facts[:k], fact, *facts[k + 1 :]]) is None:
                return fact
        return None
