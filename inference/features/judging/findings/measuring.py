"""Runs that measure what a finding rests on, or what would decide it, started by a page or a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from ninja import Status

from inference.core.doubting import LABELS
from inference.core.experiment import Experiment
from inference.features.judging.findings.doubts import DoubtsOf
from inference.features.judging.findings.evidence import REPEATS
from inference.features.learning.explained.remeasuring import machine_of, measure_listed, posted_number
from inference.features.machines.measure.request import listed_config
from inference.features.running.runs.runs_of_kind import started
from inference.models import Machine, PortMapping
from inference.web.validation import RequestError


@dataclass(frozen=True)
class Remeasurement:
    """Experiments about a mapping, how often each is measured, and what for."""

    row: PortMapping
    experiments: Sequence[Experiment]
    repeats: int
    purpose: str

    def from_page(self, request: HttpRequest, back: str) -> HttpResponse:
        """Start it on the posted machine and show the run; `back`: where it is said that it cannot be."""
        machine = get_object_or_404(Machine, pk=posted_number(request, "machine"), isa=self.row.isa_id)
        run = measure_listed(request, machine, self.experiments, self.repeats, self.purpose)
        return redirect(back) if run is None else redirect("run", run.pk)

    def from_program(self, request: HttpRequest, machine_id: int) -> Status[dict[str, Any]]:
        """Start it; the answer is the run. Raises `ProblemError` (422) for a machine that cannot."""
        machine = machine_of(self.row, machine_id)
        config = listed_config(machine.pk, self.experiments, self.repeats)
        return started(request, "measure", config, f"{self.purpose} on {machine.name}"[:180])


def about_doubt(found: DoubtsOf, kind: str, scheme: str, *, decides: bool) -> Remeasurement:
    """What a doubt rests on, or the experiment that decides it. Raises `RequestError` where there is none."""
    doubt = found.find(kind, scheme)
    right = "a doubt that the scheme's list has"
    if doubt is None:
        raise RequestError("kind", f"nothing of this kind is doubtful in {scheme}", right)
    if not decides:
        experiments, words = found.again(doubt), LABELS[doubt.kind]
    elif decision := found.decisions([doubt]).get(doubt):
        experiments, words = [decision.distinction.experiment], "what decides"
    else:
        raise RequestError("kind", "no short experiment decides this doubt", right)
    return Remeasurement(found.row, experiments, REPEATS, f"{scheme[:100]}: {words}, measured")
