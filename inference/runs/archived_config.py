"""Descriptions of runs from elsewhere: checked against what the pages of such runs show, and made complete.

Their rows may be gone, and their machines cannot be asked: less is wanted than to start such a run here.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from inference.core.errors import InvalidInputError
from inference.core.metrics import Unit
from inference.core.protocols import Json
from inference.exchange.errors import ExchangeError
from inference.measuring.simulated import COUNTERS, NOTHING
from inference.runs.errors import ConfigError
from inference.runs.jobs.algorithms import ALGORITHMS
from inference.runs.jobs.block import BlockConfig, read_blocks, read_options
from inference.runs.jobs.check_config import CheckConfig
from inference.runs.jobs.infer_config import InferConfig, read_schemes
from inference.runs.jobs.measure import PLANS, MeasureConfig


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Recorded(_Part):
    datasets: list[int] = Field(min_length=1)


class _OnMachine(_Part):
    machine: int


class _Simulation(_Part):
    simulate: int
    noise: float = 0.0
    noise_cpi: float = 0.0
    outlier_share: float = 0.0
    outlier_factor: float = 2.0
    odd_share: float = 0.0
    counters: Literal[COUNTERS] = NOTHING  # type: ignore[valid-type]  the same list


class _Known(_Part):
    uops: dict[str, float] = {}
    widths: dict[str, int] = {}
    improper: list[str] = []
    documented: dict[str, list[str]] = {}


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
    algorithm.check_known(_read(_Known, value.known, "run.config.known").model_dump(exclude_unset=True))
    read_schemes(value.schemes)
    if not 0 <= value.held_out < 1:
        raise ConfigError(f"held_out is a share of at least 0 and below 1, not {value.held_out}")
    ports = settings.pop("ports")
    return value.as_json() | {"source": _source(value.source), "settings": settings, "ports": ports}


def _source(given: Json) -> Json:
    shapes = {"datasets": _Recorded, "machine": _OnMachine, "simulate": _Simulation}
    chosen = [shape for name, shape in shapes.items() if name in given]
    if len(chosen) != 1:
        raise ConfigError(f"source must say exactly one of {', '.join(shapes)}")
    return dict(_read(chosen[0], given, "run.config.source").model_dump())


def _read(shape: Any, given: Json, place: str) -> Any:
    """As JSON: what is no number there is none, whatever it looks like."""
    try:
        return _adapter(shape).validate_json(json.dumps(given), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, (place, *first["loc"])))
        raise ExchangeError(f"run.json, {where}: {first['msg']}") from error


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)
