"""Sources of answers for experiments and blocks: how they are written, who may name them, and which rows
they are.

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
from inference.features.asking.predictors.offers import named
from inference.features.asking.predictors.query import row_for
from inference.formats.errors import ExchangeError
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
"""Whose items sources answer for."""
PUBLISHED = frozenset(kind.name for kind in KINDS.values() if not kind.is_uncontained)
"""Kinds of predictors that others have published."""
Row = PortMapping | ResourceMapping | StoredCoreModel | Machine | Predictor | ExperimentSet | BlockColumn


class SourceKind(StrEnum):
    MAPPING = "mapping"
    RESOURCES = "resources"
    CORE_MODEL = "core-model"
    MACHINE = "machine"
    PREDICTOR = "predictor"
    SET = "set"
    TOOL = "tool"
    COLUMN = "column"


_MODELS: dict[SourceKind, type[Row]] = {
    SourceKind.MAPPING: PortMapping,
    SourceKind.RESOURCES: ResourceMapping,
    SourceKind.CORE_MODEL: StoredCoreModel,
    SourceKind.MACHINE: Machine,
    SourceKind.PREDICTOR: Predictor,
    SourceKind.SET: ExperimentSet,
    SourceKind.COLUMN: BlockColumn,
}
_ASKED = {
    SourceKind.MAPPING: (mapping.KIND, "mapping"),
    SourceKind.RESOURCES: (mapping.KIND, "mapping"),
    SourceKind.CORE_MODEL: (core_model.KIND, "model"),
    SourceKind.MACHINE: (machine.KIND, "machine"),
}
"""{kind: (kind of the predictor that answers for it, that one's option for its name)}."""
_OF_EXPERIMENTS = frozenset({SourceKind.SET, SourceKind.TOOL})
_OF_BLOCKS = frozenset({SourceKind.COLUMN})
_COLUMN_KINDS = {
    SourceKind.MAPPING: ComparedColumn.Kind.MAPPING,
    SourceKind.RESOURCES: ComparedColumn.Kind.RESOURCES,
    SourceKind.SET: ComparedColumn.Kind.SET,
    SourceKind.TOOL: ComparedColumn.Kind.TOOL,
    SourceKind.COLUMN: ComparedColumn.Kind.COLUMN,
}
"""Of what answers by itself; everything else is asked as a predictor."""
_FIELDS = {
    SourceKind.MAPPING: "mapping",
    SourceKind.RESOURCES: "resource_mapping",
    SourceKind.SET: "experiment_set",
    SourceKind.COLUMN: "block_column",
    SourceKind.PREDICTOR: "predictor",
}


class SourceError(ExchangeError):
    """A text names no source, or one that has no answers for these items."""


@dataclass(frozen=True)
class AnswerSource:
    """A source; `row` is None for a tool, whose answers came with a set."""

    kind: SourceKind
    name: str
    row: Row | None = None

    @property
    def text(self) -> str:
        """Its written form, by the number of its row."""
        return f"{self.kind}:{self.name if self.row is None else self.row.pk}"

    @property
    def column_kind(self) -> ComparedColumn.Kind:
        """What its column is called."""
        return _COLUMN_KINDS.get(self.kind, ComparedColumn.Kind.PREDICTOR)

    @property
    def predictor_kind(self) -> str:
        """The kind of the predictor that answers, or has filled a column; "" where there is none."""
        row = self.row.predictor if isinstance(self.row, BlockColumn) else self.row
        return row.kind if isinstance(row, Predictor) else ""

    @property
    def measures(self) -> bool:
        """Whether its answers are measured."""
        if isinstance(self.row, BlockColumn):
            return is_measured(self.row)
        return self.kind is SourceKind.SET or self.predictor_kind in MEASURING

    @property
    def is_published(self) -> bool:
        """Whether it is a tool that others have published."""
        return self.kind is SourceKind.TOOL or self.predictor_kind in PUBLISHED

    @property
    def column_fields(self) -> dict[str, Row]:
        """The field of a column that refers to its row."""
        return {} if self.row is None else {_FIELDS[self.kind]: self.row}

    def needs_predictor(self, subject: Subject) -> bool:
        """Whether it answers for these items as a predictor of blocks."""
        if isinstance(subject, BasicBlockSet):
            return self.kind is not SourceKind.COLUMN
        return self.kind in (SourceKind.CORE_MODEL, SourceKind.MACHINE, SourceKind.PREDICTOR)

    def as_predictor(self) -> Predictor:
        """The predictor that answers for it, made where there is none. Raises `PredictorError`."""
        if isinstance(self.row, Predictor):
            return self.row
        kind, option = _ASKED[self.kind]
        return row_for(kind, {option: self.name})


@dataclass(frozen=True, eq=False)
class ComparisonColumn:
    """A column to be stored; `error`: why the source says nothing at all."""

    source: AnswerSource
    answers: Answers
    error: str = ""


def offered_predictor(text: str) -> Predictor:
    """A predictor of this site by its name or text: of other texts, an operator alone may make one."""
    return named([text])[0]


def source_named(
    text: str, subject: Subject, predictor: Callable[[str], Predictor] = offered_predictor
) -> AnswerSource:
    """The source that a text names, for the items of a set.

    Args:
        text: As the module has it.
        subject: The set whose items it is to answer for.
        predictor: Finds a predictor by a text that is no number. Raises `PredictorError`.

    Raises:
        SourceError: where there is no such source, or where it has no answers for these items.
    """
    kind, name = _parts(text)
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


def _parts(text: str) -> tuple[SourceKind, str]:
    kind, colon, name = text.partition(":")
    if kind not in set(SourceKind) or not colon or not name:
        known = ", ".join(f"{known}:…" for known in SourceKind)
        raise SourceError(f"{text[:80]!r} is no source: write one of {known}")
    return SourceKind(kind), name


def _row(kind: SourceKind, name: str, subject: Subject, predictor: Callable[[str], Predictor]) -> Row:
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
            f"{text}: {subject.name!r} is for {subject.isa.name}, of which no blocks can be made"
        )
    of_isa = isinstance(source.row, PortMapping | ResourceMapping | ExperimentSet)
    if of_isa and source.row.isa_id != subject.isa_id:  # type: ignore[union-attr]
        raise SourceError(f"{text}: {source.name!r} and {subject.name!r} are for different instruction sets")
