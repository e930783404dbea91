"""Pieces that answers of several families have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Any, Self

from ninja import Schema
from ninja.params import functions
from pydantic import ConfigDict, Field, ModelWrapValidatorHandler, model_validator

from inference.core.mapping import Uops, ports_in
from inference.web.validation import Id, few_flaws

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
    """What a request brings: fields that nobody knows are an error, not ignored."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _few_flaws(cls, given: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        return few_flaws(cls, given, validate)


class RowOut(Schema):
    """An answer that is read from attributes; a field that has another name there says so by its alias."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)


class Ref(Schema):
    """Something else with a page and a number of its own."""

    id: Id
    name: Name


class Uop(Schema):
    """µops of one kind: how many, and the ports that each can use."""

    count: int = Field(examples=[1])
    ports: list[str] = Field(examples=[["0", "1", "5"]])


Conflicts = Annotated[
    list[str],
    Field(
        description="What other results of the machine say of the scheme, each with both sides.",
        examples=[["PMEvo: 1×[1,2,10]; explained: 3 µops; not settled"]],
    ),
]


class WordOut(Schema):
    """The strongest word that may be used of a result, and why it is no stronger."""

    text: str = Field(examples=["best of 3, 12 experiments unexplained"])
    is_strong: bool = Field(
        description="Whether held-out experiments and all other results of the machine bear it out.",
        examples=[False],
    )
    reasons: list[str] = Field(examples=[["contradicted by lab: ports and slots"]])


class Scores(Schema):
    """How well predictions fit. Null where undefined: constant numbers, fewer than two."""

    n: int = Field(description="Measurements that were predicted.", examples=[1000])
    mape: float | None = Field(None, description="Mean absolute percentage error.", examples=[6.3])
    pearson: float | None = Field(None, description="Pearson's r.", examples=[0.98])
    kendall: float | None = Field(None, description="Kendall's τ.", examples=[0.92])


def fields_of(row: Any, shape: type[Schema], **computed: Any) -> dict[str, Any]:
    """What `shape` is read from: `computed` fields, and for all others the attributes of a row or value."""
    paths = {name: str(field.validation_alias or name) for name, field in shape.model_fields.items()}
    return {name: attrgetter(path)(row) for name, path in paths.items() if name not in computed} | computed


def ref(row: Any) -> dict[str, Any] | None:
    """A row as `Ref`; None for none."""
    return None if row is None else {"id": row.pk, "name": str(row)}


def uops_json(uops: Uops, ports: Sequence[str]) -> list[dict[str, Any]]:
    """Each kind of µop with the names of its ports."""
    return [{"count": count, "ports": [ports[bit] for bit in ports_in(mask)]} for mask, count in uops]
