"""The page that proves a scheme's µops, witness by witness, and measures them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from inference.core.explain import STAGES, Seen
from inference.features.learning.explained.proofs import (
    Proof,
    ProofStep,
    Untested,
    again_of,
    blocker_uops,
    proof_of,
    untested,
)
from inference.features.learning.explained.remeasuring import (
    Remeasured,
    means_of,
    measure_listed,
    posted_number,
    remeasured,
    unfinished,
)
from inference.features.learning.explained.witness_drawing import Drawing, drawn
from inference.features.learning.inferring.cegar_page import experiment_url
from inference.figures.witness import witness_picture
from inference.models import InstructionScheme, Machine, PortMapping, Run
from inference.storage.characterisations import ExplainedMapping

WORKING = (Run.State.QUEUED, Run.State.RUNNING)


@dataclass(frozen=True)
class ProofStepView:
    """A step with its picture, the pages of its two experiments, and what measuring it again gave."""

    step: ProofStep
    drawing: Drawing | None
    base_url: str
    tested_url: str
    again: Sequence[Remeasured]


@dataclass(frozen=True)
class ShownRun:
    """One of the repeated runs: what it concluded, in words, its witnesses, and the port sets without one."""

    number: int
    verdict: str
    steps: Sequence[ProofStepView]
    untested: Sequence[Untested]


def scheme_proof(request: HttpRequest, pk: int, scheme: int) -> HttpResponse:
    """Everything that is known of a scheme in a mapping."""
    row, proof = _found(pk, scheme)
    witnesses = [step.witness for step in proof.steps]
    known = remeasured(row.isa, witnesses)
    runs = unfinished(witnesses)
    value = proof.value
    context = {
        "mapping": row,
        "proof": proof,
        "value": value,
        "explained": ExplainedMapping.of(row.report),
        "stage": "" if value is None else STAGES.get(value.stage, value.stage),
        "runs": [_shown_run(row, proof, number, steps, known) for number, steps in proof.runs],
        "verdicts": () if value is None else list(enumerate(value.runs, start=1)),
        "facts": []
        if value is None
        else [(fact, experiment_url(fact.experiment, row.isa, row)) for fact in value.facts],
        "again_runs": runs,
        "following": any(run.state in WORKING for run in runs),
        "machines": means_of(row).able if witnesses else [],
        "earlier": proof.neighbours[0],
        "later": proof.neighbours[1],
    }
    return render(request, "inference/explained/proof/page.html", context)


def _found(pk: int, scheme: int) -> tuple[PortMapping, Proof]:
    row = get_object_or_404(PortMapping.objects.select_related("isa", "run", "machine"), pk=pk)
    found = get_object_or_404(InstructionScheme, pk=scheme, isa=row.isa_id)
    proof = proof_of(row, found)
    if proof is None:
        raise Http404(f"{row.name} says nothing of {found.text}")
    return row, proof


def _shown_run(
    row: PortMapping,
    proof: Proof,
    number: int,
    steps: Sequence[ProofStep],
    known: dict[Any, list[Remeasured]],
) -> ShownRun:
    told = () if proof.value is None else proof.value.runs
    verdict = told[number - 1] if number <= len(told) else ""
    explained = ExplainedMapping.of(row.report)
    usage = proof.usage_in(number)
    shown = []
    for step in steps:
        witness = step.witness
        drawing = None
        if witness.seen is not Seen.FAILED and not witness.mask >> len(row.ports):
            blocker = blocker_uops(explained, step)
            picture = witness_picture(proof.ports, row.r_max, blocker, usage, witness)
            drawing = drawn(picture, proof.ports)
        shown.append(
            ProofStepView(
                step,
                drawing,
                experiment_url(witness.base, row.isa, row),
                experiment_url(witness.tested, row.isa, row),
                known.get(witness, []),
            )
        )
    return ShownRun(number, verdict, shown, untested(explained, steps))


def scheme_again(request: HttpRequest, pk: int, scheme: int) -> HttpResponse:
    """Measure the posted `witness`, or all of them, again on the posted `machine`."""
    row, proof = _found(pk, scheme)
    page = f"{reverse('scheme-proof', args=[pk, scheme])}#again"
    machine = get_object_or_404(Machine, pk=posted_number(request, "machine"), isa=row.isa_id)
    witness = posted_number(request, "witness") if "witness" in request.POST else None
    wanted = again_of(proof, witness)
    if wanted is None:
        raise Http404("no such witness of this scheme")
    measure_listed(request, machine, wanted.experiments, wanted.repeats, wanted.what)
    return redirect(page)


urlpatterns = [
    path("mappings/<int:pk>/schemes/<int:scheme>/", scheme_proof, name="scheme-proof"),
    path("mappings/<int:pk>/schemes/<int:scheme>/again/", scheme_again, name="scheme-again"),
]
