"""Experiments and measurements between rows and values, many rows at a time, and a set of them in numbers.

Storing is atomic, done in bulk, and changes nothing when it is repeated, since a run may do so after a crash.
A model instance per row costs several times what the database needs to store it, so rows are inserted in
plain SQL that all databases here speak. Loading keeps the order in which rows were stored.

A set's numbers are worked out once, and kept with the set as long as its measurements are the same. Whoever
writes measurements need not know of it: what is kept names how many rows it is of and the newest of them.
Rows are added and removed, never changed, and no id is given twice, so these two tell any other rows.
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
"""Rows handed over at once: what is in memory beside the caller's own."""


Row = TypeVar("Row")


def portions(rows: Iterable[Row], size: int = PORTION) -> Iterator[list[Row]]:
    """The rows in lists of that size; the last one may be shorter, and none is empty."""
    remaining = iter(rows)
    while portion := list(islice(remaining, size)):
        yield portion


def insert_missing(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows; those that a constraint says are there already stay."""
    insert_rows(model, columns, rows, "ON CONFLICT DO NOTHING")


def insert_rows(
    model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]], ending: str = ""
) -> None:
    """Insert rows, values in the order of the columns; `ending` is the end of the statement.

    Values are what the driver takes: JSON as text. Nothing is checked but by the database.
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
    """The same, for rows that name these schemes; raises `MissingSchemesError` where it lacks one of them."""
    ids = scheme_ids(isa)
    missing = [scheme for scheme in schemes if scheme not in ids]
    if missing:
        raise MissingSchemesError(isa.name, missing)
    return ids


def ids_of_schemes(isa_id: int, texts: Iterable[str]) -> dict[str, int]:
    """{scheme text: row id} of those of these schemes that the instruction set has."""
    schemes = InstructionScheme.objects.filter(isa=isa_id, text__in=set(texts))
    return dict(schemes.values_list("text", "id"))


def scheme_texts(isa: ISA) -> dict[int, str]:
    """{row id: scheme text} of an instruction set."""
    return dict(isa.schemes.order_by("id").values_list("id", "text"))


def experiment_key(experiment: Experiment, ids: Mapping[str, int]) -> str:
    """The canonical text of a multiset: `id:count` joined by commas, ids ascending."""
    terms = sorted((ids[scheme], count) for scheme, count in experiment.terms)
    return ",".join(f"{scheme}:{count}" for scheme, count in terms)


def experiment_of(key: str, texts: Mapping[int, str]) -> Experiment:
    """The multiset of an `Experiment` row's key."""
    counts = {}
    for term in key.split(","):
        scheme, _, count = term.partition(":")
        counts[texts[int(scheme)]] = int(count)
    return Experiment.of(counts)


@transaction.atomic
def store_experiments(isa: ISA, experiments: Iterable[Experiment]) -> dict[Experiment, int]:
    """Row ids of the experiments, rows made where they are missing; raises `MissingSchemesError`."""
    distinct = list(dict.fromkeys(experiments))
    keys = dict(zip(distinct, _keys(distinct, isa), strict=True))
    rows = _store_keys(isa, {key: experiment.length for experiment, key in keys.items()})
    return {experiment: rows[key] for experiment, key in keys.items()}


def _keys(experiments: Iterable[Experiment], isa: ISA) -> Iterator[str]:
    """The key of each; raises `MissingSchemesError` when all have been looked at."""
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
    """{key: row id} of experiments given as {key: length}, rows made where they are missing."""
    rows_by_key = _experiment_rows(isa, lengths)
    # In one order for everybody: of two who store the same at the same time, one waits for the other.
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
    """Store the experiments of measurements that will be stored, a portion at a time, each by itself.

    An import of many measurements in one transaction would keep everybody else from writing for long; of this
    part nobody sees anything before there are measurements. `told` hears after each portion how many
    measurements have been looked at, and may raise to end it.
    """
    done = 0
    for portion in portions(measured, AHEAD):
        store_experiments(isa, (result.experiment for result in portion))
        done += len(portion)
        on_progress(done)


def _experiment_rows(isa: ISA, keys: Iterable[str]) -> dict[str, int]:
    """{key: row id} of those that are there."""
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
    """Add measurements to a set; returns how many rows it has gained.

    The k-th result of the same experiment in one call is its repeat `first_repeat` + k, so calling again with
    the same results, or with more that begin with the same, stores nothing twice. Raises
    `MissingSchemesError`.
    """
    lengths: dict[str, int] = {}
    rows: list[tuple[str, tuple[Any, ...]]] = []
    # Of each value only what its row needs is kept: there may be very many.
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
    """Each with the key of its experiment; raises `MissingSchemesError` when all have been looked at."""
    results, again = tee(measured)
    return zip(_keys((result.experiment for result in results), isa), again, strict=False)


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
    """The repeat of one more measurement of an experiment."""
    repeats[experiment] += 1
    return first + repeats[experiment] - 1


def _json(numbers: Mapping[str, float]) -> str:
    return json.dumps(dict(numbers)) if numbers else "{}"


@dataclass(frozen=True)
class StoredMeasurement:
    """A measurement as a value, with the ids of the rows it came from."""

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
    """All measurements of a set in the order of their rows, a few thousand of them in memory at a time."""
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
    """Numbers of a set. `lengths`: the numbers of instructions that occur; `states`: rows in each.

    `schemes`: how many occur; `least`, `most`: cycles, None where nothing has any. `repeated`: some number
    is from several passes, so that spread and passes say something.
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
    """Go through the set's measurements (three queries; 3 s for 10^6 of them)."""
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
    """What was kept with the set, None where its measurements are others by now (two quick queries)."""
    summary = experiment_set.summary
    if summary is None or summary["rows"] != rows_of(experiment_set):
        return None
    numbers = summary["numbers"]
    return SetSummary(**{**numbers, "lengths": tuple(numbers["lengths"])})


def store_summary(experiment_set: ExperimentSet) -> SetSummary:
    """Work the numbers out and keep them with the set."""
    rows = rows_of(experiment_set)  # first: what comes in between makes the numbers out of date, not wrong
    summary = summarise(experiment_set)
    experiment_set.summary = {"rows": rows, "numbers": asdict(summary)}
    experiment_set.save(update_fields=["summary"])
    return summary


def rows_of(experiment_set: ExperimentSet) -> dict[str, Any]:
    """What tells the measurements of a set from any others (two quick queries)."""
    rows = experiment_set.measurements.order_by()
    # Each by itself is answered by the index alone.
    return {"count": rows.count(), **rows.aggregate(newest=Max("pk"))}
