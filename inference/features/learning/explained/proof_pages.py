"""The page with the evidence for a scheme's µops, and measuring its witnesses again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from inference.core.explain import STAGES, WitnessOutcome
from inference.features.learning.explained.proofs import (
    Proof,
    ProofStep,
    Untested,
    blocker_uops,
    proof_of,
    repeat_request,
    untested,
)
from inference.features.learning.explained.remeasuring import (
    Remeasured,
    machine_options,
    measure_listed,
    posted_number,
    repeats_of,
    unfinished,
)
from inference.features.learning.explained.witness_drawing import Drawing, layout
from inference.features.learning.inferring.cegar_page import experiment_url
from inference.figures.witness import witness_picture
from inference.models import InstructionScheme, Machine, PortMapping, Run
from inference.storage.characterisations import ExplainedMapping

WORKING = (Run.State.QUEUED, Run.State.RUNNING)


@dataclass(frozen=True)
class ProofStepView:
    """A witness with its figure, the pages of its two experiments, and repeated measurements."""

    step: ProofStep
    drawing: Drawing | None
    base_url: str
    tested_url: str
    again: Sequence[Remeasured]


@dataclass(frozen=True)
class ProofRunView:
    """A repetition of the algorithm: its verdict as text, its witnesses, and the port sets without one."""

    number: int
    verdict: str
    steps: Sequence[ProofStepView]
    untested: Sequence[Untested]


def scheme_proof(request: HttpRequest, pk: int, scheme: int) -> HttpResponse:
    row, proof = _proof_or_404(pk, scheme)
    witnesses = [step.witness for step in proof.steps]
    repetitions = repeats_of(row.isa, witnesses)
    runs = unfinished(witnesses)
    value = proof.value
    context = {
        "mapping": row,
        "proof": proof,
        "value": value,
        "explained": ExplainedMapping.of(row.report),
        "stage": "" if value is None else STAGES.get(value.stage, value.stage),
        "runs": [_run_view(row, proof, number, steps, repetitions) for number, steps in proof.runs],
        "verdicts": () if value is None else list(enumerate(value.runs, start=1)),
        "facts": []
        if value is None
        else [(fact, experiment_url(fact.experiment, row.isa, row)) for fact in value.facts],
        "again_runs": runs,
        "following": any(run.state in WORKING for run in runs),
        "machines": machine_options(row).able if witnesses else [],
        "earlier": proof.neighbours[0],
        "later": proof.neighbours[1],
    }
    return render(request, "inference/explained/proof/page.html", context)


def _proof_or_404(pk: int, scheme: int) -> tuple[PortMapping, Proof]:
    row = get_object_or_404(PortMapping.objects.select_related("isa", "run", "machine"), pk=pk)
    scheme_row = get_object_or_404(InstructionScheme, pk=scheme, isa=row.isa_id)
    proof = proof_of(row, scheme_row)
    if proof is None:
        raise Http404(f"{row.name} does not describe {scheme_row.text}")
    return row, proof


def _run_view(
    row: PortMapping,
    proof: Proof,
    number: int,
    steps: Sequence[ProofStep],
    repetitions: dict[Any, list[Remeasured]],
) -> ProofRunView:
    conclusions = () if proof.value is None else proof.value.runs
    verdict = conclusions[number - 1] if number <= len(conclusions) else ""
    explained = ExplainedMapping.of(row.report)
    usage = proof.usage_in(number)
    views = []
    for step in steps:
        witness = step.witness
        drawing = None
        if witness.seen is not WitnessOutcome.FAILED and not witness.mask >> len(row.ports):
            blocker = blocker_uops(explained, step)
            picture = witness_picture(proof.ports, row.r_max, blocker, usage, witness)
            drawing = layout(picture, proof.ports)
        views.append(
            ProofStepView(
                step,
                drawing,
                experiment_url(witness.base, row.isa, row),
                experiment_url(witness.tested, row.isa, row),
                repetitions.get(witness, []),
            )
        )
    return ProofRunView(number, verdict, views, untested(explained, steps))


def scheme_again(request: HttpRequest, pk: int, scheme: int) -> HttpResponse:
    """Measures the posted `witness`, or all, again on the posted `machine`."""
    row, proof = _proof_or_404(pk, scheme)
    page = f"{reverse('scheme-proof', args=[pk, scheme])}#again"
    machine = get_object_or_404(Machine, pk=posted_number(request, "machine"), isa=row.isa_id)
    witness = posted_number(request, "witness") if "witness" in request.POST else None
    selection = repeat_request(proof, witness)
    if selection is None:
        raise Http404("no such witness of this scheme")
    measure_listed(request, machine, selection.experiments, selection.repeats, selection.what)
    return redirect(page)


urlpatterns = [
    path("mappings/<int:pk>/schemes/<int:scheme>/", scheme_proof, name="scheme-proof"),
    path("mappings/<int:pk>/schemes/<int:scheme>/again/", scheme_again, name="scheme-again"),
]
