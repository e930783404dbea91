"""API of inferences: quick starts, the algorithms, and restarting a search after a clash."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema, Status
from pydantic import Field

from inference.core.protocols import Json
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.features.learning.inferring.cegar_page import (
    ALWAYS,
    MNEMONIC,
    SCHEME,
    config_without,
    drop_choices,
    name_without,
    search_of,
)
from inference.features.learning.inferring.request import search_for_ports, starter_inference
from inference.features.library.example.loading import load_example
from inference.features.machines.machines.query import machines, unfinished_inference_on
from inference.features.running.runs.runs_of_kind import start_response
from inference.models import Run
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import Input, Ref, RunOut, SchemeText, ref, run_json
from inference.web.validation import Id

router = Router()


class AlgorithmOut(Schema):
    """An inference algorithm with its settings and their defaults."""

    key: str = Field(examples=["pmevo"])
    title: str = Field(examples=["PMEvo"])
    default_ports: int | None = Field(
        description="Default number of ports; null if the algorithm searches for it.", examples=[None]
    )
    knows: list[str] = Field(
        description="Facts about schemes that it can use.", examples=[["uops", "widths"]]
    )
    settings: dict[str, Any] = Field(examples=[{"population": 1000, "max_generations": 200}])


class ExampleOut(Schema):
    """The recorded example: a mapping inferred from real measurements."""

    mapping: Ref


class NewInference(Input):
    """An inference with default settings."""

    what: Literal["starter", "ports"] = Field(
        "starter",
        description="starter: a port mapping of the starter set, by PMEvo; ports: the ports of the "
        "processor, by counter-examples.",
        examples=["starter"],
    )


@router.post("/example", response=ExampleOut)
def load_the_example(request: HttpRequest) -> Any:
    """Load the missing parts of the recorded example: measurements of a Zen 4 core, and a mapping."""
    return {"mapping": ref(load_example().mapping)}


@router.post("/machines/{machine_id}/inferences", response={200: RunOut, 201: RunOut})
def infer_on_machine(request: HttpRequest, machine_id: Id, data: NewInference) -> Any:
    """Measure a machine and infer a mapping with default settings; returns the unfinished run if there is
    one.

    `POST /runs` with kind `infer` offers all settings.
    """
    machine = get_object_or_404(machines(), pk=machine_id)
    ports = data.what == "ports"
    run = unfinished_inference_on(machine, "cegar" if ports else "pmevo")
    if run is not None:
        return Status(200, run_json(run))
    config = search_for_ports(machine) if ports else starter_inference(machine)
    return start_response(request, "infer", config)


class DroppableOut(Schema):
    """A scheme of the clash; `alike`: number of schemes with its mnemonic."""

    scheme: SchemeText
    mnemonic: str = Field(examples=["add"])
    alike: int = Field(examples=[12])


class ClashOut(Schema):
    """The newest contradiction, and the schemes that could be left out, most likely first."""

    text: str = Field(
        description="The contradiction as a sentence; empty without one.",
        examples=["no mapping explains both …"],
    )
    schemes: list[DroppableOut]


class Without(Input):
    """What to leave out: a clashing scheme, all with its mnemonic, or every scheme that clashes from now
    on.
    """

    scheme: str = Field(max_length=500, examples=["add GPR[64]:RW, GPR[64]:R"])
    what: Literal[SCHEME, MNEMONIC, ALWAYS] = SCHEME  # type: ignore[valid-type]


@router.get("/runs/{inference_id}/clash", response=ClashOut)
def get_clash(request: HttpRequest, inference_id: Id) -> Any:
    """The newest contradiction between measurements in a search by counter-examples."""
    search = search_of(_row(inference_id))
    return {"text": search.last_clash, "schemes": [vars(choice) for choice in drop_choices(search)]}


@router.post("/runs/{inference_id}/without", response={201: RunOut})
def go_on_without(request: HttpRequest, inference_id: Id, data: Without) -> Any:
    """Restart a search that failed by a clash, without the contradicting schemes."""
    run = _row(inference_id)
    search = search_of(run)
    if run.state != Run.State.FAILED:
        raise ProblemError(409, f"The run is {run.state}", where="path inference_id", right="a failed run")
    if data.scheme not in {choice.scheme for choice in drop_choices(search)}:
        raise ProblemError(
            422, "The scheme does not clash", where="body scheme", right="a scheme of GET /clash"
        )
    config = config_without(run, search, data.what, data.scheme)
    name = name_without(run, data.what, data.scheme)
    return start_response(request, "infer", config, default_name=name, forked_from=run)


def _row(inference_id: int) -> Run:
    return get_object_or_404(Run, pk=inference_id, kind="infer")


@router.get("/algorithms", response=list[AlgorithmOut])
def list_algorithms(request: HttpRequest) -> Any:
    """The algorithms of runs of kind `infer`."""
    return [
        {
            "key": key,
            "title": algorithm.title,
            "default_ports": None,
            "knows": algorithm.knows,
            "settings": _defaults(algorithm.settings().as_json()),
        }
        for key, algorithm in ALGORITHMS.items()
    ]


def _defaults(settings: Json) -> Json:
    return {name: value for name, value in settings.items() if name != "ports"}
