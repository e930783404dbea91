"""The search for a second three-level mapping, without experiments as variables.

The question whether an experiment distinguishes another mapping from a given one falls into two, each about
the facts (c, w) of a candidate: "some c ports confine w[i] µops of every scheme i" (see `profiles`):

- *Slower somewhere.* Is there a candidate with a fact that means, for some experiment, over 2ε cycles per
  instruction more than the first mapping takes? One choice of rows and of a port set stands for the fact.
  Harmless facts are raised as long as they stay harmless, and facts below them are excluded from then on.
- *Faster somewhere.* See `faster_question`.

Each answer excludes all candidates with a fact. When neither question has a candidate left, no experiment of
any length distinguishes another mapping from the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from inference.core.cegar.closed_form import ClosedForm
from inference.core.cegar.encodings import SecondCandidate
from inference.core.cegar.faster_question import FasterQuestion
from inference.core.cegar.formula import Literal
from inference.core.cegar.profiles import Fact, Profile, deciding_experiment, facts_of, implies
from inference.core.cegar.shape import Candidate, unions

CUTS = 8  # clauses stated per candidate and fact that it should lack and has


class FactQuestion:
    """Finds a second mapping; harmless facts are kept from one first mapping to the next."""

    def __init__(self, encoding: ClosedForm, pulse: Callable[[], None]) -> None:
        self._encoding = encoding
        self._shape = encoding.formula.shape
        self._pulse = pulse
        self._slower = _Slower(encoding)
        self._faster = FasterQuestion(encoding, _Missing(encoding), pulse)
        self._first: Candidate | None = None
        self._profile = Profile(self._shape, ())
        self._harmless: list[Fact] = []

    def find_second(self, first: Candidate) -> SecondCandidate | None:
        """A matrix that explains all observations and can be distinguished from the first; None for none."""
        if first != self._first:
            self._begin(first)
        return self._find_slower() or self._faster.find_second(self._profile)

    def _begin(self, first: Candidate) -> None:
        self._first = first
        self._profile = Profile(self._shape, facts_of(self._shape, first))
        self._harmless = [fact for fact in self._harmless if self._profile.slower(fact) is None]
        self._slower.begin(self._harmless)

    def _find_slower(self) -> SecondCandidate | None:
        """A candidate that is slower than the first mapping for some experiment, with that experiment.

        Each candidate shows such a fact, or facts that turn out harmless and are excluded with
        weaker ones.
        """
        while (candidate := self._encoding.find(self._slower.query)) is not None:
            facts = facts_of(self._shape, candidate)
            for fact in facts:
                if any(implies(harmless, fact) for harmless in self._harmless):
                    continue
                shares = self._profile.slower(fact)
                experiment = (
                    None
                    if shares is None
                    else deciding_experiment(self._shape, self._profile.facts, facts, shares)
                )
                if experiment is not None:
                    return candidate, experiment
                raised = self._strengthen(fact)
                self._harmless.append(raised)
                self._slower.rule_out(raised)
        return None

    def _strengthen(self, fact: Fact) -> Fact:
        """The fact with fewer ports and more µops, as far as it stays harmless."""
        self._pulse()
        width, counts = fact

        def harmless(width: int, counts: Sequence[int]) -> bool:
            return self._profile.slower((width, tuple(counts))) is None

        raised = list(counts)
        while width > 1 and harmless(width - 1, raised):
            width -= 1
        for i, count in enumerate(self._shape.counts):
            while raised[i] < count and harmless(width, [*raised[:i], raised[i] + 1, *raised[i + 1 :]]):
                raised[i] += 1
        return width, tuple(raised)


class _Slower:
    """Literals for a free choice of rows and of ports that confine them, not below any excluded fact.

    The solver chooses a matrix and one of its facts at once: `find(query)` is a candidate with a fact that no
    harmless one implies.
    """

    def __init__(self, encoding: ClosedForm) -> None:
        formula = self._formula = encoding.formula
        self._confined = [formula.literal() for _ in formula.matrix]  # the chosen rows
        self._full = [formula.literal() for _ in range(formula.shape.ports)]  # the chosen ports
        for confined, row in zip(self._confined, formula.matrix, strict=True):
            for literal, port in zip(row, self._full, strict=True):
                formula.clause(-confined, -literal, port)
        formula.clause(*self._confined)  # nothing confined to no port is not a fact
        self._fewer: dict[int, Literal] = {}  # {number of ports: literal for at most so many}
        self._more: dict[tuple[int, int], Literal] = {}  # {(scheme, µops): literal for at least so many}
        self.query: Literal = 0  # none yet

    def begin(self, harmless: Sequence[Fact]) -> None:
        """Start a question about another first mapping; clauses of earlier ones hold without their query."""
        self.query = self._formula.literal()
        for fact in harmless:
            self.rule_out(fact)

    def rule_out(self, fact: Fact) -> None:
        """Require of the chosen fact that this one does not imply it: fewer ports, or more of some µops."""
        width, counts = fact
        beyond = [self._at_most(width - 1)] if width > 1 else []
        for i, count in enumerate(counts):
            if count < self._formula.shape.counts[i]:
                beyond.append(self._at_least(i, count + 1))
        self._formula.clause(-self.query, *beyond)

    def _at_most(self, width: int) -> Literal:
        if width not in self._fewer:
            literal = self._fewer[width] = self._formula.literal()
            self._formula.at_most(self._full, width, -literal)
        return self._fewer[width]

    def _at_least(self, scheme: int, count: int) -> Literal:
        key = scheme, count
        if key not in self._more:
            literal = self._more[key] = self._formula.literal()
            rows = [self._confined[row] for row in self._formula.shape.rows_of[scheme]]
            self._formula.at_least(rows, count, -literal)
        return self._more[key]


class _Missing:
    """Facts that the candidate shall lack; clauses for them are stated once a candidate violates them."""

    def __init__(self, encoding: ClosedForm) -> None:
        self._formula = encoding.formula
        self._known: dict[Fact, Literal] = {}

    def literal(self, fact: Fact) -> Literal:
        if fact not in self._known:
            self._known[fact] = self._formula.literal()
        return self._known[fact]

    def refine(self, candidate: Candidate) -> bool:
        """See `Missing`: rows that show such a fact get at least one port more together."""
        sets = sorted(unions(candidate), key=lambda union: (union.bit_count(), union))
        stated = False
        for fact, missing in self._known.items():
            if self._formula.holds(missing):
                for rows in itertools.islice(self._evidence(candidate, sets, fact), CUTS):
                    self._formula.at_least(self._formula.union(rows), fact[0] + 1, -missing)
                    stated = True
        return stated

    def _evidence(self, candidate: Candidate, sets: Sequence[int], fact: Fact) -> Iterator[tuple[int, ...]]:
        """Rows that show that the fact holds of the candidate."""
        width, counts = fact
        for union in sets:
            if union.bit_count() > width:
                return
            inside = [
                [row for row in rows if candidate[row] & ~union == 0] for rows in self._formula.shape.rows_of
            ]
            if all(len(rows) >= n for rows, n in zip(inside, counts, strict=True)):
                yield tuple(row for rows, n in zip(inside, counts, strict=True) for row in rows[:n])
