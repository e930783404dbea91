"""Stores experiments and measurements in bulk, loads them as values, and summarises sets.

Storing is atomic and idempotent, since a run may repeat it after a crash. Rows are inserted in portable SQL:
a model instance per row costs several times what the database takes to store it. Loading keeps the order of
storing.

The summary of a set is stored with it, together with the number of its measurements and the newest id, which
tell whether it is up to date: rows are added and removed, never changed, and ids are not reused.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice, tee
from typing import Any, TypeVar

from django.db import connection, models, transaction
from django.db.models import Count, Max, Min, QuerySet, TextField
from django.db.models.functions import Cast

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.models import ISA, ExperimentSet, ExperimentTerm, InstructionScheme, Measurement
from inference.models import Experiment as ExperimentRow
from inference.storage.errors import MissingSchemesError

PORTION = 5000
"""Rows passed to the database at once, which bounds the memory used besides the caller's."""


Row = TypeVar("Row")


def portions(rows: Iterable[Row], size: int = PORTION) -> Iterator[list[Row]]:
    """The rows in lists of `size`; the last may be shorter, none is empty."""
    remaining = iter(rows)
    while portion := list(islice(remaining, size)):
        yield portion


def insert_missing(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows, ignoring those that violate a unique constraint."""
    insert_rows(model, columns, rows, "ON CONFLICT DO NOTHING")


def insert_rows(
    model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]], ending: str = ""
) -> None:
    """Insert rows, values in the order of `columns`. `ending`: end of the statement.

    Values are passed to the driver unchecked: JSON as text.
    """
    name = connection.ops.quote_name
    listed = ", ".join(name(column) for column in columns)
    marks = ", ".join(["%s"] * len(columns))
    statement = f"INSERT INTO {name(model._meta.db_table)} ({listed}) VALUES ({marks}) {ending}"  # noqa: S608 names of our tables
    with connection.cursor() as cursor:
        for portion in portions(rows):
            cursor.executemany(statement, portion)


BATCH = 2000  # rows per INSERT and ids per SELECT: few round trips, bounded statements
AHEAD = 5000  # measurements whose experiments are stored in one transaction
NOTE_LIMIT = 500  # characters, as the column has it


def scheme_ids(isa: ISA) -> dict[str, int]:
    """{scheme text: row id} of an instruction set, in the order of the rows."""
    return dict(isa.schemes.order_by("id").values_list("text", "id"))


def complete_ids(isa: ISA, schemes: Iterable[str]) -> dict[str, int]:
    """Like `scheme_ids`. Raises `MissingSchemesError` where one of `schemes` is missing."""
    ids = scheme_ids(isa)
    missing = [scheme for scheme in schemes if scheme not in ids]
    if missing:
        raise MissingSchemesError(isa.name, missing)
    return ids


def ids_of_schemes(isa_id: int, texts: Iterable[str]) -> dict[str, int]:
    """{scheme text: row id} of those of `texts` that the instruction set has."""
    schemes = InstructionScheme.objects.filter(isa=isa_id, text__in=set(texts))
    return dict(schemes.values_list("text", "id"))


def scheme_texts(isa: ISA) -> dict[int, str]:
    """{row id: scheme text} of an instruction set."""
    return dict(isa.schemes.order_by("id").values_list("id", "text"))


def experiment_key(experiment: Experiment, ids: Mapping[str, int]) -> str:
    """The canonical key of an experiment: `id:count` terms joined by commas, ids ascending."""
    terms = sorted((ids[scheme], count) for scheme, count in experiment.terms)
    return ",".join(f"{scheme}:{count}" for scheme, count in terms)


def experiment_of(key: str, texts: Mapping[int, str]) -> Experiment:
    """The inverse of `experiment_key`. `texts`: {row id: scheme text}."""
    counts = {}
    for term in key.split(","):
        scheme, _, count = term.partition(":")
        counts[texts[int(scheme)]] = int(count)
    return Experiment.of(counts)


@transaction.atomic
def store_experiments(isa: ISA, experiments: Iterable[Experiment]) -> dict[Experiment, int]:
    """{experiment: row id}; missing rows are created. Raises `MissingSchemesError`."""
    distinct = list(dict.fromkeys(experiments))
    keys = dict(zip(distinct, _keys(distinct, isa), strict=True))
    rows = _store_keys(isa, {key: experiment.length for experiment, key in keys.items()})
    return {experiment: rows[key] for experiment, key in keys.items()}


def _keys(experiments: Iterable[Experiment], isa: ISA) -> Iterator[str]:
    """The key of each experiment. Raises `MissingSchemesError` for all missing schemes at the end."""
    ids = scheme_ids(isa)
    missing: set[str] = set()
    for experiment in experiments:
        try:
            yield experiment_key(experiment, ids)
        except KeyError:
            missing.update(scheme for scheme in experiment.schemes if scheme not in ids)
            yield ""
    if missing:
        raise MissingSchemesError(isa.name, missing)


def _store_keys(isa: ISA, lengths: Mapping[str, int]) -> dict[str, int]:
    """{key: row id} of experiments {key: length}; missing rows are created."""
    rows_by_key = _experiment_rows(isa, lengths)
    # Sorted: of two transactions that store the same experiments at once, one waits for the other.
    missing = sorted(key for key in lengths if key not in rows_by_key)
    if missing:
        rows = ((isa.pk, key, lengths[key]) for key in missing)
        insert_missing(ExperimentRow, ("isa_id", "key", "length"), rows)
        inserted = _experiment_rows(isa, missing)
        insert_missing(ExperimentTerm, ("experiment_id", "scheme_id", "count"), _terms(inserted))
        rows_by_key |= inserted
    return rows_by_key


def _terms(rows: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
    for key, row in rows.items():
        for term in key.split(","):
            scheme, _, count = term.partition(":")
            yield row, int(scheme), int(count)


def store_ahead(isa: ISA, measured: Iterable[Measured], on_progress: Callable[[int], None]) -> None:
    """Store the experiments of measurements that will be stored later, each portion in its own transaction.

    One transaction for an import of many measurements would block other writers for long. Experiments
    without measurements are invisible to users.

    Args:
        isa: Has their schemes.
        measured: Each is read once.
        on_progress: Called after each portion with the number of measurements so far; may raise to
            stop.
    """
    done = 0
    for portion in portions(measured, AHEAD):
        store_experiments(isa, (result.experiment for result in portion))
        done += len(portion)
        on_progress(done)


def _experiment_rows(isa: ISA, keys: Iterable[str]) -> dict[str, int]:
    """{key: row id} of existing experiments."""
    rows: dict[str, int] = {}
    table = connection.ops.quote_name(ExperimentRow._meta.db_table)
    with connection.cursor() as cursor:
        for portion in portions(keys, BATCH):
            marks = ", ".join(["%s"] * len(portion))
            cursor.execute(
                f"SELECT key, id FROM {table} WHERE isa_id = %s AND key IN ({marks})",  # noqa: S608 a constant
                [isa.pk, *portion],
            )
            rows.update(cursor.fetchall())
    return rows


@transaction.atomic
def store_measurements(
    experiment_set: ExperimentSet, measured: Iterable[Measured], first_repeat: int = 0
) -> int:
    """Add measurements to a set; returns the number of new rows.

    Args:
        experiment_set: The set.
        measured: Results. The k-th of an experiment in one call (from 0) is repeat `first_repeat` + k, so
            that calling again with the same results, or with more behind them, stores nothing twice.
        first_repeat: Repeat of the first result of each experiment.

    Raises:
        MissingSchemesError: The instruction set lacks a scheme.
    """
    lengths: dict[str, int] = {}
    rows: list[tuple[str, tuple[Any, ...]]] = []
    # Only the columns of each value are held in memory: there may be very many values.
    for key, result in _with_keys(measured, experiment_set.isa):
        lengths[key] = result.experiment.length
        rows.append((key, _columns_of(result)))
    experiments = _store_keys(experiment_set.isa, lengths)
    before = experiment_set.measurements.count()
    repeats = Counter[int]()
    insert_missing(
        Measurement,
        ("experiment_set_id", "experiment_id", "length", "repeat", *COLUMNS),
        (
            (
                *(experiment_set.pk, row := experiments[key], lengths[key]),
                *(_next_repeat(repeats, row, first_repeat), *columns),
            )
            for key, columns in rows
        ),
    )
    return experiment_set.measurements.count() - before


COLUMNS = ("state", "cycles", "spread", "passes", "note", "annotations", "counters")


def _with_keys(measured: Iterable[Measured], isa: ISA) -> Iterator[tuple[str, Measured]]:
    """(key, measurement). Raises `MissingSchemesError` for all missing schemes at the end."""
    results, copies = tee(measured)
    return zip(_keys((result.experiment for result in results), isa), copies, strict=False)


def _columns_of(result: Measured) -> tuple[Any, ...]:
    return (
        result.state.value,
        result.cycles,
        result.spread,
        result.passes,
        result.note[:NOTE_LIMIT],
        _json(result.annotations),
        _json(result.counters),
    )


def _next_repeat(repeats: Counter[int], experiment: int, first: int) -> int:
    """The repeat of the next measurement of an experiment; counts it in `repeats`."""
    repeats[experiment] += 1
    return first + repeats[experiment] - 1


def _json(numbers: Mapping[str, float]) -> str:
    return json.dumps(dict(numbers)) if numbers else "{}"


@dataclass(frozen=True)
class StoredMeasurement:
    """A measurement as a value, with the ids of its row and of its experiment's row."""

    id: int
    experiment_id: int
    value: Measured


def measurements_of(rows: QuerySet[Measurement]) -> list[StoredMeasurement]:
    """The rows of a query as values, in the query's order; scheme texts are looked up once for all."""
    tuples = list(rows.values_list("id", "experiment_id", "experiment__key", *COLUMNS))
    texts = texts_in(key for _, _, key, *_ in tuples)
    values: dict[str, Experiment] = {}
    stored = []
    for row_id, experiment_id, key, state, cycles, spread, passes, note, answers, counters in tuples:
        experiment = values.get(key)
        if experiment is None:
            experiment = values[key] = experiment_of(key, texts)
        value = Measured(
            experiment=experiment,
            cycles=cycles,
            state=MeasurementState(state),
            spread=spread,
            passes=passes,
            note=note,
            annotations=answers,
            counters=counters,
        )
        stored.append(StoredMeasurement(row_id, experiment_id, value))
    return stored


def texts_in(keys: Iterable[str]) -> dict[int, str]:
    """{row id: scheme text} of the schemes that occur in experiments with these keys."""
    return texts_of({int(term.partition(":")[0]) for key in keys for term in key.split(",")})


def texts_of(pks: Iterable[int]) -> dict[int, str]:
    """{row id: scheme text} of the schemes with these ids."""
    texts: dict[int, str] = {}
    for ids in portions(sorted(pks), BATCH):
        texts.update(InstructionScheme.objects.filter(id__in=ids).values_list("id", "text"))
    return texts


def measured_in_parts(experiment_set: ExperimentSet) -> Iterator[Measured]:
    """All measurements of a set in the order of their rows, with `BATCH` of them in memory at a time."""
    last = 0
    while part := measurements_of(experiment_set.measurements.filter(id__gt=last).order_by("id")[:BATCH]):
        yield from (stored.value for stored in part)
        last = part[-1].id


def tools_of(experiment_set: ExperimentSet) -> list[str]:
    """The tools whose answers came with a set, in alphabetical order (one query over all of its rows)."""
    with_any = experiment_set.measurements.order_by().exclude(annotations={})
    rows = with_any.annotate(said=Cast("annotations", TextField())).values_list("said", flat=True)
    return sorted(
        {tool for answers_json in rows.iterator(chunk_size=BATCH) for tool in json.loads(answers_json)}
    )


def load_measurements(experiment_set: ExperimentSet, repeat: int | None = None) -> list[Measured]:
    """All measurements of a set, or those of one repetition, in the order of their rows."""
    rows = experiment_set.measurements.order_by("id")
    if repeat is not None:
        rows = rows.filter(repeat=repeat)
    return [stored.value for stored in measurements_of(rows)]


@dataclass(frozen=True)
class SetSummary:
    """Summary of a set.

    Attributes:
        lengths: Numbers of instructions that occur.
        states: {state: rows}.
        schemes: Number of schemes.
        least, most: Cycles, None without any.
        repeated: Whether some measurement has several passes, so that spread and passes are meaningful.
    """

    measurements: int
    schemes: int
    lengths: tuple[int, ...]
    least: float | None
    most: float | None
    states: dict[str, int]
    repeated: bool = False

    @property
    def doubtful(self) -> bool:
        """Whether some measurement is not settled."""
        return any(state != Measurement.State.SETTLED for state in self.states)


def summarise(experiment_set: ExperimentSet) -> SetSummary:
    """Compute the summary of a set (three queries; 3 s for 10^6 measurements)."""
    rows = experiment_set.measurements.order_by()
    terms = ExperimentTerm.objects.filter(experiment__measurements__experiment_set=experiment_set)
    by_state = list(
        rows.values("state").annotate(
            n=Count("pk"), least=Min("cycles"), most=Max("cycles"), passes=Max("passes")
        )
    )
    lengths = rows.values_list("length", flat=True).distinct().order_by("length")
    return SetSummary(
        measurements=sum(row["n"] for row in by_state),
        schemes=terms.aggregate(n=Count("scheme", distinct=True))["n"],
        lengths=tuple(lengths),
        least=min((row["least"] for row in by_state if row["least"] is not None), default=None),
        most=max((row["most"] for row in by_state if row["most"] is not None), default=None),
        states={row["state"]: row["n"] for row in by_state},
        repeated=any(row["passes"] > 1 for row in by_state),
    )


def stored_summary(experiment_set: ExperimentSet) -> SetSummary | None:
    """The stored summary of a set, None where its measurements have changed (two quick queries)."""
    summary = experiment_set.summary
    if summary is None or summary["rows"] != rows_of(experiment_set):
        return None
    numbers = summary["numbers"]
    return SetSummary(**{**numbers, "lengths": tuple(numbers["lengths"])})


def store_summary(experiment_set: ExperimentSet) -> SetSummary:
    rows = rows_of(experiment_set)  # first: rows added meanwhile make the summary outdated, not wrong
    summary = summarise(experiment_set)
    experiment_set.summary = {"rows": rows, "numbers": asdict(summary)}
    experiment_set.save(update_fields=["summary"])
    return summary


def rows_of(experiment_set: ExperimentSet) -> dict[str, Any]:
    """Number of measurements and newest id, which identify the content of a set (two quick queries)."""
    rows = experiment_set.measurements.order_by()
    # As separate queries, each is answered from the index alone.
    return {"count": rows.count(), **rows.aggregate(newest=Max("pk"))}
