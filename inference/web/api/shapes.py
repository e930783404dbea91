"""Fields and shapes that operations of several features share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Any, Self

from ninja import Schema
from ninja.params import functions
from pydantic import ConfigDict, Field, ModelWrapValidatorHandler, model_validator

from inference.core.mapping import Uops, ports_in
from inference.models import Run
from inference.runs.leases import busy_seconds
from inference.storage.judging import allowed_result
from inference.web.validation import Id, limit_flaws

Name = Annotated[str, Field(examples=["Zen 3, inferred"])]
Note = Annotated[str, Field(examples=["measured with frequency scaling off"])]
Time = Annotated[datetime, Field(examples=["2026-11-22T09:30:00Z"])]
SchemeText = Annotated[str, Field(examples=["add GPR[64]:RW, GPR[64]:R"])]
ExperimentText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=20_000,
        description="Schemes with their numbers: `2*add GPR[64]:RW, GPR[64]:R; 1*imul …`.",
        examples=["2*add GPR[64]:RW, GPR[64]:R"],
    ),
]
Cycles = Annotated[float, Field(description="Cycles per execution of the experiment.", examples=[0.5])]
Text = Annotated[str, Field(max_length=500)]
Unit = Annotated[str, Field(description="cycles, cpi or ipc.", examples=["cycles"])]


parameter: Callable[..., Any] = functions.Query
"""A parameter of an address with its default, limits and description; `ninja.Query` is typed for models."""


class Input(Schema):
    """A request's body; unknown fields are an error."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _few_flaws(cls, payload: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        return limit_flaws(cls, payload, validate)


class RowOut(Schema):
    """An answer read from attributes; the alias of a field is the path of its attribute."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)


class Ref(Schema):
    """A reference to another row."""

    id: Id
    name: Name


class Uop(Schema):
    """`count` µops with the same ports."""

    count: int = Field(examples=[1])
    ports: list[str] = Field(examples=[["0", "1", "5"]])


Conflicts = Annotated[
    list[str],
    Field(
        description="Results of the machine that contradict this one, each with both sides.",
        examples=[["PMEvo: 1×[1,2,10]; explained: 3 µops; not settled"]],
    ),
]


class WordOut(Schema):
    """The strongest claim that a result supports, and the reasons against a stronger one."""

    text: str = Field(examples=["best of 3, 12 experiments unexplained"])
    is_strong: bool = Field(
        description="Whether held-out experiments and the machine's other results confirm it.",
        examples=[False],
    )
    reasons: list[str] = Field(examples=[["contradicted by Zen 4 · starter set · PMEvo"]])


class Scores(Schema):
    """Accuracy of predictions; null where undefined: constant numbers, or fewer than two."""

    n: int = Field(description="Number of predicted measurements.", examples=[1000])
    mape: float | None = Field(None, description="Mean absolute percentage error.", examples=[6.3])
    pearson: float | None = Field(None, description="Pearson's r.", examples=[0.98])
    kendall: float | None = Field(None, description="Kendall's τ.", examples=[0.92])


def fields_of(row: Any, shape: type[Schema], **computed: Any) -> dict[str, Any]:
    """Values of a shape's fields: `computed` ones, the others from attributes of the row."""
    paths = {name: str(field.validation_alias or name) for name, field in shape.model_fields.items()}
    return {name: attrgetter(path)(row) for name, path in paths.items() if name not in computed} | computed


def ref(row: Any) -> dict[str, Any] | None:
    """A row in the shape of `Ref`; None for None."""
    return None if row is None else {"id": row.pk, "name": str(row)}


def uops_json(uops: Uops, ports: Sequence[str]) -> list[dict[str, Any]]:
    """µops in the shape of `Uop`, with the names of their ports."""
    return [{"count": count, "ports": [ports[bit] for bit in ports_in(mask)]} for mask, count in uops]


class FileProblemOut(Schema):
    """One problem of a file; `row` is a line, or the number of an entry in a list, from 1."""

    row: int | None = Field(examples=[3])
    column: str = Field(examples=["cycles"])
    message: str = Field(examples=["'fast' is not a number"])
    right: str = Field(examples=["a number such as 1.25 is expected"])


class RunOut(Schema):
    id: Id
    name: Name = Field(examples=["Zen 4 · starter set · PMEvo"])
    note: Note
    kind: str = Field(examples=["infer"])
    state: str = Field(
        description="queued, running, paused, done, failed or cancelled.", examples=["running"]
    )
    wanted: str = Field(description="Pending request: pause, cancel or keep.", examples=[""])
    created: Time
    started: Time | None
    finished: Time | None
    busy_seconds: float = Field(description="Seconds of work so far.", examples=[83.4])
    progress: dict[str, Any] = Field(
        examples=[
            {
                "phase": "evolution",
                "label": "Evolve port mappings",
                "done": 40,
                "total": 200,
                "rate": 1.5,
                "unit": "generations",
                "eta": 107.0,
            }
        ]
    )
    result: dict[str, Any] = Field(examples=[{"mapping": 7, "name": "Zen 4 · starter set · PMEvo"}])
    error: str = Field(examples=[""])


def run_json(row: Run) -> dict[str, Any]:
    return fields_of(row, RunOut, result=allowed_result(row), busy_seconds=busy_seconds(row))
