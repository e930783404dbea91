"""Runs of kind `comparison`: what predictors say of the experiments of a set, beside its measurements."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from inference.core.event import Event
from inference.core.events import Log, PhaseStarted, ResultStored
from inference.core.judging.sheet import Answers, AnswerSheet
from inference.core.metrics import Unit
from inference.core.protocols import Json
from inference.core.tables import ExperimentTable
from inference.features.judging.comparisons.columns import (
    Asking,
    ComparisonPass,
    measured_elsewhere,
    tell_progress,
)
from inference.features.judging.comparisons.request import ComparisonConfig, read_config
from inference.models import (
    ComparedColumn,
    Comparison,
    ExperimentSet,
    PortMapping,
    Predictor,
    ResourceMapping,
    Run,
)
from inference.predictors.protocol import PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Store, Task
from inference.storage.answer_sheets import answers_field, pictured, sheet_fields, summarised
from inference.storage.resource_mappings import load_model

STAGES = ("read", "ask", "sum up")
Kind = ComparedColumn.Kind


@dataclass(frozen=True, eq=False)
class ComparisonColumn:
    """A column to be stored: `source` are the fields that say where it is from."""

    kind: Kind
    name: str
    answers: Answers
    source: Json
    error: str = ""


class ComparisonJob:
    """Runs of kind `comparison`. Interrupted, they begin anew; what tools have answered is remembered."""

    def check(self, config: Json) -> Json:
        """The description made complete."""
        return read_config(config).as_json()

    def submitted(self, run: Run) -> None:
        """Nothing is to be prepared."""

    def work(self, task: Task) -> Store:
        """Read the set, ask, sum up. A tool that cannot work here says nothing, and the others go on."""
        config = ComparisonConfig.stored(task.run.config)
        judge = ExperimentSet.objects.filter(pk=config.experiment_set).select_related("isa").first()
        if judge is None:
            raise JobError("the experiment set to compare on has been deleted")
        _stage(task, 0)
        mappings, resources = (
            _rows(PortMapping, config.mappings),
            _rows(ResourceMapping, config.resource_mappings),
        )
        models = [load_model(row) for row in (*mappings, *resources)]
        reading = ComparisonPass(judge, models, config.tools)
        reading.add_all(task)
        items = reading.items
        if not len(items):
            raise JobError(f"{judge.name!r} has no settled measurement to compare with")
        said = iter(reading.modelled)
        columns = [ComparisonColumn(Kind.MAPPING, row.name, next(said), {"mapping": row}) for row in mappings]
        columns += [
            ComparisonColumn(Kind.RESOURCES, row.name, next(said), {"resource_mapping": row})
            for row in resources
        ]
        columns += [
            ComparisonColumn(Kind.TOOL, name, answers, {})
            for name, answers in zip(config.tools, reading.annotated, strict=True)
        ]
        columns += [
            ComparisonColumn(Kind.SET, row.name, measured_elsewhere(items, row), {"experiment_set": row})
            for row in _rows(ExperimentSet, config.other_sets)
        ]
        _stage(task, 1)
        assert items.table is not None, "experiments have schemes"
        columns += _asked(task, items.table, config)
        _stage(task, 2)
        sheet = AnswerSheet(items, reading.cycles, [column.answers for column in columns])
        return partial(_store, task.run, judge, reading.read, _summed_up(task, sheet, columns))


def _stage(task: Task, index: int) -> None:
    task.reporter.emit(PhaseStarted(STAGES[index], index + 1, STAGES))


def _rows(model: type[Any], ids: Sequence[int]) -> list[Any]:
    """In the order of the ids; raises `JobError` where one is gone."""
    found = model._default_manager.in_bulk(ids)
    if gone := [pk for pk in ids if pk not in found]:
        raise JobError(f"the {model._meta.verbose_name} {gone[0]} to compare has been deleted")
    return [found[pk] for pk in ids]


def _asked(task: Task, table: ExperimentTable, config: ComparisonConfig) -> list[ComparisonColumn]:
    if not config.predictors:
        return []
    rows = _rows(Predictor, config.predictors)
    asking = Asking(task, table, config)
    columns = []
    for row in rows:
        try:
            columns.append(ComparisonColumn(Kind.PREDICTOR, row.name, asking.ask(row), {"predictor": row}))
        except PredictorError as error:
            task.reporter.emit(Log("warning", f"{row.name} cannot be asked: {error}"))
            columns.append(
                ComparisonColumn(
                    Kind.PREDICTOR, row.name, asking.nothing(), {"predictor": row}, error=str(error)
                )
            )
    return columns


@dataclass(frozen=True, eq=False)
class _SummedUp:
    """Everything that is stored, worked out before the transaction that stores it."""

    n: int
    fields: list[Json]
    common: int
    points: Json


def _summed_up(task: Task, sheet: AnswerSheet, columns: Sequence[ComparisonColumn]) -> _SummedUp:
    fields = []
    began = time.monotonic()
    for position, column in enumerate(columns):
        tell_progress(task, "sum up", position, len(columns), "predictors", began)
        fields.append(
            {
                "kind": column.kind,
                "name": column.name[:200],
                "error": column.error,
                "summary": summarised(sheet, position),
                "pictures": pictured(sheet, position),
                "answers": answers_field(column.answers),
                **column.source,
            }
        )
    return _SummedUp(len(sheet.items), fields, int(sheet.common.sum()), sheet_fields(sheet))


def _store(run: Run, judge: ExperimentSet, read: int, found: _SummedUp) -> tuple[Json, Sequence[Event]]:
    row = Comparison.objects.create(
        run=run,
        isa=judge.isa,
        experiment_set=judge if ExperimentSet.objects.filter(pk=judge.pk).exists() else None,
        source=judge.name,
        read=read,
        n=found.n,
        common=found.common,
        **found.points,
    )
    for position, fields in enumerate(found.fields):
        ComparedColumn.objects.create(comparison=row, position=position, **fields)
    scores = [
        {"name": fields["name"], **fields["summary"]["scores"][Unit.CYCLES.value]} for fields in found.fields
    ]
    result: Json = {
        "comparison": row.pk,
        "name": f"{len(scores)} predictors on {judge.name}",
        "url": f"/comparisons/{run.pk}/",
        "scores": scores,
    }
    return result, [ResultStored({"name": result["name"], "url": result["url"]})]
