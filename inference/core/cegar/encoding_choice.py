"""The choice of an encoding for Algorithm 4.1's two questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from inference.core.cegar.encodings import Encoding, Questions, SecondCandidate
from inference.core.cegar.settings import CLOSED_FORM
from inference.core.cegar.shape import Candidate, Observation, Shape

TWO_LEVEL_ASIDE_LIMIT = 32  # nearly all remaining candidates can be distinguished, until none can
THREE_LEVEL_ASIDE_LIMIT = 6  # most cannot: many matrices are equivalent


class _Question(Protocol):
    def find_second(self, first: Candidate) -> SecondCandidate | None: ...


class BooleanQuestions:
    """A Boolean encoding of the measurements, and the suitable encoding of the second question."""

    def __init__(self, shape: Shape, seed: int, limit: int, pulse: Callable[[], None]) -> None:
        self._encoding, question = _choose_encoding(shape, seed, limit, pulse)
        self.add = self._encoding.add
        self.exclude = self._encoding.exclude
        self.aside_limit = TWO_LEVEL_ASIDE_LIMIT if shape.is_two_level else THREE_LEVEL_ASIDE_LIMIT
        self.close = self._encoding.close
        self.find_second = question.find_second

    def find_candidate(self) -> Candidate | None:
        return self._encoding.find()


def _choose_encoding(
    shape: Shape, seed: int, limit: int, pulse: Callable[[], None]
) -> tuple[Encoding, _Question]:
    """The encoding of the measurements, and that of the search for a second mapping on top of it.

    Port sets are listed where that is the quicker way (`FactTable.suits`); with one µop per scheme, a second
    mapping shows in unions of port sets alone (`UnionQuestion`).
    """
    # z3 takes a second to load.
    from inference.core.cegar.closed_form import ClosedForm  # loads z3
    from inference.core.cegar.fact_question import FactQuestion  # loads z3
    from inference.core.cegar.fact_table import FactTable  # loads z3
    from inference.core.cegar.formula import Formula  # loads z3
    from inference.core.cegar.table_question import TableQuestion  # loads z3
    from inference.core.cegar.union_question import UnionQuestion  # loads z3

    formula = Formula(shape, seed, limit, pulse)
    if not shape.is_two_level and FactTable.suits(shape):
        table = FactTable(formula)
        return table, TableQuestion(table, pulse)
    lazy = ClosedForm(formula)
    return lazy, UnionQuestion(lazy) if shape.is_two_level else FactQuestion(lazy, pulse)


def open_questions(
    encoding: str,
    shape: Shape,
    observations: Iterable[Observation],
    seed: int,
    limit: int,
    pulse: Callable[[], None],
) -> Questions:
    """The solver's questions in one of the encodings, with observations stated.

    Args:
        encoding: Name of the encoding: `closed-form` or `linear-program`.
        shape: Schemes, µops and ports of the mapping.
        observations: Measurements that the mapping has to explain.
        seed: Seed of the solver.
        limit: Resource units of one call of the solver, 0 for no limit.
        pulse: Called now and then; may raise to end the search.
    """
    if encoding == CLOSED_FORM:
        questions: Questions = BooleanQuestions(shape, seed, limit, pulse)
    else:
        from inference.core.cegar.linear_program import LinearQuestions  # loads z3

        questions = LinearQuestions(shape, seed, limit, pulse)
    for observation in observations:
        questions.add(observation)
    return questions
