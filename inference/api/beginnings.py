"""First steps: the recorded example, and inferences that need nothing but a machine."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema, Status
from pydantic import Field

from inference.api.paging import Id
from inference.api.runs import RunOut, run_json
from inference.api.runs_of_kind import started
from inference.api.shapes import Input, Ref, ref
from inference.exchange.example.loading import load_example
from inference.queries.machines import machines, unfinished_inference_on
from inference.runs.jobs.beginnings import search_for_ports, starter_inference

router = Router()


class ExampleOut(Schema):
    """What the example is made of: a mapping inferred from real measurements."""

    mapping: Ref


class NewInference(Input):
    """What is inferred without further questions."""

    what: Literal["starter", "ports"] = Field(
        "starter",
        description="starter: a port mapping of the starter set, by PMEvo; ports: the ports of the "
        "processor, by counter-examples.",
        examples=["starter"],
    )


@router.post("/example", response=ExampleOut)
def load_the_example(request: HttpRequest) -> Any:
    """Load what is missing of the recorded example: measurements of a Zen 4 core, and a mapping."""
    return {"mapping": ref(load_example().mapping)}


@router.post("/machines/{machine_id}/inferences", response={200: RunOut, 201: RunOut})
def infer_on_machine(request: HttpRequest, machine_id: Id, data: NewInference) -> Any:
    """Measure a machine and infer what there is to know at first; one that is under way is not doubled.

    `POST /runs` with the kind `infer` leaves nothing open.
    """
    machine = get_object_or_404(machines(), pk=machine_id)
    ports = data.what == "ports"
    run = unfinished_inference_on(machine, "cegar" if ports else "pmevo")
    if run is not None:
        return Status(200, run_json(run))
    config = search_for_ports(machine) if ports else starter_inference(machine)
    usual = f"{'Ports' if ports else 'Starter set'} of {machine.name}"[:190]
    return started(request, "infer", config, usual)
