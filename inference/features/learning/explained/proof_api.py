"""What a scheme's µops rest on: its witnesses step by step, what they conclude, and measuring them again."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from inference.core.mapping import ports_in
from inference.features.learning.explained.proofs import Proof, ProofStep, again_of, proof_of, untested
from inference.features.learning.explained.remeasuring import Remeasured, machine_of, remeasured, unfinished
from inference.features.machines.measure.request import listed_config
from inference.features.running.runs.runs_of_kind import started
from inference.models import InstructionScheme, PortMapping
from inference.storage.characterisations import ExplainedMapping
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
    """A witness measured another time. `agrees`: whether it shows what it showed; null without both times."""

    experiment_set: Ref = Field(validation_alias="made")
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
            fields_of(fact, FactOut, experiment=str(fact.experiment))
            for fact in (() if value is None else value.facts)
        ],
        "checks": [fields_of(each, CheckOut, words=each.in_words(row.ports)) for each in proof.checks],
        "working": unfinished(witnesses),
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
                each,
                RemeasuredOut,
                seen=None if each.repeated is None else each.repeated.seen.value,
                agrees=None if each.repeated is None else each.repeated.agrees,
            )
            for each in again
        ],
    )


def _ports(mask: int, ports: Any) -> list[str]:
    return [ports[bit] for bit in ports_in(mask) if bit < len(ports)]
