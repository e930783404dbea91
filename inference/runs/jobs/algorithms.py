"""The inference algorithms behind one face. A new one is a class here and a line in `ALGORITHMS`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from inference.core.experiment import Measured
from inference.core.mapping import PortMapping
from inference.core.pmevo import PHASES, PMEvoProblem, PMEvoSettings, infer
from inference.core.protocols import Checkpoint, Json, Measurer, Reporter

DEFAULT_PORTS = 8


@dataclass(frozen=True)
class Inferred:
    """A mapping, how many experiments it was learnt from, and what else the algorithm has to say about it.

    `report` is kept with the mapping; `summary` is a line for the run's log.
    """

    mapping: PortMapping
    experiments: int
    report: Json
    summary: str


class Algorithm(Protocol):
    """An inference algorithm as a run needs it; `stages` are the labels of the phases that it tells of."""

    title: str
    stages: tuple[str, ...]

    def settings(self, options: Mapping[str, Any]) -> Json:
        """The complete settings, `ports` among them, from names to values or their text.

        Raises `InvalidInputError`.
        """
        ...

    def infer(
        self,
        schemes: Sequence[str],
        settings: Json,
        held_out: Sequence[Measured],
        measurer: Measurer,
        reporter: Reporter,
        seed: int,
        resume: Checkpoint | None,
    ) -> Inferred:
        """The port mapping of whatever the measurer measures."""
        ...


class PMEvo:
    """Evolution (§5)."""

    title = "PMEvo"
    stages = tuple(PHASES.values())

    def settings(self, options: Mapping[str, Any]) -> Json:
        """As `PMEvoSettings` has them."""
        return PMEvoSettings.parse(options).as_json()

    def infer(
        self,
        schemes: Sequence[str],
        settings: Json,
        held_out: Sequence[Measured],
        measurer: Measurer,
        reporter: Reporter,
        seed: int,
        resume: Checkpoint | None,
    ) -> Inferred:
        """Measure, filter, evolve, climb."""
        problem = PMEvoProblem(tuple(schemes), PMEvoSettings.parse(settings), held_out)
        found = infer(problem, measurer, reporter, seed, resume)
        report: Json = {
            "generations": found.generations,
            "final_error": found.final_error,
            "congruence_classes": [list(members) for members in found.congruence_classes],
        }
        summary = f"mean relative error on the experiments learnt from: {100 * found.final_error:.2f} %"
        return Inferred(found.mapping, found.experiments, report, summary)


ALGORITHMS: dict[str, Algorithm] = {"pmevo": PMEvo()}
