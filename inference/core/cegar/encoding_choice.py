"""How an encoding of Algorithm 4.1's two questions is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from inference.core.cegar.encodings import Encoding, Found, Questions
from inference.core.cegar.settings import CLOSED_FORM
from inference.core.cegar.shape import Candidate, Observation, Shape

TWO_LEVEL_PATIENCE = 32  # nearly all candidates that remain can be told apart, until none can
THREE_LEVEL_PATIENCE = 6  # most cannot: many matrices mean the same


class _Question(Protocol):
    def other(self, first: Candidate) -> Found | None: ...


class BooleanQuestions:
    """A Boolean encoding, with the question about the second mapping that suits it."""

    def __init__(self, shape: Shape, seed: int, limit: int, pulse: Callable[[], None]) -> None:
        self._encoding, question = _suiting(shape, seed, limit, pulse)
        self.add = self._encoding.add
        self.exclude = self._encoding.exclude
        self.patience = TWO_LEVEL_PATIENCE if shape.is_two_level else THREE_LEVEL_PATIENCE
        self.close = self._encoding.close
        self.other = question.other

    def another(self) -> Candidate | None:
        return self._encoding.find()


def _suiting(shape: Shape, seed: int, limit: int, pulse: Callable[[], None]) -> tuple[Encoding, _Question]:
    # All of these load z3, which takes a second.
    from inference.core.cegar.closed_form import ClosedForm  # loads z3
    from inference.core.cegar.fact_question import FactQuestion  # loads z3
    from inference.core.cegar.formula import Formula  # loads z3
    from inference.core.cegar.table_question import TableQuestion  # loads z3
    from inference.core.cegar.tabulated import Tabulated  # loads z3
    from inference.core.cegar.union_question import UnionQuestion  # loads z3

    formula = Formula(shape, seed, limit, pulse)
    if not shape.is_two_level and Tabulated.suits(shape):
        table = Tabulated(formula)
        return table, TableQuestion(table, pulse)
    lazy = ClosedForm(formula)
    return lazy, UnionQuestion(lazy) if shape.is_two_level else FactQuestion(lazy, pulse)


def questions(
    encoding: str,
    shape: Shape,
    observations: Iterable[Observation],
    seed: int,
    limit: int,
    pulse: Callable[[], None],
) -> Questions:
    """The encoding that the settings ask for, with these observations."""
    if encoding == CLOSED_FORM:
        made: Questions = BooleanQuestions(shape, seed, limit, pulse)
    else:
        from inference.core.cegar.linear_program import LinearQuestions  # loads z3

        made = LinearQuestions(shape, seed, limit, pulse)
    for observation in observations:
        made.add(observation)
    return made
