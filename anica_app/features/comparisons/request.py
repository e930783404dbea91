"""What a run of kind `comparison` compares: its description, checked and made complete."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from anica_app.features.comparisons.experiment_blocks import INSTRUCTIONS
from anica_app.models import Predictor
from inference.core.protocols import Json
from inference.features.inferring.request import read_whole
from inference.models import ExperimentSet, PortMapping, ResourceMapping
from inference.runs.described_rows import read_row, read_rows
from inference.runs.errors import ConfigError
from inference.storage.instruction_sets import X86

KIND = "comparison"
MOST_COLUMNS = 24
MOST_ASKED = 20_000
"""Experiments that each tool is asked for, unless a description says otherwise."""

_LIMITS = {"instructions": (1, 200), "most": (1, 1_000_000), "seed": (0, 2**31 - 1)}


@dataclass(frozen=True)
class ComparisonConfig:
    """Ids of rows, by kind of column.

    `tools`: names of those whose answers came with the set. `predictors` are asked for blocks of at least
    `instructions` instructions, for `most` experiments at most, which `seed` draws.
    """

    experiment_set: int
    mappings: list[int] = field(default_factory=list)
    resource_mappings: list[int] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    other_sets: list[int] = field(default_factory=list)
    predictors: list[int] = field(default_factory=list)
    instructions: int = INSTRUCTIONS
    most: int = MOST_ASKED
    seed: int = 1

    def as_json(self) -> Json:
        """The complete description."""
        return asdict(self)

    @property
    def columns(self) -> int:
        """How many columns it asks for."""
        rows = (*self.mappings, *self.resource_mappings, *self.other_sets, *self.predictors)
        return len(self.tools) + len(rows)


def read_config(given: Json) -> ComparisonConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    known = list(ComparisonConfig.__dataclass_fields__)
    if unknown := sorted(given.keys() - set(known)):
        raise ConfigError(f"a comparison has no field {unknown[0]!r}; its fields are {', '.join(known)}")
    sets = ExperimentSet.objects.select_related("isa")
    judge = read_row(sets, "experiment_set", given.get("experiment_set"))
    config = ComparisonConfig(
        judge.pk,
        _of_isa("mappings", given, PortMapping, judge),
        _of_isa("resource_mappings", given, ResourceMapping, judge),
        _tools(given.get("tools", [])),
        _of_isa("other_sets", given, ExperimentSet, judge),
        _predictors(given.get("predictors", []), judge),
        **{
            name: read_whole(name, given.get(name, getattr(ComparisonConfig, name)), *limits)
            for name, limits in _LIMITS.items()
        },
    )
    if judge.pk in config.other_sets:
        raise ConfigError("other_sets: a set cannot be compared with itself")
    if not 1 <= config.columns <= MOST_COLUMNS:
        raise ConfigError(f"choose from 1 to {MOST_COLUMNS} predictors, not {config.columns}")
    return config


def _of_isa(name: str, given: Json, model: type[Any], judge: ExperimentSet) -> list[int]:
    rows = read_rows(model, name, given.get(name, []))
    for row in rows:
        if row.isa_id != judge.isa_id:
            raise ConfigError(f"{name}: {row.name!r} and {judge.name!r} are for different instruction sets")
    return [row.pk for row in rows]


def _predictors(given: object, judge: ExperimentSet) -> list[int]:
    ids = [row.pk for row in read_rows(Predictor, "predictors", given)]
    if ids and judge.isa.name != X86:
        raise ConfigError(
            f"predictors can be asked about {X86} alone, and {judge.name!r} is for {judge.isa.name}"
        )
    return ids


def _tools(given: object) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise ConfigError(f"tools must be a list of names, not {given!r:.80}")
    return list(dict.fromkeys(given))
