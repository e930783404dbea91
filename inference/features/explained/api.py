"""What a scheme's µops rest on: its witnesses step by step, what they conclude, and measuring them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from inference.core.mapping import ports_in
from inference.core.resources import MAX_RESOURCES, Conversion
from inference.features.explained.proofs import Proof, ProofStep, again_of, proof_of, untested
from inference.features.explained.query import (
    VERDICT_COLUMNS,
    Remeasured,
    VerdictQuery,
    remeasured,
    unfinished,
    usages_in,
    verdicts,
)
from inference.features.inferring.query import front_of
from inference.features.measure.listed import listed_config
from inference.features.runs.api import RunOut
from inference.features.runs.runs_of_kind import started
from inference.models import Characterisation, FrontPoint, InstructionScheme, Machine, PortMapping, Witness
from inference.storage.characterisations import ExplainedMapping
from inference.storage.fronts import pick
from inference.storage.judging import grounds_of
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT
from inference.storage.resource_mappings import convert
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, listed, sorts
from inference.web.api.shapes import (
    Conflicts,
    Input,
    Name,
    Note,
    Ref,
    SchemeText,
    Text,
    Time,
    Uop,
    WordOut,
    ref,
    uops_json,
)  # fmt: skip
from inference.web.validation import Id

router = Router()


class RemeasuredOut(Schema):
    """A witness measured another time. `agrees`: whether it shows what it showed; null without both times."""

    experiment_set: Ref
    at: Time
    base_cycles: float | None = Field(examples=[5.01])
    cycles: float | None = Field(examples=[5.5])
    samples: int = Field(examples=[11])
    seen: str | None = Field(examples=["uses"])
    agrees: bool | None = Field(examples=[True])


class ProofStepOut(Schema):
    """A witness: the flood of some ports alone and with the scheme, and what that shows."""

    witness_id: Id
    blocker: SchemeText
    ports: list[str] = Field(description="Those that are blocked.", examples=[["0", "3"]])
    copies: int = Field(description="Of the blocking scheme.", examples=[10])
    base: str = Field(description="The experiment without the scheme.", examples=["10*imul …"])
    tested: str = Field(examples=["10*imul …; 1*add …"])
    base_cycles: float | None = Field(examples=[5.02])
    expected_base: float = Field(description="By the ports and the bottleneck.", examples=[5.0])
    cycles: float | None = Field(examples=[5.53])
    samples: int = Field(examples=[11])
    surplus: float | None = Field(description="µops that could not evade.", examples=[1.02])
    formula: str = Field(examples=["(5.53 − 5.02) · 2 = 1.02"])
    seen: str = Field(description="uses, evades, undecided, odd, unstable or failed.", examples=["uses"])
    conclusion: str = Field(examples=["uses 1 × [0,3]"])
    again: list[RemeasuredOut]


class UntestedOut(Schema):
    """Sets of ports without a witness; `by`: the one that speaks for them as well, null where none does."""

    sets: list[list[str]] = Field(examples=[[["0"], ["3"]]])
    by: Id | None


class ProofRunOut(Schema):
    """One of the repeated runs of the algorithm."""

    run: int = Field(description="From 1.", examples=[1])
    verdict: str = Field(examples=["1×[0,3]"])
    steps: list[ProofStepOut]
    untested: list[UntestedOut]


class CheckOut(Schema):
    """The scheme beside one that it should resemble."""

    words: str = Field(examples=["as ADD with a memory operand: one more µop on [2,3]"])
    other: SchemeText
    follows: bool = Field(examples=[True])


class FactOut(Schema):
    """An experiment that matters for the verdict, in cycles."""

    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    expected: float | None = Field(examples=[0.5])
    observed: float | None = Field(examples=[0.51])


class ProofOut(Schema):
    """All that is known of a scheme in a mapping. `outcome` is null where nobody judged it."""

    mapping: Ref
    scheme_id: Id
    scheme: SchemeText
    headline: str = Field(examples=["1×[0,3]"])
    outcome: str | None = Field(examples=["characterised"])
    stage: str | None = Field(examples=["blocking"])
    reason: str = Field(examples=[""])
    text: str = Field(description="The reason with its numbers.", examples=[""])
    uops: list[Uop] | None = Field(description="Null where the mapping does not describe it.")
    explains: float | None = Field(description="Cycles that they take alone.", examples=[0.5])
    cycles: float | None = Field(description="Measured alone.", examples=[0.5])
    counted: float | None = Field(description="µops counted.", examples=[1.0])
    doubts: list[str] = Field(examples=[[]])
    word: WordOut | None = Field(description="Of µops with witnesses; null without any.")
    conflicts: Conflicts
    runs: list[ProofRunOut]
    facts: list[FactOut]
    checks: list[CheckOut]
    working: list[Ref] = Field(description="Runs that measure witnesses again.")


class MeasureWitnesses(Input):
    """Where the witnesses are measured again."""

    machine: Id
    witness: Id | None = Field(None, description="One alone; all of them without.", examples=[None])


@router.get("/mappings/{mapping_id}/verdicts/{scheme_id}", response=ProofOut)
def get_proof(request: HttpRequest, mapping_id: Id, scheme_id: Id) -> Any:
    """What a scheme's µops rest on, witness by witness, with what measuring them again gave."""
    row, proof = _found(mapping_id, scheme_id)
    value = proof.value
    witnesses = [step.witness for step in proof.steps]
    known = remeasured(row.isa, witnesses)
    explained = ExplainedMapping.of(row.report)
    told = () if value is None else value.runs
    return {
        "mapping": ref(row),
        "scheme_id": proof.scheme.pk,
        "scheme": proof.scheme.text,
        "headline": proof.headline,
        "outcome": None if value is None else value.outcome.value,
        "stage": None if value is None else value.stage,
        "reason": proof.reason,
        "text": "" if value is None else value.text,
        "uops": uops_json(proof.usage, row.ports) if proof.described else None,
        "explains": proof.explains,
        "cycles": None if value is None else value.cycles,
        "counted": None if value is None else value.counted,
        "doubts": [] if value is None else list(value.doubts),
        "word": None if proof.word is None else proof.word.as_json(),
        "conflicts": list(proof.conflicts),
        "runs": [
            {
                "run": number,
                "verdict": told[number - 1] if number <= len(told) else "",
                "steps": [_step(step, known.get(step.witness, [])) for step in steps],
                "untested": [
                    {
                        "sets": [_ports(uops[0][0], row.ports) for uops in each.sets],
                        "by": None if each.by is None else each.by.pk,
                    }
                    for each in untested(explained, steps)
                ],
            }
            for number, steps in proof.runs
        ],
        "facts": [
            {"experiment": str(fact.experiment), "expected": fact.expected, "observed": fact.observed}
            for fact in (() if value is None else value.facts)
        ],
        "checks": [
            {"words": each.in_words(row.ports), "other": each.other, "follows": each.follows}
            for each in proof.checks
        ],
        "working": [ref(run) for run in unfinished(witnesses)],
    }


@router.post("/mappings/{mapping_id}/verdicts/{scheme_id}/measurements", response={201: RunOut})
def measure_witnesses(request: HttpRequest, mapping_id: Id, scheme_id: Id, data: MeasureWitnesses) -> Any:
    """Measure the witnesses of a scheme again; its page shows what comes of it."""
    row, proof = _found(mapping_id, scheme_id)
    machine = machine_of(row, data.machine)
    wanted = again_of(proof, data.witness)
    if wanted is None:
        raise ProblemError(
            422, "The scheme has no such witness", where="body witness", right="one that its verdict lists"
        )
    config = listed_config(machine.pk, wanted.experiments, wanted.repeats)
    return started(request, "measure", config, f"{wanted.what} on {machine.name}"[:180])


def machine_of(row: PortMapping, machine_id: int) -> Machine:
    """A machine of the mapping's instruction set. Raises `ProblemError` (422)."""
    machine = Machine.objects.filter(pk=machine_id, isa=row.isa_id).first()
    if machine is None:
        raise ProblemError(
            422,
            f"There is no machine {machine_id} for {row.isa.name}",
            where="body machine",
            right="one of the mapping's instruction set",
        )
    return machine


def _found(mapping_id: int, scheme_id: int) -> tuple[PortMapping, Proof]:
    row = get_object_or_404(PortMapping.objects.select_related("isa", "run", "machine"), pk=mapping_id)
    scheme = get_object_or_404(InstructionScheme, pk=scheme_id, isa=row.isa_id)
    proof = proof_of(row, scheme)
    if proof is None:
        raise ProblemError(
            404,
            f"{row.name} says nothing of {scheme.text}",
            where="path scheme_id",
            right="a scheme that it describes or judged",
        )
    return row, proof


def _step(step: ProofStep, again: list[Remeasured]) -> dict[str, Any]:
    witness = step.witness
    copied = ("blocker", "copies", "base_cycles", "cycles", "samples", "surplus")
    return {
        "witness_id": step.pk,
        **{name: getattr(witness, name) for name in copied},
        "ports": _ports(witness.mask, step.ports),
        "base": str(witness.base),
        "tested": str(witness.tested),
        "expected_base": step.expected_base,
        "formula": step.formula,
        "seen": witness.seen.value,
        "conclusion": step.conclusion,
        "again": [
            {
                "experiment_set": ref(each.made),
                **{name: getattr(each, name) for name in ("at", "base_cycles", "cycles", "samples")},
                "seen": None if each.repeated is None else each.repeated.seen.value,
                "agrees": None if each.repeated is None else each.repeated.agrees,
            }
            for each in again
        ],
    }


def _ports(mask: int, ports: Any) -> list[str]:
    return [ports[bit] for bit in ports_in(mask) if bit < len(ports)]


# What an inference concluded beside its mapping: verdicts with witnesses, and the front of a search.


VerdictSort = Annotated[str, sorts(VERDICT_COLUMNS)]


class EvidenceOut(Schema):
    """Two measurements that show whether a scheme can evade a set of ports: the flood alone, and with it."""

    blocker: SchemeText
    copies: int = Field(examples=[8])
    ports: list[str] = Field(examples=[["0", "1"]])
    base_cycles: float | None = Field(examples=[4.0])
    cycles: float | None = Field(examples=[4.5])
    samples: int = Field(examples=[11])
    seen: str = Field(examples=["surplus"])


class VerdictOut(Schema):
    """What explainable inference concluded of a scheme. `uops` is null for one without a usage."""

    scheme_id: Id
    scheme: SchemeText
    outcome: str = Field(examples=["characterised"])
    stage: str = Field(examples=["blocking"])
    reason: str = Field(examples=[""])
    text: str = Field(description="The reason with its numbers.", examples=[""])
    uops: list[Uop] | None
    conflicts: Conflicts
    cycles: float | None = Field(description="Measured alone.", examples=[0.25])
    counted: float | None = Field(description="µops counted.", examples=[1.0])
    doubts: list[Any] = Field(examples=[[]])
    alternatives: list[list[Uop]]
    witnesses: list[EvidenceOut]


class FrontPointOut(Schema):
    """A mapping between the most accurate and the most compact; `mapping` is what it has become, if any."""

    place: int = Field(examples=[0])
    error: float = Field(description="Mean relative error on what was learnt from.", examples=[0.03])
    volume: int = Field(description="µops times ports.", examples=[900])
    kinds: int = Field(description="Different µops.", examples=[14])
    mape: float | None = Field(description="Per cent, on what the run judged by.", examples=[6.3])
    mapping: Ref | None


class NewConversion(Input):
    """How a port mapping becomes a resource mapping."""

    name: str = Field(min_length=1, max_length=NAME_LIMIT, examples=["Zen 3 as resources"])
    note: str = Field("", max_length=NOTE_LIMIT)
    max_resources: int = Field(Conversion.max_resources, ge=1, le=MAX_RESOURCES)


class MadeOut(Schema):
    """What was made, or had been made before."""

    id: Id
    name: Name
    note: Note


@router.get("/mappings/{mapping_id}/verdicts", response=PageOf[VerdictOut])
def list_verdicts(
    request: HttpRequest,
    mapping_id: Id,
    paging: Query[Paging],
    q: Text = "",
    outcome: Text = "",
    stage: Text = "",
    doubtful: bool = False,
    sort: VerdictSort = "row",
) -> Any:
    """What explainable inference concluded of each scheme, with witnesses; nothing for other mappings."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=mapping_id)
    rows = verdicts(row, VerdictQuery(outcome=outcome, stage=stage, q=q, doubtful=doubtful))
    return listed(rows, VERDICT_COLUMNS, sort, paging, lambda found: _verdicts(row, found))


@router.get("/mappings/{mapping_id}/front", response=list[FrontPointOut])
def get_front(request: HttpRequest, mapping_id: Id) -> Any:
    """The front that the mapping was found with or picked from, most accurate first; there may be none."""
    found = front_of(get_object_or_404(PortMapping, pk=mapping_id))
    points: Sequence[FrontPoint] = () if found is None else found.points
    return [
        {
            **{name: getattr(point, name) for name in ("place", "error", "volume", "kinds", "mape")},
            "mapping": ref(point.picked),
        }
        for point in points
    ]


@router.post("/mappings/{mapping_id}/front/{place}/pick", response={200: MadeOut, 201: MadeOut})
def pick_point(request: HttpRequest, mapping_id: Id, place: Id) -> Any:
    """Make a point of the front a mapping of its own; a point has one mapping, however often it is picked."""
    found = front_of(get_object_or_404(PortMapping, pk=mapping_id))
    rows = FrontPoint.objects.filter(mapping=None if found is None else found.owner).select_related(
        "mapping__isa"
    )
    point = rows.filter(place=place).first()
    if point is None:
        raise ProblemError(
            404, "The front has no such place", where="path place", right="one that the front lists"
        )
    made, fresh = pick(point)
    return Status(201 if fresh else 200, {"id": made.pk, "name": made.name, "note": made.note})


@router.post("/mappings/{mapping_id}/conversions", response={201: MadeOut})
def convert_mapping(request: HttpRequest, mapping_id: Id, data: NewConversion) -> Any:
    """Make a resource mapping that predicts the same."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=mapping_id)
    made = convert(row, data.name.strip(), Conversion(data.max_resources), data.note)
    return Status(201, {"id": made.pk, "name": made.name, "note": made.note})


def _verdicts(row: PortMapping, found: Sequence[Characterisation]) -> list[dict[str, Any]]:
    usage = usages_in(row, [each.scheme_id for each in found])
    grounds = grounds_of(row, [each.scheme.text for each in found])
    shown: dict[int, list[Witness]] = {each.pk: [] for each in found}
    for witness in (
        Witness.objects.filter(characterisation__in=list(shown)).select_related("blocker").order_by("id")
    ):
        shown[witness.characterisation_id].append(witness)
    copied = ("outcome", "stage", "reason", "text", "cycles", "counted", "doubts")
    return [
        {
            "scheme_id": each.scheme_id,
            "scheme": each.scheme.text,
            **{name: getattr(each, name) for name in copied},
            "uops": uops_json(usage[each.scheme_id], row.ports) if each.scheme_id in usage else None,
            "conflicts": grounds.conflict_words(each.scheme.text),
            "alternatives": [uops_json(uops, row.ports) for uops in each.alternatives],
            "witnesses": [_witness(witness, row.ports) for witness in shown[each.pk]],
        }
        for each in found
    ]


def _witness(witness: Witness, ports: Sequence[str]) -> dict[str, Any]:
    return {
        "blocker": witness.blocker.text,
        "ports": [ports[bit] for bit in ports_in(witness.mask)],
        **{name: getattr(witness, name) for name in ("copies", "base_cycles", "cycles", "samples", "seen")},
    }
