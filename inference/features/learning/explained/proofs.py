"""The proof of one scheme's µops: its witnesses as steps, what they conclude, and what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.core.explain import REASONS, Characterisation, SchemeFate, Seen, Witness
from inference.core.explain.regularity import RegularityCheck
from inference.core.judging.words import AllowedWord
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import Uops, described, ports_in, uops_of
from inference.core.throughput import inverse_throughput
from inference.features.learning.explained.query import regularity_of, usages_in
from inference.models import InstructionScheme, PortMapping
from inference.storage.characterisations import ExplainedMapping, load_characterisation
from inference.storage.judging import grounds_of

MINUS = "\N{MINUS SIGN}"

_CONCLUSIONS = {
    Seen.USES: "uses {uops} × {where}",
    Seen.EVADES: "all its µops evade {where}",
    Seen.UNDECIDED: "undecided: {where} is as wide as the bottleneck, so nothing can be seen",
    Seen.ODD: "odd: no whole number of µops",
    Seen.UNSTABLE: "unstable: repeated measurements differ by far more than the noise",
    Seen.FAILED: "no usable measurement",
}


@dataclass(frozen=True)
class ProofStep:
    """One witness of a proof. `ports`: names of all ports; `pk`: its row; `expected_base`: copies / |Q|,
    unless the bottleneck lets through less.
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
        """The port set Q as a single µop's."""
        return ((self.witness.mask, 1),)

    @property
    def where(self) -> str:
        return f"[{','.join(self.ports[port] for port in ports_in(self.witness.mask))}]"

    @property
    def formula(self) -> str:
        """`(5.53 − 5.02) · 2 = 1.02`, "" without times."""
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
        """The formula's number as µops, `2 µops, 1 of them found on subsets`; "" where it is none."""
        witness = self.witness
        if witness.seen not in (Seen.USES, Seen.EVADES):
            return ""
        total = witness.below + witness.uops
        told = f"{total} µop{'' if total == 1 else 's'}"
        return f"{told}, {witness.below} of them found on subsets" if witness.below else told

    @property
    def conclusion(self) -> str:
        witness = self.witness
        words = _CONCLUSIONS[witness.seen]
        if witness.seen is Seen.EVADES and witness.below:
            words = "nothing new on {where}: all other µops evade"
        elif witness.seen is Seen.ODD and witness.uops < 0:
            words = "odd: fewer µops than the {below} found on subsets of {where}"
        return words.format(where=self.where, uops=witness.uops, below=witness.below)


@dataclass(frozen=True)
class Untested:
    """Blocked port sets without a witness: `by` is the step that shows for a larger set that nothing is bound
    to them either, None where nobody looked.
    """

    sets: tuple[Uops, ...]
    by: ProofStep | None


@dataclass(frozen=True)
class Proof:
    """All that is known of a scheme in a mapping. `value` is None where nobody judged it.

    `described`: the mapping has its µops. `explains`: cycles that they take alone. `steps` by run.
    `neighbours`: the (pk, text) of the schemes judged before and after it. `word`: what may be said of µops
    with witnesses; None without any. `conflicts`: what other results of the machine say instead.
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
    word: AllowedWord | None
    conflicts: tuple[str, ...]

    @property
    def headline(self) -> str:
        """`2×[0,3]`, or why there are none."""
        if self.value is None or self.value.outcome is SchemeFate.CHARACTERISED:
            return described(self.usage, self.ports)
        return f"{self.value.outcome.value}: {self.reason}"

    @property
    def reason(self) -> str:
        """Why it is not characterised, in the words that hold for all."""
        return "" if self.value is None else REASONS.get(self.value.reason, "")

    @property
    def steps(self) -> list[ProofStep]:
        return [step for _, steps in self.runs for step in steps]

    def usage_in(self, run: int) -> Uops:
        """The µops that a run found, which need not be what a majority of runs found."""
        if self.value is not None and self.value.outcome is SchemeFate.CHARACTERISED:
            return self.usage
        found = [step.witness for number, steps in self.runs for step in steps if number == run]
        return uops_of((each.mask, each.uops) for each in found if each.seen is Seen.USES)


@dataclass(frozen=True)
class Again:
    """Witnesses to be measured again: `what` they are, their experiments, and how often each is measured."""

    what: str
    experiments: Sequence[Experiment]
    repeats: int


def again_of(proof: Proof, witness: int | None = None) -> Again | None:
    """Of one witness, by the number of its row, or of all; None where there is none."""
    steps = [step for step in proof.steps if witness in (None, step.pk)]
    if not steps:
        return None
    what = "witnesses" if len(steps) > 1 else f"witness on {steps[0].where}"
    return Again(
        f"{proof.scheme.text[:100]}: {what} again",
        [each for step in steps for each in (step.witness.base, step.witness.tested)],
        max(step.witness.samples for step in steps),
    )


def proof_of(row: PortMapping, scheme: InstructionScheme) -> Proof | None:
    """The proof; None where the mapping neither describes the scheme nor was asked about it."""
    found = row.characterisations.filter(scheme=scheme).select_related("scheme").first()
    usages = usages_in(row, [scheme.pk])
    if found is None and not usages:
        return None
    usage = usages.get(scheme.pk, ())
    ports = tuple(row.ports)
    value = None if found is None else load_characterisation(found, usage)
    pks = [] if found is None else list(found.witnesses.order_by("id").values_list("pk", flat=True))
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
        neighbours=(None, None) if found is None else _neighbours(row, found.pk),
        word=grounds.uops_word(scheme.text) if is_claimed else None,
        conflicts=tuple(grounds.conflict_words(scheme.text)),
    )


def _alone(row: PortMapping, scheme: str, usage: Uops) -> float:
    mapping = Mapping(tuple(row.ports), {scheme: usage}, row.r_max)  # explained mappings know no slots
    return inverse_throughput(mapping, Experiment.of([scheme]))


def _steps(
    witnesses: Sequence[Witness], pks: Sequence[int], ports: tuple[str, ...], r_max: float | None
) -> tuple[tuple[int, tuple[ProofStep, ...]], ...]:
    """By run, in the order in which the algorithm of §6.1 goes: narrow port sets first."""
    order = sorted(
        zip(witnesses, pks, strict=True),
        key=lambda each: (each[0].run, each[0].mask.bit_count(), each[0].mask),
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
    """The µops of a step's blocking instruction: the one that blocks, and others where it is improper."""
    known = None if explained is None else explained.blocks(step.witness.mask)
    beside = known.beside if known is not None and known.blocker == step.witness.blocker else ()
    return uops_of([(step.witness.mask, 1), *beside])


def untested(explained: ExplainedMapping | None, steps: Sequence[ProofStep]) -> list[Untested]:
    """The port sets that no step of a run blocks, though others could; by the step that covers them."""
    tested = {step.witness.mask for step in steps}
    masks = {each.mask for each in explained.classes} - tested - {0} if explained else set()
    found: dict[int | None, list[int]] = {}
    for mask in sorted(masks, key=lambda mask: (mask.bit_count(), mask)):
        found.setdefault(next((k for k, step in enumerate(steps) if _covers(step, mask)), None), []).append(
            mask
        )
    return [
        Untested(tuple(((mask, 1),) for mask in covered), None if k is None else steps[k])
        for k, covered in found.items()
    ]


def _covers(step: ProofStep, mask: int) -> bool:
    """Whether the step shows that no µop is bound to these ports."""
    witness = step.witness
    return witness.seen is Seen.EVADES and not witness.below and mask & ~witness.mask == 0


def _number(cycles: float) -> str:
    """Two decimals, more where they matter."""
    shown = f"{cycles:.2f}" if abs(cycles) >= 0.1 or cycles == 0 else f"{cycles:.3f}"
    return shown.replace("-", MINUS)
