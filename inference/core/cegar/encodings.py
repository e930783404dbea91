"""What the search needs of an encoding of Algorithm 4.1's two questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from inference.core.cegar.shape import Candidate, Observation
from inference.core.experiment import Experiment

if TYPE_CHECKING:
    from inference.core.cegar.formula import Formula, Literal

Found = tuple[Candidate, Experiment | None]
"""A second mapping, perhaps with an experiment that tells it from the first."""


class Questions(Protocol):
    """findMapping and findOtherMapping of Algorithm 4.1."""

    def add(self, observation: Observation) -> None:
        """Every later answer explains this measurement too."""
        ...

    patience: int
    """How many candidates in a row that nothing tells from the first are worth setting aside unproven."""

    def another(self) -> Candidate | None:
        """Any mapping that explains the observations and was not excluded, None where there is none."""
        ...

    def other(self, first: Candidate) -> Found | None:
        """A second one that some experiment of any length tells from the first, perhaps with one that does.

        None: there is none. Neither answer is an excluded candidate.
        """
        ...

    def exclude(self, candidate: Candidate) -> None:
        """Do not answer with this one again."""
        ...

    def close(self) -> None:
        """Let go of the solver."""
        ...


class Encoding(Protocol):
    """Which matrices explain the observations added."""

    formula: Formula

    def add(self, observation: Observation) -> None: ...

    def exclude(self, candidate: Candidate) -> None: ...

    def find(self, *assumptions: Literal) -> Candidate | None:
        """A matrix that explains everything added, None where there is none under the assumptions."""
        ...

    def close(self) -> None: ...
