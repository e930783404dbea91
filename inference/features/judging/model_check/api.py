"""How well the port mapping model describes a machine, as a run of kind `check-model` has told so far."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.model_check import Alone, AloneVerdict
from inference.features.judging.engine.tables import csv_of
from inference.features.judging.model_check.query import TABLES, model_check_of, reference_of
from inference.formats.provenance import head_of
from inference.models import ISA, Run
from inference.models.scheme_search import texts_found
from inference.runs.request import OneOf
from inference.web.api import access
from inference.web.api.access import Deed
from inference.web.api.document import FILE
from inference.web.api.mapping_shapes import HeatMapOut
from inference.web.api.paging import PageOf, Paging, listed_in_memory
from inference.web.api.shapes import Ref, SchemeText, Scores, Text, ref
from inference.web.file_answers import attachment
from inference.web.validation import Id

router = Router()
KIND = "check-model"
Wanted = Annotated[str, OneOf(each.value for each in AloneVerdict)]
Table = Annotated[str, OneOf(TABLES)]


class MixesOut(Schema):
    """Random mixes of a length. `slower`: over 10 % longer than in turn; `faster`: than a scheme alone."""

    length: int = Field(examples=[5])
    asked: int = Field(examples=[200])
    settled: int = Field(examples=[198])
    slower: int = Field(examples=[1])
    faster: int = Field(examples=[0])
    scores: Scores | None
    heat_map: HeatMapOut | None


class OrdersOut(Schema):
    """What the order of the instructions costs, in cycles per instruction; `notable`: above 0.05."""

    length: int = Field(examples=[8])
    asked: int = Field(examples=[50])
    samples: int = Field(examples=[50])
    mean: float | None = Field(examples=[0.01])
    largest: float | None = Field(examples=[0.07])
    notable: int = Field(examples=[1])
    share: float | None = Field(examples=[0.02])


class ModelCheckOut(Schema):
    """Schemes alone within 10 % of the reference, and mixes and orders by length."""

    run: Ref
    state: str = Field(description="Of the run: while it goes on, this is what it knows.", examples=["done"])
    reference: Ref | None
    asked: int = Field(examples=[500])
    compared: int = Field(examples=[450])
    within: int = Field(examples=[430])
    short: int = Field(description="Compared ones of at most 3 cycles.", examples=[440])
    verdicts: dict[str, int] = Field(examples=[{"within": 430, "discrepancy": 20}])
    mixes: list[MixesOut]
    orders: list[OrdersOut]


class AloneOut(Schema):
    """A scheme alone, in cycles. `error` is in per cent of the measurement."""

    scheme: SchemeText
    verdict: str = Field(examples=["discrepancy"])
    measured: float | None = Field(examples=[1.0])
    modelled: float | None = Field(examples=[0.5])
    error: float | None = Field(examples=[-50.0])
    note: str = Field(examples=[""])


@router.get("/runs/{check_id}/model-check", response=ModelCheckOut)
def get_model_check(request: HttpRequest, check_id: Id) -> Any:
    """What a run of kind `check-model` has found out, in numbers."""
    run = _row(check_id)
    check = model_check_of(run)
    summary = check.summary
    counted = ("asked", "compared", "within", "short")
    return {
        "run": ref(run),
        "state": run.state,
        "reference": ref(reference_of(run)),
        **{name: getattr(summary, name) for name in counted},
        "verdicts": {verdict.value: count for verdict, count in summary.verdicts.items()},
        "mixes": [
            {**each, "scores": each["scores"] or None, "heat_map": each["heat_map"] or None}
            for each in check.mixes
        ],
        "orders": list(check.orders),
    }


@router.get("/runs/{check_id}/model-check/schemes", response=PageOf[AloneOut])
def list_checked_schemes(
    request: HttpRequest,
    check_id: Id,
    paging: Query[Paging],
    verdict: Wanted | None = None,
    q: Text = "",
) -> Any:
    """The schemes alone, of one verdict or all, that the search `q` finds: the largest errors first."""
    run = _row(check_id)
    found = [each for each in model_check_of(run).alone if verdict in (None, each.verdict.value)]
    isa = ISA.objects.filter(name=run.config["isa"]).first()
    if q.strip() and isa is not None:
        texts = texts_found(isa.pk, q)
        found = [each for each in found if each.scheme in texts]
    found.sort(key=lambda each: (-abs(each.error or 0.0), each.scheme))
    return listed_in_memory(found, paging, lambda page: [_alone(each) for each in page])


@router.get("/runs/{check_id}/model-check/exports/{table}", response=str, openapi_extra={FILE: "text/csv"})
def export_model_check(request: HttpRequest, check_id: Id, table: Table) -> HttpResponse:
    """One of its tables as CSV: `schemes`, `mixes` or `orders`."""
    run = _row(check_id)
    text = csv_of(TABLES[table](model_check_of(run)), head_of(check=run.name))
    access.note(request, Deed.EXPORTED, run)
    return attachment(text, "text/csv; charset=utf-8", f"{run.name} {table}", "csv")


def _row(check_id: int) -> Run:
    return get_object_or_404(Run, pk=check_id, kind=KIND)


def _alone(each: Alone) -> dict[str, Any]:
    return {
        **{name: getattr(each, name) for name in ("scheme", "measured", "modelled", "note")},
        "verdict": each.verdict.value,
        "error": None if each.error is None else 100 * each.error,
    }
