"""API of the evidence for a scheme's µops: witnesses, conclusions, and measuring witnesses again."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from inference.core.mapping import ports_in
from inference.features.learning.explained.proofs import Proof, ProofStep, proof_of, repeat_request, untested
from inference.features.learning.explained.remeasuring import Remeasured, machine_of, repeats_of, unfinished
from inference.features.machines.measure.request import listed_config
from inference.features.running.runs.runs_of_kind import start_response
from inference.models import InstructionScheme, PortMapping
from inference.storage.characterisations import ExplainedMapping
from inference.storage.names import processor_name, result_name
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import (
    Conflicts,
    Input,
    Ref,
    RowOut,
    RunOut,
    SchemeText,
    Time,
    Uop,
    WordOut,
    fields_of,
    uops_json,
)
from inference.web.validation import Id

router = Router()


class RemeasuredOut(RowOut):
    """A witness measured again. `agrees`: whether the outcome is the same; null if a time is missing."""

    experiment_set: Ref
    at: Time
    base_cycles: float | None = Field(examples=[5.01])
    cycles: float | None = Field(examples=[5.5])
    samples: int = Field(examples=[11])
    seen: str | None = Field(examples=["uses"])
    agrees: bool | None = Field(examples=[True])


class ProofStepOut(Schema):
    """A witness: flooded ports without and with the scheme, and the conclusion."""

    witness_id: Id
    blocker: SchemeText
    ports: list[str] = Field(description="The blocked ports.", examples=[["0", "3"]])
    copies: int = Field(description="Number of copies of the blocking scheme.", examples=[10])
    base: str = Field(description="The experiment without the scheme.", examples=["10*imul …"])
    tested: str = Field(examples=["10*imul …; 1*add …"])
    base_cycles: float | None = Field(examples=[5.02])
    expected_base: float = Field(
        description="Cycles predicted from the ports and the bottleneck.", examples=[5.0]
    )
    cycles: float | None = Field(examples=[5.53])
    samples: int = Field(examples=[11])
    surplus: float | None = Field(description="Number of µops bound to the blocked ports.", examples=[1.02])
    formula: str = Field(examples=["(5.53 − 5.02) · 2 = 1.02"])
    seen: str = Field(description="uses, evades, undecided, odd, unstable or failed.", examples=["uses"])
    conclusion: str = Field(examples=["uses 1 × [0,3]"])
    again: list[RemeasuredOut]


class UntestedOut(Schema):
    """Sets of ports without a witness; `by`: a witness whose conclusion covers them, null without one."""

    sets: list[list[str]] = Field(examples=[[["0"], ["3"]]])
    by: Id | None


class ProofRunOut(Schema):
    """A repetition of the algorithm."""

    run: int = Field(description="From 1.", examples=[1])
    verdict: str = Field(examples=["1×[0,3]"])
    steps: list[ProofStepOut]
    untested: list[UntestedOut]


class CheckOut(Schema):
    """A comparison of the scheme with one that it should resemble."""

    words: str = Field(examples=["as ADD with a memory operand: one more µop on [2,3]"])
    other: SchemeText
    follows: bool = Field(examples=[True])


class FactOut(Schema):
    """An experiment behind the verdict, in cycles."""

    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    expected: float | None = Field(examples=[0.5])
    observed: float | None = Field(examples=[0.51])


class ProofOut(Schema):
    """The evidence for a scheme's µops in a mapping. `outcome` is null without a verdict."""

    mapping: Ref
    scheme_id: Id
    scheme: SchemeText
    headline: str = Field(examples=["1×[0,3]"])
    outcome: str | None = Field(examples=["characterised"])
    stage: str | None = Field(examples=["blocking"])
    reason: str = Field(examples=[""])
    text: str = Field(description="The reason with its numbers.", examples=[""])
    uops: list[Uop] | None = Field(description="null if the mapping does not describe the scheme.")
    explains: float | None = Field(description="Predicted cycles of the µops alone.", examples=[0.5])
    cycles: float | None = Field(description="Measured alone.", examples=[0.5])
    counted: float | None = Field(description="µops counted.", examples=[1.0])
    doubts: list[str] = Field(examples=[[]])
    word: WordOut | None = Field(description="Strongest claim that witnesses allow; null without any.")
    conflicts: Conflicts
    runs: list[ProofRunOut]
    facts: list[FactOut]
    checks: list[CheckOut]
    working: list[Ref] = Field(description="Unfinished runs that measure witnesses again.")


class MeasureWitnesses(Input):
    """A request to measure witnesses again."""

    machine: Id
    witness: Id | None = Field(None, description="Number of a witness; null for all.", examples=[None])


@router.get("/mappings/{mapping_id}/verdicts/{scheme_id}", response=ProofOut)
def get_proof(request: HttpRequest, mapping_id: Id, scheme_id: Id) -> Any:
    """The evidence for a scheme's µops: its witnesses, with repeated measurements."""
    row, proof = _proof_or_404(mapping_id, scheme_id)
    value = proof.value
    witnesses = [step.witness for step in proof.steps]
    repetitions = repeats_of(row.isa, witnesses)
    explained = ExplainedMapping.of(row.report)
    conclusions = () if value is None else value.runs
    return {
        **{name: getattr(proof, name) for name in ("headline", "reason", "explains", "conflicts")},
        "mapping": row,
        "scheme_id": proof.scheme.pk,
        "scheme": proof.scheme.text,
        "outcome": None if value is None else value.outcome.value,
        "stage": None if value is None else value.stage,
        "text": "" if value is None else value.text,
        "uops": uops_json(proof.usage, row.ports) if proof.described else None,
        "cycles": None if value is None else value.cycles,
        "counted": None if value is None else value.counted,
        "doubts": () if value is None else value.doubts,
        "word": None if proof.word is None else proof.word.as_json(),
        "runs": [
            {
                "run": number,
                "verdict": conclusions[number - 1] if number <= len(conclusions) else "",
                "steps": [_step(step, repetitions.get(step.witness, [])) for step in steps],
                "untested": [
                    {
                        "sets": [_ports(uops[0][0], row.ports) for uops in group.sets],
                        "by": None if group.by is None else group.by.pk,
                    }
                    for group in untested(explained, steps)
                ],
            }
            for number, steps in proof.runs
        ],
        "facts": [
            fields_of(fact, FactOut, experiment=str(fact.experiment))
            for fact in (() if value is None else value.facts)
        ],
        "checks": [fields_of(check, CheckOut, words=check.in_words(row.ports)) for check in proof.checks],
        "working": unfinished(witnesses),
    }


@router.post("/mappings/{mapping_id}/verdicts/{scheme_id}/measurements", response={201: RunOut})
def measure_witnesses(request: HttpRequest, mapping_id: Id, scheme_id: Id, data: MeasureWitnesses) -> Any:
    """Measure the witnesses of a scheme again."""
    row, proof = _proof_or_404(mapping_id, scheme_id)
    machine = machine_of(row, data.machine)
    selection = repeat_request(proof, data.witness)
    if selection is None:
        raise ProblemError(
            422, "The scheme has no such witness", where="body witness", right="a witness of its verdict"
        )
    config = listed_config(machine.pk, selection.experiments, selection.repeats)
    name = result_name(processor_name(machine), selection.what)
    return start_response(request, "measure", config, default_name=name)


def _proof_or_404(mapping_id: int, scheme_id: int) -> tuple[PortMapping, Proof]:
    row = get_object_or_404(PortMapping.objects.select_related("isa", "run", "machine"), pk=mapping_id)
    scheme = get_object_or_404(InstructionScheme, pk=scheme_id, isa=row.isa_id)
    proof = proof_of(row, scheme)
    if proof is None:
        raise ProblemError(
            404,
            f"{row.name} does not describe {scheme.text}",
            where="path scheme_id",
            right="a scheme with µops or a verdict",
        )
    return row, proof


def _step(step: ProofStep, repeats: list[Remeasured]) -> dict[str, Any]:
    witness = step.witness
    return fields_of(
        witness,
        ProofStepOut,
        witness_id=step.pk,
        ports=_ports(witness.mask, step.ports),
        base=str(witness.base),
        tested=str(witness.tested),
        **{name: getattr(step, name) for name in ("expected_base", "formula", "conclusion")},
        again=[
            fields_of(
                repeat,
                RemeasuredOut,
                seen=None if repeat.repeated is None else repeat.repeated.outcome.value,
                agrees=None if repeat.repeated is None else repeat.repeated.agrees,
            )
            for repeat in repeats
        ],
    )


def _ports(mask: int, ports: Any) -> list[str]:
    return [ports[bit] for bit in ports_in(mask) if bit < len(ports)]
