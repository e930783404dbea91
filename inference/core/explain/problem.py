"""Problems and results of explainable inference (thesis ch. 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.explain.blocking_question import BlockingAnswer
from inference.core.explain.settings import ExplainSettings
from inference.core.mapping import PortMapping, Uops
from inference.core.waste import Simulated, WasteSource, known_simulator

STAGES = {
    "alone": "Measure every scheme alone",
    "candidates": "Find schemes of a single µop",
    "classes": "Find those that share their ports",
    "bottleneck": "Find the bottleneck rate",
    "blocking": "Find the ports of the blocking instructions",
    "remaining": "Block ports, and see which µops cannot evade",
}
"""{stage: label}, in order. Each scheme is excluded in one of them, or characterised in the last."""


@dataclass(frozen=True)
class ExplainProblem:
    """The schemes to characterise, and what is known of them.

    Attributes:
        uops: Numbers of µops, from a table.
        improper: Schemes to block with a µop that no scheme has alone, beside those found.
        preferred: Schemes to represent their class, the best first.
        hint: The documented ports of some schemes, by name, which decides between mappings of the blocking
            instructions that no experiment tells apart (§6.3.4) and names the ports.
        domains: The part of the core that a scheme is for.
        core: What is known of the core beside its ports. Where that is its scheduler, what it may waste is
            simulated; without, blocking instructions show it.
    """

    schemes: tuple[str, ...]
    settings: ExplainSettings
    uops: Mapping[str, int] = field(default_factory=dict)
    improper: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    hint: PortMapping | None = None
    domains: Mapping[str, str] = field(default_factory=dict)
    core: WasteSource | None = None

    def __post_init__(self) -> None:
        if not self.schemes:
            raise InvalidInputError("explainable inference needs at least one instruction scheme")
        if len(set(self.schemes)) != len(self.schemes):
            raise InvalidInputError("explainable inference needs different schemes: one is listed twice")
        for scheme, count in self.uops.items():
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise InvalidInputError(f"{scheme!r} must have a whole number of µops ≥ 0, not {count!r}")

    @cached_property
    def simulated(self) -> Simulated | None:
        """A simulator of the core's scheduler; None where that is not known."""
        return None if self.core is None else known_simulator(self.core)


class SchemeFate(StrEnum):
    """The outcome for a scheme; every scheme of a problem has exactly one."""

    CHARACTERISED = "characterised"
    AMBIGUOUS = "ambiguous"  # runs disagree, or the evidence allows several usages
    EXCLUDED = "excluded"


class NotCharacterised(StrEnum):
    """Why a scheme was not characterised, as stored; `REASONS` has the sentences."""

    NONE = ""
    UNMEASURED = "unmeasured"
    UNSTABLE = "unstable"
    NO_PORTS = "no ports"
    SLOW = "slower than ports explain"
    FAST = "faster than its ports allow"
    COUNT = "counter makes no sense"
    CONTRADICTORY = "contradictory equivalence"
    CLASH = "no assignment of ports"
    NOT_INTEGER = "not a whole number of µops"
    NEGATIVE = "fewer µops than found on subsets"
    MORE_UOPS = "more µops than counted"
    MICROCODE = "microcode"
    MISSING = "µops on unblocked ports"
    TOO_SLOW = "too slow to test"
    DISAGREEMENT = "runs disagree"
    NOT_REACHED = "not reached"


REASONS: Mapping[NotCharacterised, str] = {
    NotCharacterised.UNMEASURED: "no usable measurement of it",
    NotCharacterised.UNSTABLE: (
        "repeated measurements of the same experiment differ by far more than the noise"
    ),
    NotCharacterised.NO_PORTS: "runs at the bottleneck's rate whatever is blocked: it uses no port",
    NotCharacterised.SLOW: "takes longer than its µops and their ports explain",
    NotCharacterised.FAST: "takes less time than its µops need on their ports",
    NotCharacterised.COUNT: "the µop counter does not show a whole number",
    NotCharacterised.CONTRADICTORY: "shares its ports with schemes whose ports differ",
    NotCharacterised.CLASH: "no assignment of ports explains its measurements together with others",
    NotCharacterised.NOT_INTEGER: "blocking costs it a time that is no whole number of µops",
    NotCharacterised.NEGATIVE: "fewer µops on a port set than on subsets of it",
    NotCharacterised.MORE_UOPS: "more µops were found than the processor counts",
    NotCharacterised.MICROCODE: (
        "delays every port alike, as the microcode sequencer does: its µops cannot be seen"
    ),
    NotCharacterised.MISSING: "some of its µops use ports that no blocking instruction blocks",
    NotCharacterised.TOO_SLOW: "takes so long alone that what blocking adds would be lost in it",
    NotCharacterised.DISAGREEMENT: "repeated tests disagree",
    NotCharacterised.NOT_REACHED: "the run was stopped before its turn",
}
"""In words, to be read after the scheme."""


class WitnessOutcome(StrEnum):
    """What a witness shows of the scheme's µops that are confined to the blocked ports."""

    USES = "uses"  # some are
    EVADES = "evades"  # none is
    UNDECIDED = "undecided"  # the blocked set is as wide as the bottleneck, which hides delays (§6.2.3)
    ODD = "odd"  # not a whole number, or fewer than none
    UNSTABLE = "unstable"  # the samples differ by far more than the noise
    FAILED = "failed"  # no usable measurement


@dataclass(frozen=True)
class Witness:
    """Two experiments that show whether a scheme has µops that cannot evade a port set (§6.2.2).

    Evading one shows that nothing is bound to its subsets either, which may then have no witness.

    `blocker` floods the ports `mask` of the result with `copies` instances of itself: alone (`base`) in
    `base_cycles`, with the scheme (`tested`) in `cycles`, both medians of `samples`. `surplus` is the
    difference in µops, `below` those of it that were found on subsets of the ports, `uops` what remains,
    a whole number where `seen` is `USES` or `EVADES`. `tolerance`: how far from a whole number it may be.
    """

    blocker: str
    mask: int
    copies: int
    base: Experiment
    base_cycles: float | None
    tested: Experiment
    cycles: float | None
    samples: int
    surplus: float | None
    below: int
    uops: int
    tolerance: float
    seen: WitnessOutcome
    run: int = 1

    @property
    def expected_cycles(self) -> float | None:
        """Cycles that the concluded whole numbers of µops predict; None without a measured base."""
        if self.base_cycles is None:
            return None
        return self.base_cycles + (self.below + self.uops) / self.mask.bit_count()


@dataclass(frozen=True)
class VerdictFact:
    """An experiment behind a verdict, with expected and observed cycles; None where unknown."""

    experiment: Experiment
    expected: float | None
    observed: float | None


@dataclass(frozen=True)
class Characterisation:
    """One scheme's verdict. `text` is the reason with its numbers; `facts` are the experiments behind it.

    `stage` is where it was decided. `usage` is () unless characterised (or no port is used). `doubts` are
    reservations, as sentences. `alternatives`: other usages that the evidence leaves open. `cycles` alone,
    `counted` µops by counter or table, None where there was neither.
    """

    scheme: str
    outcome: SchemeFate
    stage: str
    reason: NotCharacterised = NotCharacterised.NONE
    text: str = ""
    usage: Uops = ()
    cycles: float | None = None
    counted: float | None = None
    facts: tuple[VerdictFact, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    doubts: tuple[str, ...] = ()
    alternatives: tuple[Uops, ...] = ()
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class BlockingClass:
    """Schemes with a single µop on the same ports, and the one that blocks them for all others.

    `mask` in the result, 0 where its ports were not found. `members` include the blocker.

    Attributes:
        width: Size of the port set by throughput.
        improper: The blocker has another µop beside (`beside`).
    """

    blocker: str
    width: int
    mask: int
    members: tuple[str, ...]
    improper: bool = False
    beside: Uops = ()

    @property
    def masks(self) -> tuple[int, ...]:
        return self.mask, *(mask for mask, _ in self.beside)


@dataclass(frozen=True)
class ExplainResult:
    """The mapping of all characterised schemes, with the verdicts and witnesses behind it.

    `warnings` concern the whole result.

    Attributes:
        characterisations: One per scheme asked for, sorted.
        blocking_answer: What the counter-example-guided search said of the blocking instructions.
        experiments: Distinct ones.
        measurements: Samples of them. Seconds take no part in comparisons.
    """

    mapping: PortMapping
    characterisations: tuple[Characterisation, ...]
    classes: tuple[BlockingClass, ...]
    blocking_answer: BlockingAnswer | None
    r_max: float | None
    noise: float
    counts_from: str
    warnings: tuple[str, ...]
    experiments: int
    measurements: int
    per_scheme: float
    seconds: float = field(default=0.0, compare=False)

    @property
    def outcomes(self) -> Counter[SchemeFate]:
        """Number of schemes of each outcome; the sum is the number of schemes in the problem."""
        return Counter(characterisation.outcome for characterisation in self.characterisations)
