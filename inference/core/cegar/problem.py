"""Problems and results of counter-example-guided inference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from inference.core.cegar.settings import CegarSettings
from inference.core.errors import CoreError, InvalidInputError
from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping

MAX_UOPS = 8
"""µops of one scheme: the search has a row for each, and takes exponentially long in the number of rows."""

WASTE = Fraction(3, 10)
"""Share of a measured time that a core may lose by its choice of ports; losses of 28 % were measured."""

PHASES = {
    "seeding": "Measure every scheme alone",
    "deciding": "Find mappings that differ, and measure what decides",
    "alternatives": "List what measuring cannot tell apart",
    "checking": "Measure mixes that were not asked",
}
"""{stage: label}, in order."""


@dataclass(frozen=True)
class CegarProblem:
    """The schemes to characterise, and what is known of them.

    Attributes:
        uops: µops of a scheme where that is not one; with any, the mapping is a three-level one (§4.4).
        widths: Sizes of port sets that are known, of schemes with one µop.
        known: Port sets of some of these, as masks of ports that the result may number otherwise.
        improper: Schemes one of whose µops has the ports of a scheme with one µop ("improper blocking
            instructions", §6.3.4).
        domains: The part of the core that a scheme is for, which the setting `apart` is about.
        in_pairs: Whether all pairs of schemes are measured first, which saves the search the way from few
            ports to many.
    """

    schemes: tuple[str, ...]
    settings: CegarSettings
    uops: Mapping[str, int] = field(default_factory=dict)
    widths: Mapping[str, int] = field(default_factory=dict)
    improper: tuple[str, ...] = ()
    domains: Mapping[str, str] = field(default_factory=dict)
    in_pairs: bool = False
    known: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.schemes:
            raise InvalidInputError("CEGAR needs at least one instruction scheme")
        if len(set(self.schemes)) != len(self.schemes):
            raise InvalidInputError("CEGAR needs different instruction schemes: one is listed twice")
        for field_name, schemes in (
            ("uops", self.uops),
            ("widths", self.widths),
            ("known", self.known),
            ("improper", self.improper),
            ("domains", self.domains),
        ):
            unknown = sorted(set(schemes) - set(self.schemes))
            if unknown:
                raise InvalidInputError(f"{field_name} has {unknown[0]!r}, which is not one of the schemes")
        for scheme, count in self.uops.items():
            if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_UOPS:
                raise InvalidInputError(f"{scheme!r} must have 1 to {MAX_UOPS} µops, not {count!r}")
        for scheme, width in self.widths.items():
            if isinstance(width, bool) or not isinstance(width, int) or width < 1:
                raise InvalidInputError(f"{scheme!r} must have a whole number of ports ≥ 1, not {width!r}")
            if self.count(scheme) > 1:
                raise InvalidInputError(f"{scheme!r} has several µops: no single size of a port set")
        for scheme, mask in self.known.items():
            self._check_known(scheme, mask)
        if self.improper and all(self.count(scheme) > 1 for scheme in self.schemes):
            raise InvalidInputError("an improper scheme shares a µop with one of a single µop: there is none")

    def count(self, scheme: str) -> int:
        return self.uops.get(scheme, 1)

    @property
    def least_ports(self) -> int:
        """The smallest number of ports with room for the known widths and port sets; at least 1."""
        lengths = (mask.bit_length() for mask in self.known.values())
        return max([1, *self.widths.values(), *lengths])

    def _check_known(self, scheme: str, mask: int) -> None:
        max_ports = self.settings.ports or self.settings.most_ports
        if isinstance(mask, bool) or not isinstance(mask, int) or not 1 <= mask < 1 << max_ports:
            raise InvalidInputError(f"{scheme!r} must have some of {max_ports} ports, not {mask!r}")
        if self.count(scheme) > 1:
            raise InvalidInputError(f"{scheme!r} has several µops: no single port set")
        if self.widths.get(scheme, mask.bit_count()) != mask.bit_count():
            raise InvalidInputError(f"{scheme!r} has {mask.bit_count()} known ports, not its width")


Apart = tuple[tuple[str, str], ...]
"""Pairs of domains that share no port."""


def assumptions(problem: CegarProblem, apart: Apart) -> tuple[str, ...]:
    """The assumptions of a search, as phrases for a list."""
    several = sum(problem.count(scheme) > 1 for scheme in problem.schemes)
    return (
        *(
            f"µops of {first} and of {second} schemes have ports of their own, where measurements cannot tell"
            for first, second in apart
        ),
        f"the given number of µops for {several} schemes, one µop for every other"
        if several
        else "every scheme has one µop",
        "the given number of ports"
        if problem.settings.ports
        else "the smallest number of ports that explains the measurements best",
        f"a core may lose up to {100 * WASTE} % of its time by its choice of ports",
    )


class AmbiguityReason(StrEnum):
    """Why no admissible experiment tells two port mappings apart."""

    NOISE = "noise"  # the predictions differ by at most 2ε cycles per instruction
    R_MAX = "r_max"  # wherever they differ, the bottleneck outside the ports is slower
    BOTH = "noise and r_max"
    LENGTH = "length"  # it would need more instructions than allowed
    UNEXPLAINED = "unexplained"  # the experiment that would tell contradicts others
    UNMEASURED = "unmeasured"  # what would tell is not in the recorded data, or could not be measured
    SCHEDULER = "scheduler"  # the core's scheduler, simulated under it, explains less
    EQUAL = "equal"  # no experiment at all: equal inverse throughput for everything


REASONS: Mapping[AmbiguityReason, str] = {
    AmbiguityReason.NOISE: "their predictions differ by no more than the noise",
    AmbiguityReason.R_MAX: "the bottleneck outside the ports hides the difference",
    AmbiguityReason.BOTH: "the noise and the bottleneck outside the ports hide the difference",
    AmbiguityReason.LENGTH: "an experiment that tells them apart would be too long",
    AmbiguityReason.UNEXPLAINED: "the experiment that would tell them apart is one that no mapping explains",
    AmbiguityReason.UNMEASURED: "the experiments that would tell them apart have no usable measurement",
    AmbiguityReason.SCHEDULER: "simulated with the core's scheduler, it is further from what was measured",
    AmbiguityReason.EQUAL: "they predict the same for every experiment",
}


@dataclass(frozen=True)
class Alternative:
    """Another port mapping that explains everything measured, its ports named to match the result's.

    Attributes:
        differing: Schemes whose µops are not those of the result.
        hidden: Why measuring cannot decide.
    """

    mapping: PortMapping
    differing: tuple[str, ...]
    hidden: AmbiguityReason


class Determinacy(StrEnum):
    """Whether the result is the only mapping."""

    UNIQUE = "unique"  # up to a renaming of ports
    AMBIGUOUS = "ambiguous"  # the alternatives are listed; no admissible experiment tells them apart
    UNPROVEN = "unproven"  # a limit was reached before that could be said


@dataclass(frozen=True)
class Clash:
    """Measurements that no port mapping explains together, though one does where any of them is left out.

    Attributes:
        experiments: (experiment, measured cycles).
        alone: (scheme, measured cycles) of their schemes, to read the others by.
        dropped: Schemes that were left out because of it.
    """

    experiments: tuple[tuple[Experiment, float], ...]
    ports: int
    alone: tuple[tuple[str, float], ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """A sentence: `add alone 0.25, imul alone 1, 4*add; imul 1.5 cycles: no assignment of 8 ports …`."""
        measurements = [f"{scheme} alone {cycles:.4g}" for scheme, cycles in self.alone]
        measurements += [f"{e} {cycles:.4g}" for e, cycles in self.experiments if not e.is_singleton]
        return f"{', '.join(measurements)} cycles: no assignment of {self.ports} ports gives that"


@dataclass(frozen=True)
class Unexplained:
    """An experiment that a mapping does not explain: measured and predicted cycles."""

    experiment: Experiment
    cycles: float
    predicted: float

    @property
    def excess(self) -> float:
        """Relative deviation from the prediction, 0.1 for 10 % longer; negative where the core is quicker."""
        return self.cycles / self.predicted - 1

    @property
    def is_more_than_waste(self) -> bool:
        """Whether waste cannot explain it: it exceeds `WASTE`, or is quicker than the ports allow."""
        return not 0 <= self.cycles - self.predicted <= WASTE * self.cycles

    def __str__(self) -> str:
        return (
            f"{self.experiment} takes {self.cycles:.4g} cycles, its ports need {self.predicted:.4g} "
            f"({100 * self.excess:+.0f} %)"
        )


class ClashError(CoreError):
    """No port mapping explains the measurements; `clash` is a minimal set of them that contradict."""

    def __init__(self, clash: Clash) -> None:
        self.clash = clash
        super().__init__(clash.text)


@dataclass(frozen=True)
class CegarResult:
    """The port mapping, whether it is unique, and the measurements behind it.

    `assumptions` in words; `limit` says what left the result unproven, `reason` why there are other
    mappings that are not listed. `mixes` were measured after the search, `mixes_unexplained` are those that
    contradict it. `seconds` of the search, and of those in looking for other mappings, take no part in
    comparisons.

    Attributes:
        alternatives: Other mappings that measuring cannot exclude; `more_alternatives` where the list was
            cut off.
        experiments: Everything asked, in that order.
        unexplained: Experiments that the mapping does not explain, the largest excess first: no mapping
            explains them all.
        apart: The pairs of domains among these that share no port.
    """

    mapping: PortMapping
    verdict: Determinacy
    alternatives: tuple[Alternative, ...]
    more_alternatives: bool
    experiments: tuple[Measured, ...]
    clashes: tuple[Clash, ...]
    unexplained: tuple[Unexplained, ...]
    assumptions: tuple[str, ...]
    counter_examples: int
    solver: str
    limit: str = ""
    seconds: float = field(default=0.0, compare=False)
    searching_seconds: float = field(default=0.0, compare=False)
    apart: Apart = ()
    reason: str = ""
    mixes: int = 0
    mixes_unexplained: tuple[Unexplained, ...] = ()

    @property
    def ambiguous_schemes(self) -> tuple[str, ...]:
        """Schemes whose ports differ in some alternative, sorted."""
        return tuple(
            sorted({scheme for alternative in self.alternatives for scheme in alternative.differing})
        )
