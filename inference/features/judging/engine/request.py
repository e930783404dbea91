"""What a run compares: its description, checked and made complete.

`judge` compares any sources on any items; `comparison` is how earlier versions described the same for
experiments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from inference.core.protocols import Json
from inference.features.asking.block_sets.accuracy import usual_reference
from inference.features.asking.block_sets.columns import read_set
from inference.features.asking.predictors.modes import (
    AS_NAMED,
    QuestionMode,
    asked_in_mode,
    in_mode,
    mode_of_measurements,
)
from inference.features.judging.engine.experiment_blocks import INSTRUCTIONS
from inference.features.judging.engine.sources import SourceError, SourceKind, Subject, read_source
from inference.isa.targets import names_with_blocks, target_of
from inference.measuring.blocks import LOOP
from inference.models import BasicBlockSet, ExperimentSet, PortMapping, Predictor, ResourceMapping
from inference.predictors.protocol import PredictorError
from inference.runs.described_rows import read_row, read_rows
from inference.runs.errors import ConfigError
from inference.runs.request import RunRequest

KIND = "judge"
BY_KIND_OF_COLUMN = "comparison"
"""The kind of runs whose description has a list of ids for each kind of column."""
KINDS = (KIND, BY_KIND_OF_COLUMN)
MOST_COLUMNS = 24
MOST_ASKED = 20_000
"""Experiments that each tool is asked for, unless a description says otherwise."""


class AskedSources(RunRequest):
    """How sources that answer for blocks are asked about the items.

    Experiments become blocks of at least `instructions` instructions. Of more items than `most`, the `seed`
    draws those that are asked for. In `mode`; without, as the measurements were made.
    """

    instructions: Annotated[
        int, Field(ge=1, le=200, description="Of a block that is asked for, at least.")
    ] = INSTRUCTIONS
    most: Annotated[
        int, Field(ge=1, le=1_000_000, description="Experiments that each tool is asked for.")
    ] = MOST_ASKED
    seed: Annotated[int, Field(ge=0, le=2**31 - 1, description="Draws them, where there are more.")] = 1
    mode: QuestionMode = AS_NAMED


class JudgeConfig(AskedSources):
    """Whose items are compared, by which sources: an `experiment_set` or a `block_set`, by their ids.

    `sources` and `against`: see `engine.sources`. `against` is what the sources are held against: of a set,
    its measurements unless another source is named; of a block set, a source, by default a measured column.
    """

    noun = "a comparison"
    experiment_set: Annotated[int | None, Field(examples=[3])] = None
    block_set: int | None = None
    sources: Annotated[
        list[str], Field(min_length=1, max_length=MOST_COLUMNS, examples=[["mapping:7", "tool:IACA"]])
    ]
    against: Annotated[str, Field(max_length=300, examples=[""])] = ""

    @property
    def texts(self) -> list[str]:
        """All sources, the reference included."""
        return [*self.sources, *([self.against] if self.against else [])]


def read_config(given: Json) -> JudgeConfig:
    """Check and complete a description of kind `judge`. Raises `ConfigError` naming the field."""
    config = JudgeConfig.read(given)
    subject = _subject(config)
    against = config.against
    if not against and isinstance(subject, BasicBlockSet):
        against = _usual_column(subject)
    sources = _sources(subject, config, "sources", config.sources)
    reference = _sources(subject, config, "against", [against]) if against else [""]
    if not config.against:
        sources = [text for text in sources if text != reference[0]]
    if not sources:
        raise ConfigError(f"sources: {against!r} is what they are held against, and there is no other")
    if reference[0] in sources:
        raise ConfigError(f"against: {against!r} is one of the sources: it would be compared with itself")
    return config.model_copy(update={"sources": sources, "against": reference[0]})


def _subject(config: JudgeConfig) -> Subject:
    if (config.experiment_set is None) == (config.block_set is None):
        raise ConfigError("name an experiment_set or a block_set, one of the two")
    if config.experiment_set is not None:
        sets = ExperimentSet.objects.select_related("isa")
        return read_row(sets, "experiment_set", config.experiment_set)
    return read_set(config.block_set)


def _usual_column(block_set: BasicBlockSet) -> str:
    columns = list(block_set.columns.select_related("predictor").order_by("position"))
    if not columns:
        raise ConfigError(
            f"against: {block_set.name!r} has no column: name the source to hold others against"
        )
    return f"{SourceKind.COLUMN}:{usual_reference(columns).pk}"


def _sources(subject: Subject, config: JudgeConfig, field: str, texts: Sequence[str]) -> list[str]:
    """The written forms by number; of what is asked about blocks, the predictor in its mode."""
    measured_here = isinstance(subject, ExperimentSet) and subject.origin != ExperimentSet.Origin.UPLOAD
    try:
        sources = [read_source(text, subject) for text in texts]
        rows = {source.text: source.as_predictor() for source in sources if source.is_asked(subject)}
        mode = config.mode or (LOOP if measured_here else mode_of_measurements(rows.values()))
        asked = {text: in_mode(row, mode) for text, row in rows.items()}
    except (SourceError, PredictorError) as error:
        raise ConfigError(f"{field}: {error}") from error
    written = (
        f"{SourceKind.PREDICTOR}:{asked[source.text].pk}" if source.text in asked else source.text
        for source in sources
    )
    return list(dict.fromkeys(written))


class ComparisonConfig(AskedSources):
    """Ids of rows, by kind of column.

    `tools`: names of those whose answers came with the set. `predictors` are asked for blocks of at least
    `instructions` instructions, for `most` experiments at most, which `seed` draws; in `mode`, or in a loop
    where the set was measured here: experiments are.
    """

    noun = "a comparison"
    experiment_set: Annotated[int, Field(examples=[3])]
    mappings: Annotated[list[int], Field(examples=[[7]])] = []
    resource_mappings: list[int] = []
    tools: Annotated[
        list[str], Field(description="Their answers came with the set.", examples=[["IACA"]])
    ] = []
    other_sets: Annotated[list[int], Field(description="With measurements of the same experiments.")] = []
    predictors: list[int] = []

    @property
    def as_judge(self) -> JudgeConfig:
        """The same as any comparison is described."""
        lists: dict[SourceKind, Sequence[int | str]] = {
            SourceKind.MAPPING: self.mappings,
            SourceKind.RESOURCES: self.resource_mappings,
            SourceKind.TOOL: self.tools,
            SourceKind.SET: self.other_sets,
            SourceKind.PREDICTOR: self.predictors,
        }
        return JudgeConfig(
            experiment_set=self.experiment_set,
            sources=[f"{kind}:{entry}" for kind, entries in lists.items() for entry in entries],
            **{name: getattr(self, name) for name in AskedSources.model_fields},
        )

    @property
    def columns(self) -> int:
        """How many columns it asks for."""
        rows = (*self.mappings, *self.resource_mappings, *self.other_sets, *self.predictors)
        return len(self.tools) + len(rows)


def read_lists(given: Json) -> ComparisonConfig:
    """Check and complete a description of kind `comparison`. Raises `ConfigError` naming the field."""
    asked = ComparisonConfig.read(given)
    judge = read_row(ExperimentSet.objects.select_related("isa"), "experiment_set", asked.experiment_set)
    found = {
        "mappings": _of_isa("mappings", asked.mappings, PortMapping, judge),
        "resource_mappings": _of_isa("resource_mappings", asked.resource_mappings, ResourceMapping, judge),
        "tools": list(dict.fromkeys(asked.tools)),
        "other_sets": _of_isa("other_sets", asked.other_sets, ExperimentSet, judge),
        "predictors": _predictors(asked, judge),
    }
    config = asked.model_copy(update=found)
    if judge.pk in config.other_sets:
        raise ConfigError("other_sets: a set cannot be compared with itself")
    if not 1 <= config.columns <= MOST_COLUMNS:
        raise ConfigError(f"choose from 1 to {MOST_COLUMNS} predictors, not {config.columns}")
    return config


def _of_isa(name: str, ids: list[int], model: type[Any], judge: ExperimentSet) -> list[int]:
    rows = read_rows(model, name, ids)
    for row in rows:
        if row.isa_id != judge.isa_id:
            raise ConfigError(f"{name}: {row.name!r} and {judge.name!r} are for different instruction sets")
    return [row.pk for row in rows]


def _predictors(asked: ComparisonConfig, judge: ExperimentSet) -> list[int]:
    is_measured_here = judge.origin != ExperimentSet.Origin.UPLOAD
    mode = asked.mode or (LOOP if is_measured_here else AS_NAMED)
    ids = [row.pk for row in asked_in_mode(read_rows(Predictor, "predictors", asked.predictors), mode)]
    if ids and target_of(judge.isa.name).blocks is None:
        right = ", ".join(names_with_blocks())
        raise ConfigError(
            f"predictors can be asked about {right} alone, and {judge.name!r} is for {judge.isa.name}"
        )
    return ids
