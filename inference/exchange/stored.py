"""Between database rows and core values: instruction sets, measurements and port mappings.

Storing is atomic, done in bulk, and changes nothing when it is repeated, since a run may do so after a crash.
Loading keeps the order in which rows were stored.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction
from django.db.models import QuerySet

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.mapping import PortMapping, uops_of
from inference.exchange.errors import MissingSchemesError
from inference.exchange.names import free_or_refuse
from inference.models import ISA, ExperimentSet, ExperimentTerm, InstructionScheme, Machine, Measurement
from inference.models import Experiment as ExperimentRow
from inference.models import PortMapping as PortMappingRow
from inference.models import PortUsage as PortUsageRow

if TYPE_CHECKING:
    from inference.models import Run

BATCH = 2000  # rows per INSERT and ids per SELECT: few round trips, bounded statements
NOTE_LIMIT = 500  # characters, as the column has it


def scheme_ids(isa: ISA) -> dict[str, int]:
    """{scheme text: row id} of an instruction set, in the order of the rows."""
    return dict(isa.schemes.order_by("id").values_list("text", "id"))


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
    wanted = list(dict.fromkeys(experiments))
    ids = scheme_ids(isa)
    missing = {scheme for experiment in wanted for scheme in experiment.schemes if scheme not in ids}
    if missing:
        raise MissingSchemesError(isa.name, missing)
    keys = {experiment_key(experiment, ids): experiment for experiment in wanted}
    known = _experiment_rows(isa, keys)
    # In one order for everybody: of two who store the same at the same time, one waits for the other.
    fresh = sorted(key for key in keys if key not in known)
    if fresh:
        ExperimentRow.objects.bulk_create(
            [ExperimentRow(isa_id=isa.pk, key=key, length=keys[key].length) for key in fresh],
            batch_size=BATCH,
            ignore_conflicts=True,
        )
        made = _experiment_rows(isa, fresh)
        _insert_terms((made[key], ids[scheme], count) for key in fresh for scheme, count in keys[key].terms)
        known |= made
    return {experiment: known[key] for key, experiment in keys.items()}


def _insert_terms(terms: Iterable[tuple[int, int, int]]) -> None:
    """Rows (experiment, scheme, count), where they are missing.

    Plain SQL of the kind that all databases here speak: there are several terms per experiment, and a model
    instance for each would take longer than everything else in an import.
    """
    table = connection.ops.quote_name(ExperimentTerm._meta.db_table)
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} (experiment_id, scheme_id, count) VALUES (%s, %s, %s) "  # noqa: S608 a constant
            "ON CONFLICT DO NOTHING",
            list(terms),
        )


def _experiment_rows(isa: ISA, keys: Iterable[str]) -> dict[str, int]:
    wanted = list(keys)
    found: dict[str, int] = {}
    for start in range(0, len(wanted), BATCH):
        rows = ExperimentRow.objects.filter(isa=isa, key__in=wanted[start : start + BATCH])
        found.update(rows.values_list("key", "id"))
    return found


@transaction.atomic
def store_measurements(
    experiment_set: ExperimentSet, measured: Iterable[Measured], first_repeat: int = 0
) -> int:
    """Add measurements to a set; returns how many rows it has gained.

    The k-th result of the same experiment in one call is its repeat `first_repeat` + k, so calling again with
    the same results, or with more that begin with the same, stores nothing twice. Raises
    `MissingSchemesError`.
    """
    results = list(measured)
    ids = store_experiments(experiment_set.isa, (result.experiment for result in results))
    seen: Counter[int] = Counter()
    rows = []
    for result in results:
        experiment = ids[result.experiment]
        rows.append(
            Measurement(
                experiment_set_id=experiment_set.pk,
                experiment_id=experiment,
                repeat=first_repeat + seen[experiment],
                state=result.state.value,
                cycles=result.cycles,
                spread=result.spread,
                passes=result.passes,
                note=result.note[:NOTE_LIMIT],
                annotations=dict(result.annotations),
                counters=dict(result.counters),
            )
        )
        seen[experiment] += 1
    before = experiment_set.measurements.count()
    Measurement.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)
    return experiment_set.measurements.count() - before


@dataclass(frozen=True)
class StoredMeasurement:
    """A measurement as a value, with the ids of the rows it came from."""

    id: int
    experiment_id: int
    value: Measured


def measurements_of(rows: QuerySet[Measurement]) -> list[StoredMeasurement]:
    """The rows of a query as values, in the query's order; scheme texts are looked up once for all."""
    fields = (
        "id",
        "experiment_id",
        "experiment__key",
        "cycles",
        "state",
        "spread",
        "passes",
        "note",
        "annotations",
        "counters",
    )
    found = list(rows.values_list(*fields))
    texts = texts_in(key for _, _, key, *_ in found)
    values: dict[str, Experiment] = {}
    stored = []
    for row_id, experiment_id, key, cycles, state, spread, passes, note, answers, counters in found:
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


def texts_of(wanted: Iterable[int]) -> dict[int, str]:
    """{row id: scheme text} of the schemes with these ids."""
    ids = sorted(wanted)
    texts: dict[int, str] = {}
    for start in range(0, len(ids), BATCH):
        rows = InstructionScheme.objects.filter(id__in=ids[start : start + BATCH])
        texts.update(rows.values_list("id", "text"))
    return texts


def load_measurements(experiment_set: ExperimentSet, repeat: int | None = None) -> list[Measured]:
    """All measurements of a set, or those of one repetition, in the order of their rows."""
    rows = experiment_set.measurements.order_by("id")
    if repeat is not None:
        rows = rows.filter(repeat=repeat)
    return [stored.value for stored in measurements_of(rows)]


@transaction.atomic
def store_mapping(
    name: str,
    isa: ISA,
    value: PortMapping,
    *,
    origin: PortMappingRow.Origin,
    source: str = "",
    machine: Machine | None = None,
    run: Run | None = None,
    report: Mapping[str, Any] | None = None,
    note: str = "",
) -> PortMappingRow:
    """A new mapping under a free name; raises `NameTakenError` and `MissingSchemesError`."""
    free_or_refuse(PortMappingRow, name)
    ids = scheme_ids(isa)
    missing = [scheme for scheme in value.usage if scheme not in ids]
    if missing:
        raise MissingSchemesError(isa.name, missing)
    row = PortMappingRow.objects.create(
        name=name,
        note=note,
        isa=isa,
        machine=machine,
        run=run,
        origin=origin,
        source=source,
        ports=list(value.ports),
        r_max=value.r_max,
        report=dict(report or {}),
    )
    PortUsageRow.objects.bulk_create(
        [
            PortUsageRow(mapping_id=row.pk, scheme_id=ids[scheme], mask=mask, count=count)
            for scheme, uops in value.usage.items()
            for mask, count in (uops or ((0, 0),))
        ],
        batch_size=BATCH,
    )
    return row


def load_mapping(row: PortMappingRow) -> PortMapping:
    """The mapping as a value; schemes in the order of the instruction set."""
    uops: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    usages = row.usages.order_by("scheme_id", "mask").values_list("scheme__text", "mask", "count")
    for scheme, mask, count in usages:
        entry = uops[scheme]
        if count:
            entry.append((mask, count))
    return PortMapping(
        ports=tuple(row.ports),
        usage={scheme: uops_of(pairs) for scheme, pairs in uops.items()},
        r_max=row.r_max,
    )
