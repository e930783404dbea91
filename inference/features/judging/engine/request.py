"""The descriptions of runs that compare, and their checks.

`judge` compares any sources on any items; `comparison` is an older description for experiments alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import read_set, usual_reference
from inference.features.asking.predictors.modes import (
    AS_NAMED,
    QuestionMode,
    mode_of_measurements,
    row_in_mode,
)
from inference.features.judging.engine.sources import SourceError, SourceKind, Subject, source_named
from inference.measuring.blocks import LOOP
from inference.models import BasicBlockSet, ExperimentSet
from inference.predictors import machine
from inference.predictors.protocol import PredictorError
from inference.runs.errors import ConfigError
from inference.runs.request import RunRequest, read_row

KIND = "judge"
BY_KIND_OF_COLUMN = "comparison"
"""The kind of runs whose description has a list of ids for each kind of column."""
KINDS = (KIND, BY_KIND_OF_COLUMN)
COMPARE_SETS = "compare-sets"
ALL_KINDS = (*KINDS, COMPARE_SETS, "accuracy", "accuracy-check", "matrix")
"""With those that other features describe in their own words (`JudgeJob.description`)."""
EVALUATE = "evaluate"
"""Runs of this kind store a comparison too, which the tab of their mapping shows."""
MAX_COLUMNS = 24
INSTRUCTIONS = 10
"""Of the block that an experiment becomes, at least (thesis §5.2.2)."""
DEFAULT_SAMPLE = 20_000
"""Experiments that each tool is asked for, unless a description says otherwise."""


class QuestionLimits(RunRequest):
    """How sources that answer for blocks are asked about the items.

    Experiments become blocks of at least `instructions` instructions. Of more items than `most`, the `seed`
    draws those that are asked for. In `mode`; without, as the measurements were made.
    """

    instructions: Annotated[
        int, Field(ge=1, le=200, description="Fewest instructions of a block that tools predict.")
    ] = INSTRUCTIONS
    most: Annotated[
        int,
        Field(
            ge=1,
            le=1_000_000,
            description="Largest number of experiments per tool; above it, a random sample.",
        ),
    ] = DEFAULT_SAMPLE
    seed: Annotated[int, Field(ge=0, le=2**32 - 1, description="Seed of that sample.")] = 1
    mode: QuestionMode = AS_NAMED


class JudgeConfig(QuestionLimits):
    """Whose items are compared, by which sources: an `experiment_set` or a `block_set`, by their ids.

    `sources` and `against`: see `engine.sources`. `against` is what the sources are held against: of a set,
    its measurements unless another source is named; of a block set, a source, by default a measured column.
    Whoever is asked is asked about copies in a loop, as on the page, unless `mode` says otherwise; where that
    is empty, as the items were measured.
    """

    noun = "a comparison"
    experiment_set: Annotated[int | None, Field(examples=[3])] = None
    block_set: int | None = None
    sources: Annotated[
        list[str], Field(min_length=1, max_length=MAX_COLUMNS, examples=[["mapping:7", "tool:IACA"]])
    ]
    against: Annotated[str, Field(max_length=300, examples=[""])] = ""
    rounds: Annotated[
        int,
        Field(
            ge=0,
            le=9,
            description="With a machine as the reference of a block set: number of measurements of each "
            "block, of which the median counts; one more shows the repeatability. The blocks "
            "become a set of their own. 0: a single measurement.",
        ),
    ] = 0
    mode: QuestionMode = LOOP

    @property
    def texts(self) -> list[str]:
        """All sources, the reference included."""
        return [*self.sources, *([self.against] if self.against else [])]


def read_config(description: Json) -> JudgeConfig:
    """Check and complete a description of kind `judge`. Raises `ConfigError` naming the field."""
    config = JudgeConfig.read(description)
    subject = subject_of(config)
    against = config.against
    if not against and isinstance(subject, BasicBlockSet):
        against = _default_reference(subject)
    sources = _sources(subject, config, "sources", config.sources)
    reference = _sources(subject, config, "against", [against]) if against else [""]
    if not config.against:
        sources = [text for text in sources if text != reference[0]]
    if config.rounds and not _is_machine(reference[0], subject):
        raise ConfigError("rounds: only a machine that others are held against measures blocks of a set so")
    if not sources:
        raise ConfigError(f"sources: {against!r} is what they are held against, and there is no other")
    if reference[0] in sources:
        raise ConfigError(f"against: {against!r} is one of the sources: it would be compared with itself")
    return config.model_copy(update={"sources": sources, "against": reference[0]})


def _is_machine(text: str, subject: Subject) -> bool:
    if not text or not isinstance(subject, BasicBlockSet):
        return False
    return source_named(text, subject).predictor_kind == machine.KIND


def subject_of(config: JudgeConfig) -> Subject:
    """The set whose items are compared. Raises `ConfigError`."""
    if (config.experiment_set is None) == (config.block_set is None):
        raise ConfigError("name an experiment_set or a block_set, one of the two")
    if config.experiment_set is not None:
        sets = ExperimentSet.objects.select_related("isa")
        return read_row(sets, "experiment_set", config.experiment_set)
    return read_set(config.block_set)


def _default_reference(block_set: BasicBlockSet) -> str:
    columns = list(block_set.columns.select_related("predictor").order_by("position"))
    if not columns:
        raise ConfigError(f"against: {block_set.name!r} has no column: name the reference")
    return f"{SourceKind.COLUMN}:{usual_reference(columns).pk}"


def _sources(subject: Subject, config: QuestionLimits, field: str, texts: Sequence[str]) -> list[str]:
    """The written forms by number; of what is asked about blocks, the predictor in its mode."""
    measured_here = isinstance(subject, ExperimentSet) and subject.origin != ExperimentSet.Origin.UPLOAD
    try:
        sources = [source_named(text, subject) for text in texts]
        rows = {source.text: source.as_predictor() for source in sources if source.needs_predictor(subject)}
        mode = config.mode or (LOOP if measured_here else mode_of_measurements(rows.values()))
        rows_in_mode = {text: row_in_mode(row, mode) for text, row in rows.items()}
    except (SourceError, PredictorError) as error:
        raise ConfigError(f"{field}: {error}") from error
    texts_of_sources = (
        f"{SourceKind.PREDICTOR}:{rows_in_mode[source.text].pk}"
        if source.text in rows_in_mode
        else source.text
        for source in sources
    )
    return list(dict.fromkeys(texts_of_sources))


class ComparisonConfig(QuestionLimits):
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
        list[str], Field(description="Names of tools whose answers are in the set.", examples=[["IACA"]])
    ] = []
    other_sets: Annotated[
        list[int], Field(description="Ids of sets with measurements of the same experiments.")
    ] = []
    predictors: list[int] = []

    def texts_of(self, field: str) -> list[str]:
        return [f"{SOURCE_LISTS[field]}:{entry}" for entry in getattr(self, field)]

    @property
    def as_judge(self) -> JudgeConfig:
        return JudgeConfig(
            experiment_set=self.experiment_set,
            sources=[text for field in SOURCE_LISTS for text in self.texts_of(field)],
            **{name: getattr(self, name) for name in QuestionLimits.model_fields},
        )


SOURCE_LISTS = {
    "mappings": SourceKind.MAPPING,
    "resource_mappings": SourceKind.RESOURCES,
    "tools": SourceKind.TOOL,
    "other_sets": SourceKind.SET,
    "predictors": SourceKind.PREDICTOR,
}
"""{field of `ComparisonConfig`: what its entries are}, in the order of the columns."""


def read_lists(description: Json) -> ComparisonConfig:
    """Check and complete a description of kind `comparison`. Raises `ConfigError` naming the field."""
    config = ComparisonConfig.read(description)
    subject = read_row(ExperimentSet.objects.select_related("isa"), "experiment_set", config.experiment_set)
    checked = {
        field: [
            entry if kind is SourceKind.TOOL else int(entry)
            for text in _sources(subject, config, field, config.texts_of(field))
            for entry in [text.partition(":")[2]]
        ]
        for field, kind in SOURCE_LISTS.items()
    }
    number = sum(map(len, checked.values()))
    if not 1 <= number <= MAX_COLUMNS:
        raise ConfigError(f"choose from 1 to {MAX_COLUMNS} predictors, not {number}")
    return config.model_copy(update=checked)
