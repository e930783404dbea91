"""The interfaces of encodings of Algorithm 4.1's two questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from inference.core.cegar.shape import Candidate, Observation
from inference.core.experiment import Experiment

if TYPE_CHECKING:
    from inference.core.cegar.formula import Formula, Literal

SecondCandidate = tuple[Candidate, Experiment | None]
"""A second mapping, and an experiment that distinguishes it from the first, None where it is not known."""


class Questions(Protocol):
    """findMapping and findOtherMapping of Algorithm 4.1."""

    def add(self, observation: Observation) -> None:
        """Require that every later answer explains this measurement."""
        ...

    aside_limit: int
    """Candidates in a row that may be set aside as indistinguishable before `find_second` is asked."""

    def find_candidate(self) -> Candidate | None:
        """Some mapping that explains the observations and was not excluded; None for none."""
        ...

    def find_second(self, first: Candidate) -> SecondCandidate | None:
        """A mapping that an experiment of some length distinguishes from the first; None for none.

        Excluded candidates are not among the answers.
        """
        ...

    def exclude(self, candidate: Candidate) -> None: ...

    def close(self) -> None: ...


class Encoding(Protocol):
    """A solver for matrices that explain the observations added."""

    formula: Formula

    def add(self, observation: Observation) -> None: ...

    def exclude(self, candidate: Candidate) -> None: ...

    def find(self, *assumptions: Literal) -> Candidate | None:
        """A matrix that explains all observations under the assumptions; None for none."""
        ...

    def close(self) -> None: ...
