"""API of single experiments: measurements and predictions."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.experiment import Experiment as ExperimentValue
from inference.features.library.experiments.query import (
    SettledTimes,
    exegesis_snippet,
    measured_row,
    measurements_with_machines,
    predictions_for,
)
from inference.features.library.resources.query import resource_predictions
from inference.models import ISA, Experiment
from inference.storage.rows import experiment_of, texts_in
from inference.web.api.document import FILE
from inference.web.api.result_shapes import (
    MeasurementOut,
    PortPrediction,
    measurements_json,
    prediction_json,
    read,
)
from inference.web.api.shapes import Cycles, ExperimentText, Ref
from inference.web.file_answers import attachment
from inference.web.validation import Id

router = Router()
ExperimentParameter = Annotated[ExperimentText, Query(alias="experiment")]


class OfMapping(PortPrediction):
    """A port mapping's prediction. `error`: in per cent of the measurement."""

    mapping: Ref
    error: float | None = Field(examples=[-2.1])


class OfResourceMapping(Schema):
    """A resource mapping's prediction; `limits` are its fullest resources."""

    mapping: Ref
    cycles: Cycles
    limits: list[str] = Field(examples=[["r015"]])
    error: float | None = Field(examples=[0.3])


class ExperimentOut(Schema):
    """An experiment with its predictions. `id` is null if no set has measured it."""

    id: Id | None
    isa: Ref
    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    terms: dict[str, int] = Field(examples=[{"add GPR[64]:RW, GPR[64]:R": 2}])
    measured: float | None = Field(
        description="Median of the settled measurements, in cycles.", examples=[0.51]
    )
    predictions: list[OfMapping]
    resource_predictions: list[OfResourceMapping]
    measurements: list[MeasurementOut]


@router.get("/experiments/{experiment_id}", response=ExperimentOut)
def get_experiment(request: HttpRequest, experiment_id: Id) -> Any:
    """A measured experiment, with all its measurements."""
    row = get_object_or_404(Experiment.objects.select_related("isa"), pk=experiment_id)
    return _experiment(experiment_of(row.key, texts_in([row.key])), row.isa, row)


@router.get("/isas/{isa_id}/predictions", response=ExperimentOut)
def predict_experiment(request: HttpRequest, isa_id: Id, text: ExperimentParameter) -> Any:
    """The predictions of all mappings of an instruction set for any experiment, measured or not."""
    isa = get_object_or_404(ISA, pk=isa_id)
    value = read(text, isa, "query experiment")
    return _experiment(value, isa, measured_row(value, isa))


@router.get("/isas/{isa_id}/snippet", response=str, openapi_extra={FILE: "text/plain"})
def get_snippet(request: HttpRequest, isa_id: Id, text: ExperimentParameter) -> HttpResponse:
    """An experiment as a file for llvm-exegesis."""
    isa = get_object_or_404(ISA, pk=isa_id)
    value = read(text, isa, "query experiment")
    return attachment(exegesis_snippet(value, isa), "text/plain; charset=utf-8", str(value)[:60], "s")


def _experiment(value: ExperimentValue, isa: ISA, row: Experiment | None) -> dict[str, Any]:
    measurements = list(measurements_with_machines(row))
    times = SettledTimes(measurements)
    measured, _ = times.of(None)
    return {
        "id": None if row is None else row.pk,
        "isa": isa,
        "experiment": str(value),
        "terms": dict(value.terms),
        "measured": measured,
        "predictions": [
            {**prediction_json(prediction.schedule), "mapping": prediction.mapping, "error": prediction.error}
            for prediction in predictions_for(value, isa, times)
        ],
        "resource_predictions": resource_predictions(value, isa, measured),
        "measurements": measurements_json(measurements),
    }
