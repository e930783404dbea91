"""Problems and results of PMEvo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inference.core.errors import InvalidInputError
from inference.core.experiment import Measured
from inference.core.mapping import PortMapping
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.waste import Simulated, WasteSource


@dataclass(frozen=True)
class PMEvoProblem:
    """The schemes to characterise, and what is known of them.

    Attributes:
        held_out: Results for heat maps on the way, which the search does not learn from.
        forms: {scheme with memory: (the one with a register in its place, access)}, access being r, w or
            rw.
        domains: {scheme: the part of the core that all its µops are for}, such as integer, vector or
            memory.
        core: What is known of the core beside its ports, None for nothing.
    """

    schemes: tuple[str, ...]
    settings: PMEvoSettings
    held_out: Sequence[Measured] = field(default=())
    forms: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    domains: Mapping[str, str] = field(default_factory=dict)
    core: WasteSource | None = None

    def __post_init__(self) -> None:
        if not self.schemes:
            raise InvalidInputError("PMEvo needs at least one instruction scheme")
        if len(set(self.schemes)) != len(self.schemes):
            raise InvalidInputError("PMEvo needs different instruction schemes: one is listed twice")

    @property
    def apart(self) -> Mapping[str, str]:
        """{scheme: domain} where the search keeps domains on separate ports, else empty."""
        return self.domains if self.settings.apart and _prefers(self.settings) else {}

    @property
    def width(self) -> float | None:
        """Issue slots per cycle from the settings or the core; None where unknown.

        The highest rate in the data is below it where a scheduler wastes time.
        """
        measured = None if self.core is None else self.core.width
        return self.settings.issue_width or (None if measured is None else float(measured))

    @property
    def asks_for_ceiling(self) -> bool:
        """Whether to infer R_max from the data."""
        settings = self.settings
        is_limited = settings.r_max is not None or (settings.issue_width is None and self.width is not None)
        return settings.ceiling == "data" and not is_limited


EXCESS = 0.05
"""Share by which a measurement exceeds its prediction to count as unexplained."""


@dataclass(frozen=True)
class FrontPoint:
    """A mapping of the Pareto front of D_avg, µop volume and number of µop kinds.

    `error`: D_avg (a fraction) on the experiments learnt from; the other two are those of `mapping`.
    """

    error: float
    volume: int
    kinds: int
    mapping: PortMapping


@dataclass(frozen=True)
class PMEvoResult:
    """The fittest port mapping, with statistics of the search.

    `simulated` tells what a scheduler makes of the mapping, None where none explains more;
    `scheduled_error` and `unscheduled_error` are mean relative errors with it and without, on experiments
    that it was not chosen by.

    Attributes:
        congruence_classes: Classes of schemes that share a port usage, the representative first.
        final_error: D_avg (a fraction) on the experiments learnt from.
        experiments: How many had a usable measurement.
        front: What can be had for more or fewer µop kinds, most accurate first; `mapping` is one of them,
            and it is empty where nothing but the evolution ran.
        exhaustive: How many experiments the paper's plan would have measured; None for recorded data.
        excess: How many of those learnt from take `EXCESS` longer than the mapping says.
    """

    mapping: PortMapping
    congruence_classes: tuple[tuple[str, ...], ...]
    generations: int
    final_error: float
    experiments: int
    front: tuple[FrontPoint, ...] = ()
    exhaustive: int | None = None
    excess: int = 0
    simulated: Simulated | None = None
    scheduled_error: float | None = None
    unscheduled_error: float | None = None


def assumptions(settings: PMEvoSettings) -> tuple[str, ...]:
    """Assumptions of a search where measurements cannot decide, as phrases for a list."""
    if not _prefers(settings):
        return ()
    return (
        "fewer µops and slots: each must explain something in several experiments",
        "of two kinds of µops that explain as much, the one that more schemes have",
        "no µops that can use as many ports as the core issues slots: measurements cannot show them",
        *(
            ["integer schemes, vector schemes and loads have ports of their own, where that explains as much"]
            if settings.apart
            else []
        ),
        *(
            ["no second µop that stands for what a scheduler wastes: it may spread µops evenly over ports"]
            if settings.forgive_waste
            else []
        ),
        *(
            ["of a scheme with memory, the µops of its register form and those of a load or store"]
            if settings.regular_forms
            else []
        ),
    )


def _prefers(settings: PMEvoSettings) -> bool:
    """Whether a search prefers likely µops where measurements cannot decide; the paper's does not."""
    return settings.search != "evolution" and settings.objective == "bounded"
