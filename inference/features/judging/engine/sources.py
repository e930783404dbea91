"""Sources of answers for experiments and blocks: their texts and their rows.

    mapping:3  resources:1  core-model:2  machine:1  predictor:llvm-mca:release=19,cpu=skylake
    set:12     tool:IACA    column:uiCA

A source is a kind and, behind the colon, the number of a row or its name. `set` and `tool` have answers for
the experiments of a set, `column` for the blocks of a basic-block set; all others answer for both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from inference.core.judging.sheet import Answers
from inference.features.asking.block_sets.columns import column_named, is_measured
from inference.features.asking.predictors.modes import MEASURING
from inference.features.asking.predictors.offers import offered_rows
from inference.features.asking.predictors.query import row_for
from inference.formats.problems import ExchangeError
from inference.isa.targets import target_of
from inference.models import (
    BasicBlockSet,
    BlockColumn,
    ComparedColumn,
    ExperimentSet,
    Machine,
    PortMapping,
    Predictor,
    ResourceMapping,
    StoredCoreModel,
)
from inference.predictors import core_model, machine, mapping
from inference.predictors.kinds import KINDS
from inference.predictors.protocol import PredictorError
from inference.storage.names import by_name

Subject = ExperimentSet | BasicBlockSet
"""The set whose items sources answer for."""
PUBLISHED = frozenset(kind.name for kind in KINDS.values() if not kind.is_uncontained)
"""Kinds of predictors that are published tools."""
SourceRow = (
    PortMapping | ResourceMapping | StoredCoreModel | Machine | Predictor | ExperimentSet | BlockColumn
)


class SourceKind(StrEnum):
    MAPPING = "mapping"
    RESOURCES = "resources"
    CORE_MODEL = "core-model"
    MACHINE = "machine"
    PREDICTOR = "predictor"
    SET = "set"
    TOOL = "tool"
    COLUMN = "column"


_MODELS: dict[SourceKind, type[SourceRow]] = {
    SourceKind.MAPPING: PortMapping,
    SourceKind.RESOURCES: ResourceMapping,
    SourceKind.CORE_MODEL: StoredCoreModel,
    SourceKind.MACHINE: Machine,
    SourceKind.PREDICTOR: Predictor,
    SourceKind.SET: ExperimentSet,
    SourceKind.COLUMN: BlockColumn,
}
_PREDICTOR_OPTIONS = {
    SourceKind.MAPPING: (mapping.KIND, "mapping"),
    SourceKind.RESOURCES: (mapping.KIND, "mapping"),
    SourceKind.CORE_MODEL: (core_model.KIND, "model"),
    SourceKind.MACHINE: (machine.KIND, "machine"),
}
"""{kind: (kind of the predictor that answers for it, the predictor's option with its name)}."""
_OF_EXPERIMENTS = frozenset({SourceKind.SET, SourceKind.TOOL})
_OF_BLOCKS = frozenset({SourceKind.COLUMN})
_COLUMN_KINDS = {
    SourceKind.MAPPING: ComparedColumn.Kind.MAPPING,
    SourceKind.RESOURCES: ComparedColumn.Kind.RESOURCES,
    SourceKind.SET: ComparedColumn.Kind.SET,
    SourceKind.TOOL: ComparedColumn.Kind.TOOL,
    SourceKind.COLUMN: ComparedColumn.Kind.COLUMN,
}
"""{kind: kind of its column} of sources with direct answers; others answer as predictors."""
_COLUMN_FIELDS = {
    SourceKind.MAPPING: "mapping",
    SourceKind.RESOURCES: "resource_mapping",
    SourceKind.SET: "experiment_set",
    SourceKind.COLUMN: "block_column",
    SourceKind.PREDICTOR: "predictor",
}


class SourceError(ExchangeError):
    """A text names no source, or a source without answers for the items."""


@dataclass(frozen=True)
class AnswerSource:
    """A source; `row` is None for an annotated tool, whose answers are part of a set."""

    kind: SourceKind
    name: str
    row: SourceRow | None = None

    @property
    def text(self) -> str:
        """Text that names the source by the id of its row."""
        return f"{self.kind}:{self.name if self.row is None else self.row.pk}"

    @property
    def column_kind(self) -> ComparedColumn.Kind:
        return _COLUMN_KINDS.get(self.kind, ComparedColumn.Kind.PREDICTOR)

    @property
    def predictor_kind(self) -> str:
        """The kind of the predictor that answers, or whose answers a column has; "" without one."""
        row = self.row.predictor if isinstance(self.row, BlockColumn) else self.row
        return row.kind if isinstance(row, Predictor) else ""

    @property
    def measures(self) -> bool:
        if isinstance(self.row, BlockColumn):
            return is_measured(self.row)
        return self.kind is SourceKind.SET or self.predictor_kind in MEASURING

    @property
    def is_published(self) -> bool:
        return self.kind is SourceKind.TOOL or self.predictor_kind in PUBLISHED

    @property
    def column_fields(self) -> dict[str, SourceRow]:
        """{field of a column that refers to its row: the row}."""
        return {} if self.row is None else {_COLUMN_FIELDS[self.kind]: self.row}

    def needs_predictor(self, subject: Subject) -> bool:
        """Whether it answers for these items as a predictor, which has to be asked about blocks."""
        if isinstance(subject, BasicBlockSet):
            return self.kind is not SourceKind.COLUMN
        return self.kind in (SourceKind.CORE_MODEL, SourceKind.MACHINE, SourceKind.PREDICTOR)

    def as_predictor(self) -> Predictor:
        """The stored predictor that answers for it, created if there is none. Raises `PredictorError`."""
        if isinstance(self.row, Predictor):
            return self.row
        kind, option = _PREDICTOR_OPTIONS[self.kind]
        return row_for(kind, {option: self.name})


@dataclass(frozen=True, eq=False)
class ComparisonColumn:
    """A column to store; `error`: why the source has no answers at all."""

    source: AnswerSource
    answers: Answers
    error: str = ""


def offered_predictor(text: str) -> Predictor:
    """The stored predictor of an offer. Raises `PredictorError` for other texts, which could name any
    program."""
    return offered_rows([text])[0]


def source_named(
    text: str, subject: Subject, predictor: Callable[[str], Predictor] = offered_predictor
) -> AnswerSource:
    """The source that a text names, for the items of a set.

    Args:
        text: The source, as in the module's docstring.
        subject: The set whose items it answers for.
        predictor: Returns the predictor of a text that is no id. Raises `PredictorError`.

    Raises:
        SourceError: if there is no such source, or it has no answers for these items.
    """
    kind, name = _split_text(text)
    is_block_set = isinstance(subject, BasicBlockSet)
    if kind in (_OF_EXPERIMENTS if is_block_set else _OF_BLOCKS):
        items = "blocks" if is_block_set else "experiments"
        raise SourceError(f"{text}: a {kind} has no answers for {items}")
    if kind is SourceKind.TOOL:
        return AnswerSource(kind, name)
    try:
        row = _row(kind, name, subject, predictor)
    except (ExchangeError, PredictorError) as error:
        raise SourceError(f"{text}: {error}") from error
    source = AnswerSource(kind, str(row.name), row)
    _check(source, text, subject)
    return source


def _split_text(text: str) -> tuple[SourceKind, str]:
    kind, colon, name = text.partition(":")
    if kind not in set(SourceKind) or not colon or not name:
        kinds = ", ".join(f"{kinds}:…" for kinds in SourceKind)
        raise SourceError(f"{text[:80]!r} is no source: write one of {kinds}")
    return SourceKind(kind), name


def _row(kind: SourceKind, name: str, subject: Subject, predictor: Callable[[str], Predictor]) -> SourceRow:
    model = _MODELS[kind]
    if name.isdecimal() and len(name) < 19:
        row = model._default_manager.filter(pk=int(name)).first()
        if row is None:
            raise SourceError(f"there is no {model._meta.verbose_name} with this number")
        return row
    if kind is SourceKind.PREDICTOR:
        return predictor(name)
    if kind is SourceKind.COLUMN:
        assert isinstance(subject, BasicBlockSet), "only blocks have columns"
        return column_named(subject, name)
    return by_name(model, name)  # type: ignore[type-var]


def _check(source: AnswerSource, text: str, subject: Subject) -> None:
    if isinstance(source.row, BlockColumn) and source.row.block_set_id != subject.pk:
        raise SourceError(f"{text}: {subject.name!r} has no such column")
    if source.row == subject:
        raise SourceError(f"{text}: a set cannot be compared with itself")
    if isinstance(subject, BasicBlockSet):
        return
    if source.needs_predictor(subject) and target_of(subject.isa.name).blocks is None:
        raise SourceError(
            f"{text}: {subject.name!r} is for {subject.isa.name}, whose experiments cannot become blocks"
        )
    of_isa = isinstance(source.row, PortMapping | ResourceMapping | ExperimentSet)
    if of_isa and source.row.isa_id != subject.isa_id:  # type: ignore[union-attr]
        raise SourceError(f"{text}: {source.name!r} and {subject.name!r} are for different instruction sets")
