"""The evidence for a scheme's µops: witnesses as steps, their conclusions, and consistency checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.core.explain import REASONS, Characterisation, SchemeFate, Witness, WitnessOutcome
from inference.core.explain.regularity import RegularityCheck
from inference.core.judging.claims import ClaimWording
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import Uops, described, ports_in, uops_of
from inference.core.throughput import inverse_throughput
from inference.features.learning.explained.query import regularity_of, usages_in
from inference.models import InstructionScheme, PortMapping
from inference.storage.characterisations import ExplainedMapping, load_characterisation
from inference.storage.judging import grounds_of

MINUS = "\N{MINUS SIGN}"

_CONCLUSIONS = {
    WitnessOutcome.USES: "uses {uops} × {where}",
    WitnessOutcome.EVADES: "all its µops evade {where}",
    WitnessOutcome.UNDECIDED: "undecided: {where} is as wide as the bottleneck, so the time cannot show it",
    WitnessOutcome.ODD: "odd: no whole number of µops",
    WitnessOutcome.UNSTABLE: "unstable: repeated measurements differ by far more than the noise",
    WitnessOutcome.FAILED: "no usable measurement",
}


@dataclass(frozen=True)
class ProofStep:
    """A witness.

    Attributes:
        ports: Names of all ports.
        pk: Its row.
        expected_base: Cycles of the flood alone, copies / |Q|, or more if the bottleneck limits it.
    """

    number: int
    pk: int
    witness: Witness
    ports: Sequence[str]
    expected_base: float

    @property
    def width(self) -> int:
        return self.witness.mask.bit_count()

    @property
    def blocked(self) -> Uops:
        """The blocked port set Q, as a single µop."""
        return ((self.witness.mask, 1),)

    @property
    def where(self) -> str:
        return f"[{','.join(self.ports[port] for port in ports_in(self.witness.mask))}]"

    @property
    def formula(self) -> str:
        """The surplus as text, "(5.53 − 5.02) · 2 = 1.02"; "" without times."""
        witness = self.witness
        if witness.base_cycles is None or witness.cycles is None or witness.surplus is None:
            return ""
        by_time = (witness.cycles - witness.base_cycles) * self.width
        if abs(by_time - witness.surplus) > 0.005:
            return f"{witness.surplus:.2f} by the counters of the ports"
        times = f"({_number(witness.cycles)} {MINUS} {_number(witness.base_cycles)})"
        return f"{times} · {self.width} = {_number(witness.surplus)}"

    @property
    def left(self) -> str:
        """The surplus in µops, "2 µops, 1 of them found on subsets"; "" if it is no whole number."""
        witness = self.witness
        if witness.seen not in (WitnessOutcome.USES, WitnessOutcome.EVADES):
            return ""
        total = witness.below + witness.uops
        text = f"{total} µop{'' if total == 1 else 's'}"
        return f"{text}, {witness.below} of them found on subsets" if witness.below else text

    @property
    def conclusion(self) -> str:
        witness = self.witness
        words = _CONCLUSIONS[witness.seen]
        if witness.seen is WitnessOutcome.EVADES and witness.below:
            words = "nothing new on {where}: all other µops evade"
        elif witness.seen is WitnessOutcome.ODD and witness.uops < 0:
            words = "odd: fewer µops than the {below} found on subsets of {where}"
        return words.format(where=self.where, uops=witness.uops, below=witness.below)


@dataclass(frozen=True)
class Untested:
    """Port sets without a witness. `by` is the step that shows, for a larger set, that no µop is bound to
    them; None if there is none.
    """

    sets: tuple[Uops, ...]
    by: ProofStep | None


@dataclass(frozen=True)
class Proof:
    """The evidence for a scheme's µops in a mapping.

    Attributes:
        value: The verdict, None without one.
        described: The mapping has its µops.
        explains: Predicted cycles of the µops alone.
        runs: (run, steps).
        neighbours: (pk, text) of the previous and the next scheme with a verdict.
        word: The strongest claim about µops with witnesses, None without any.
        conflicts: Differing results of the machine.
    """

    scheme: InstructionScheme
    ports: tuple[str, ...]
    usage: Uops
    described: bool
    value: Characterisation | None
    explains: float | None
    runs: tuple[tuple[int, tuple[ProofStep, ...]], ...]
    checks: tuple[RegularityCheck, ...]
    neighbours: tuple[tuple[int, str] | None, tuple[int, str] | None]
    word: ClaimWording | None
    conflicts: tuple[str, ...]

    @property
    def headline(self) -> str:
        """The µops as text, "2×[0,3]", or why there are none."""
        if self.value is None or self.value.outcome is SchemeFate.CHARACTERISED:
            return described(self.usage, self.ports)
        return f"{self.value.outcome.value}: {self.reason}"

    @property
    def reason(self) -> str:
        """The general reason why it is not characterised; "" if it is."""
        return "" if self.value is None else REASONS.get(self.value.reason, "")

    @property
    def steps(self) -> list[ProofStep]:
        return [step for _, steps in self.runs for step in steps]

    def usage_in(self, run: int) -> Uops:
        """The µops concluded by one run, which may differ from the majority's."""
        if self.value is not None and self.value.outcome is SchemeFate.CHARACTERISED:
            return self.usage
        witnesses = [step.witness for number, steps in self.runs for step in steps if number == run]
        return uops_of((w.mask, w.uops) for w in witnesses if w.seen is WitnessOutcome.USES)


@dataclass(frozen=True)
class RemeasuringRequest:
    """Witnesses to measure again.

    Attributes:
        what: Their description.
        repeats: Measurements per experiment.
    """

    what: str
    experiments: Sequence[Experiment]
    repeats: int


def repeat_request(proof: Proof, witness: int | None = None) -> RemeasuringRequest | None:
    """The request for one witness, by its row id, or for all; None if there is none."""
    steps = [step for step in proof.steps if witness in (None, step.pk)]
    if not steps:
        return None
    subject = "witnesses" if len(steps) > 1 else f"witness on {steps[0].where}"
    return RemeasuringRequest(
        f"{proof.scheme.text[:100]}: {subject} again",
        [experiment for step in steps for experiment in (step.witness.base, step.witness.tested)],
        max(step.witness.samples for step in steps),
    )


def proof_of(row: PortMapping, scheme: InstructionScheme) -> Proof | None:
    """The evidence; None if the mapping neither describes the scheme nor has a verdict on it."""
    verdict = row.characterisations.filter(scheme=scheme).select_related("scheme").first()
    usages = usages_in(row, [scheme.pk])
    if verdict is None and not usages:
        return None
    usage = usages.get(scheme.pk, ())
    ports = tuple(row.ports)
    value = None if verdict is None else load_characterisation(verdict, usage)
    pks = [] if verdict is None else list(verdict.witnesses.order_by("id").values_list("pk", flat=True))
    grounds = grounds_of(row, [scheme.text])
    is_claimed = value is not None and bool(pks) and value.outcome is SchemeFate.CHARACTERISED
    return Proof(
        scheme=scheme,
        ports=ports,
        usage=usage,
        described=bool(usages),
        value=value,
        explains=_alone(row, scheme.text, usage) if usages else None,
        runs=() if value is None else _steps(value.witnesses, pks, ports, row.r_max),
        checks=tuple(regularity_of(row).of(scheme.text)) if usages else (),
        neighbours=(None, None) if verdict is None else _neighbours(row, verdict.pk),
        word=grounds.uops_word(scheme.text) if is_claimed else None,
        conflicts=tuple(grounds.conflict_words(scheme.text)),
    )


def _alone(row: PortMapping, scheme: str, usage: Uops) -> float:
    mapping = Mapping(tuple(row.ports), {scheme: usage}, row.r_max)  # explained mappings have no issue slots
    return inverse_throughput(mapping, Experiment.of([scheme]))


def _steps(
    witnesses: Sequence[Witness], pks: Sequence[int], ports: tuple[str, ...], r_max: float | None
) -> tuple[tuple[int, tuple[ProofStep, ...]], ...]:
    """Steps by run, in the order of the algorithm (§6.1): narrow port sets first."""
    order = sorted(
        zip(witnesses, pks, strict=True),
        key=lambda pair: (pair[0].run, pair[0].mask.bit_count(), pair[0].mask),
    )
    runs: dict[int, list[ProofStep]] = {}
    for witness, pk in order:
        steps = runs.setdefault(witness.run, [])
        base = witness.copies / witness.mask.bit_count()
        if r_max is not None:
            base = max(base, witness.copies / r_max)
        steps.append(ProofStep(len(steps) + 1, pk, witness, ports, base))
    return tuple((run, tuple(steps)) for run, steps in runs.items())


def _neighbours(row: PortMapping, pk: int) -> tuple[tuple[int, str] | None, tuple[int, str] | None]:
    rows = row.characterisations.values_list("scheme_id", "scheme__text")
    return (
        rows.filter(pk__lt=pk).order_by("-pk").first(),
        rows.filter(pk__gt=pk).order_by("pk").first(),
    )


def blocker_uops(explained: ExplainedMapping | None, step: ProofStep) -> Uops:
    """The µops of a step's blocking instruction: the blocking one, and others of an improper instruction."""
    blocking = None if explained is None else explained.blocks(step.witness.mask)
    beside = blocking.beside if blocking is not None and blocking.blocker == step.witness.blocker else ()
    return uops_of([(step.witness.mask, 1), *beside])


def untested(explained: ExplainedMapping | None, steps: Sequence[ProofStep]) -> list[Untested]:
    """The port sets of blocking instructions that no step of a run tests, grouped by the step that covers
    them.
    """
    tested = {step.witness.mask for step in steps}
    masks = {blocking.mask for blocking in explained.classes} - tested - {0} if explained else set()
    masks_by_step: dict[int | None, list[int]] = {}
    for mask in sorted(masks, key=lambda mask: (mask.bit_count(), mask)):
        masks_by_step.setdefault(
            next((k for k, step in enumerate(steps) if _covers(step, mask)), None), []
        ).append(mask)
    return [
        Untested(tuple(((mask, 1),) for mask in covered), None if k is None else steps[k])
        for k, covered in masks_by_step.items()
    ]


def _covers(step: ProofStep, mask: int) -> bool:
    """Whether the step shows that no µop is bound to these ports."""
    witness = step.witness
    return witness.seen is WitnessOutcome.EVADES and not witness.below and mask & ~witness.mask == 0


def _number(cycles: float) -> str:
    """Two decimals, three for small numbers."""
    text = f"{cycles:.2f}" if abs(cycles) >= 0.1 or cycles == 0 else f"{cycles:.3f}"
    return text.replace("-", MINUS)
