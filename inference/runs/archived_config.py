"""Descriptions of runs from elsewhere: checked against what the pages of such runs show, and made complete.

Their rows may be gone, and their machines cannot be asked: less is wanted than to start such a run here.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from inference.core.errors import InvalidInputError
from inference.core.metrics import Unit
from inference.core.protocols import Json
from inference.exchange.errors import ExchangeError
from inference.exchange.run_archive.parts import first_flaw
from inference.runs.errors import ConfigError
from inference.runs.jobs.algorithms import ALGORITHMS
from inference.runs.jobs.block import BlockConfig, read_blocks, read_options
from inference.runs.jobs.check_config import CheckConfig
from inference.runs.jobs.infer_config import (
    InferConfig,
    read_held_out,
    read_known,
    read_noise,
    read_schemes,
    source_kind,
)
from inference.runs.jobs.measure import PLANS, MeasureConfig


class _Rows(BaseModel):
    """What descriptions name rows by; they may have more."""

    model_config = ConfigDict(extra="allow")

    mapping: int | None = None
    resource_mapping: int | None = None
    experiment_set: int | None = None


class _Evaluation(_Rows):
    experiment_set: int
    unit: Unit


_SHAPES: dict[str, Any] = {
    "infer": InferConfig,
    "measure": MeasureConfig,
    "check-model": CheckConfig,
    "block": BlockConfig,
    "import": _Rows,
    "evaluate": _Evaluation,
}


_SOURCES: dict[str, Any] = {
    "datasets": Annotated[list[int], Field(min_length=1)],
    "machine": int,
    "simulate": int,
}
"""Numbers of rows."""


def description_of(kind: str, config: Json) -> Json:
    """The complete description. Raises `ExchangeError` for one that no page of such a run could show."""
    if kind not in _SHAPES:
        raise ExchangeError(f"run.json: runs of the kind {kind!r} are not imported; {', '.join(_SHAPES)} are")
    value = _read(_SHAPES[kind], config, "run.config")
    try:
        if isinstance(value, InferConfig):
            return _inference(value)
        if isinstance(value, MeasureConfig) and value.plan not in PLANS:
            raise ConfigError(f"plan must be one of {', '.join(PLANS)}, not {value.plan!r}")
        if isinstance(value, MeasureConfig | CheckConfig):
            read_schemes(value.schemes)
        if isinstance(value, BlockConfig):
            options = read_options(value.options)
            return value.as_json() | {
                "blocks": read_blocks(value.blocks, options),
                "options": options.as_json(),
            }
    except (ConfigError, InvalidInputError) as error:
        raise ExchangeError(f"run.json, run.config: {error}") from error
    return config if isinstance(value, BaseModel) else dict(value.as_json())


def _inference(value: InferConfig) -> Json:
    if value.algorithm not in ALGORITHMS:
        raise ConfigError(f"there is no algorithm {value.algorithm!r}; there are {', '.join(ALGORITHMS)}")
    algorithm = ALGORITHMS[value.algorithm]
    settings = algorithm.settings({**value.settings, "ports": value.ports})
    ports = settings.pop("ports")
    read_schemes(value.schemes)
    read_held_out(value.held_out)
    return value.as_json() | {
        "source": _source(value.source),
        "settings": settings,
        "ports": ports,
        "known": read_known(value.algorithm, value.known),
    }


def _source(given: Json) -> Json:
    kind = source_kind(given)
    _read(_SOURCES[kind], given[kind], f"run.config.source.{kind}")
    return {**given, **read_noise(given)} if kind == "simulate" else given


def _read(shape: Any, given: Any, place: str) -> Any:
    """As JSON: what is no number there is none, whatever it looks like."""
    try:
        return _adapter(shape).validate_json(json.dumps(given), strict=True)
    except ValidationError as error:
        raise ExchangeError(f"run.json, {first_flaw(error, place)}") from error


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)
