"""The search for a three-level mapping that is faster than a given one for some experiment.

A set of facts (see `profiles`) can make a candidate as slow as the first mapping, but for 2ε, for every
experiment. Such sets are collected, with as few and as weak facts as possible; a faster candidate lacks a
fact of each. When no candidate does, none is faster for an experiment of any length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from inference.core.cegar.encodings import Encoding, SecondCandidate
from inference.core.cegar.formula import Literal
from inference.core.cegar.profiles import Fact, Profile, deciding_experiment, facts_of, implies, weaker_facts
from inference.core.cegar.shape import Candidate
from inference.core.experiment import Experiment


class Missing(Protocol):
    """Statements that a candidate lacks certain facts."""

    def literal(self, fact: Fact) -> Literal:
        """A literal under which the candidate lacks the fact."""
        ...

    def refine(self, candidate: Candidate) -> bool:
        """State clauses for the facts that the candidate should lack and has; whether there were any."""
        ...


class FasterQuestion:
    """Finds a mapping that is faster than a first one for some experiment."""

    def __init__(self, encoding: Encoding, missing: Missing, pulse: Callable[[], None]) -> None:
        self._encoding = encoding
        self._formula = encoding.formula
        self._shape = encoding.formula.shape
        self._missing = missing
        self._pulse = pulse
        self._profile = Profile(self._shape, ())
        self._enough: list[tuple[Fact, ...]] = []
        self._query: Literal = 0  # none yet

    def find_second(self, first: Profile) -> SecondCandidate | None:
        """A matrix that explains all observations, with an experiment for which it is faster, if any."""
        if first is not self._profile:
            self._begin(first)
        while (candidate := self._encoding.find(self._query)) is not None:
            if self._missing.refine(candidate):
                continue
            facts = facts_of(self._shape, candidate)
            experiment = self._missed_experiment(facts)
            if experiment is not None:
                return candidate, experiment
            self._require_less(self._weaken(facts))
        return None

    def _begin(self, first: Profile) -> None:
        """Ask about another first mapping; sets of facts that are enough for it too are kept."""
        self._profile = first
        self._query = self._formula.literal()
        previous, self._enough = self._enough, []
        for facts in previous:
            if self._missed_experiment(facts) is None:
                self._require_less(facts)
        if not self._enough:
            self._require_less(self._weaken(first.facts))

    def _require_less(self, enough: tuple[Fact, ...]) -> None:
        """Require of candidates that they lack at least one of these facts."""
        self._enough.append(enough)
        self._formula.clause(-self._query, *(self._missing.literal(fact) for fact in enough))

    def _missed_experiment(self, facts: Sequence[Fact]) -> Experiment | None:
        """An experiment for which a candidate with only these facts is faster than the first mapping."""
        self._pulse()
        profile = Profile(self._shape, facts)
        for fact in self._profile.facts:
            if any(implies(other, fact) for other in facts):
                continue
            shares = profile.slower(fact)
            if shares is not None:
                experiment = deciding_experiment(self._shape, self._profile.facts, facts, shares)
                if experiment is not None:
                    return experiment
        return None

    def _weaken(self, facts: Sequence[Fact]) -> tuple[Fact, ...]:
        """Fewer and weaker facts that still make a candidate as slow as the first mapping everywhere."""
        enough = list(facts)
        for fact in sorted(facts, key=lambda fact: (fact[0], sum(fact[1]))):
            smaller = [other for other in enough if other != fact]
            if smaller and self._missed_experiment(smaller) is None:
                enough = smaller
        for k in range(len(enough)):
            while (weaker := self._weaker_fact(enough, k)) is not None:
                enough[k] = weaker
        return tuple(enough)

    def _weaker_fact(self, facts: Sequence[Fact], k: int) -> Fact | None:
        """A fact weaker than the k-th that can replace it; None for none."""
        for fact in weaker_facts(self._shape.ports, facts[k]):
            if self._missed_experiment([*facts[:k], fact, *facts[k + 1 :]]) is None:
                return fact
        return None
