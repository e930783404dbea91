"""Descriptions of runs may come from any program: whatever is in a field, it is refused with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from inference.core.errors import CoreError
from inference.core.protocols import Json
from inference.features.asking.blocks.job import BlockConfig
from inference.features.judging.evaluations.job import EvaluationConfig
from inference.features.judging.findings.model_check import CheckConfig
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.features.learning.inferring.request import InferConfig, KnownFacts
from inference.features.library.uploads.job import ImportConfig
from inference.features.machines.measure.job import MeasureConfig
from inference.formats.problems import ExchangeError
from inference.measuring.blocks import BlockOptions
from inference.measuring.simulated import NOISE_OPTIONS
from inference.models import ExperimentSet, Machine, PortMapping, Upload
from inference.runs.errors import RunsError
from inference.runs.kinds import job
from tests.rows.lab import machine
from tests.rows.library import ADD, experiment_set, isa, mapping

__all__ = ["experiment_set", "isa", "machine", "mapping"]

PYDANTIC = re.compile("Input should|Extra inputs|Field required|valid (integer|number|string)|tagged-union")
"""Words of pydantic's own, which tell a developer what is wrong and nobody else."""
ODD: tuple[Any, ...] = (
    *(None, True, 1.5, -1, 10**30, "x", "", [], [[]], {}, [{}], [None], ["x"], {"": {}}),
    *(2**63, 10**400, float("inf"), float("nan"), "x" * 10_000, [2**63], [1, 2**63], [True], {"x": 1}),
)


def names_of(shape: type) -> list[str]:
    """The fields of a description."""
    return [each.name for each in fields(shape)] if is_dataclass(shape) else list(shape.model_fields)


@pytest.fixture
def good(
    experiment_set: ExperimentSet, mapping: PortMapping, machine: Machine
) -> dict[str, tuple[Json, list[str]]]:
    """{kind: (a description, all fields)}."""
    upload = Upload.objects.create(file_name="a.csv", beginning=b"", sha256="0" * 64)
    described = {
        "infer": ({"source": {"datasets": [experiment_set.pk]}}, InferConfig),
        "measure": ({"machine": machine.pk}, MeasureConfig),
        "check-model": ({"machine": machine.pk, "reference": mapping.pk}, CheckConfig),
        "block": ({"machine": machine.pk, "blocks": ["4801d8"]}, BlockConfig),
    }
    return {
        **{kind: (config, names_of(shape)) for kind, (config, shape) in described.items()},
        "import": ({"upload": upload.pk}, names_of(ImportConfig)),
        "evaluate": (
            {"mapping": mapping.pk, "experiment_set": experiment_set.pk},
            names_of(EvaluationConfig),
        ),
    }


def test_an_odd_value_in_any_field_is_refused_or_taken(good: dict[str, tuple[Json, list[str]]]) -> None:
    messages = []
    for kind, config in _odd(good):
        try:
            job(kind).check(config)
        except (RunsError, ExchangeError, CoreError) as error:
            messages.append(str(error))
    assert len(messages) > 500
    assert [message for message in messages if PYDANTIC.search(message)] == []


@pytest.mark.parametrize("kind", ["infer", "measure", "check-model"])
def test_schemes_that_no_database_could_have_are_refused(
    good: dict[str, tuple[Json, list[str]]], kind: str
) -> None:
    with pytest.raises(RunsError, match="schemes must be"):
        job(kind).check({**good[kind][0], "schemes": [2**63]})


def _odd(good: dict[str, tuple[Json, list[str]]]) -> Iterator[tuple[str, Json]]:
    for kind, (config, names) in good.items():
        job(kind).check(config)  # is a good one
        yield from ((kind, {**config, name: odd}) for name in names for odd in ODD)
    infer, block = good["infer"][0], good["block"][0]
    mapping = good["evaluate"][0]["mapping"]
    for odd in ODD:
        yield from (("infer", {"source": {name: odd}}) for name in ("datasets", "machine", "simulate"))
        yield from (("infer", {"source": {"simulate": mapping, name: odd}}) for name in NOISE_OPTIONS)
        yield from (("block", {**block, "options": {each.name: odd}}) for each in fields(BlockOptions))
        for algorithm in ("cegar", "explain"):
            chosen = {**infer, "algorithm": algorithm}
            for setting in ALGORITHMS[algorithm].settings().as_json():
                yield "infer", {**chosen, "settings": {setting: odd}}
            for name in KnownFacts.model_fields:
                yield "infer", {**chosen, "known": {name: odd}}
                yield "infer", {**chosen, "known": {name: {ADD: odd}}}
