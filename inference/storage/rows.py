"""Between database rows and core values: instruction sets, measurements and port mappings.

Storing is atomic, done in bulk, and changes nothing when it is repeated, since a run may do so after a crash.
Loading keeps the order in which rows were stored.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import tee
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.mapping import PortMapping, uops_of
from inference.models import ISA, ExperimentSet, ExperimentTerm, InstructionScheme, Machine, Measurement
from inference.models import Experiment as ExperimentRow
from inference.models import PortMapping as PortMappingRow
from inference.models import PortUsage as PortUsageRow
from inference.storage.errors import MissingSchemesError
from inference.storage.inserting import insert_missing, portions
from inference.storage.names import free_or_refuse

if TYPE_CHECKING:
    from inference.models import Run

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
    found = InstructionScheme.objects.filter(isa=isa_id, text__in=set(texts))
    return dict(found.values_list("text", "id"))


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
    keys = dict(zip(wanted, _keys(wanted, isa), strict=True))
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
    known = _experiment_rows(isa, lengths)
    # In one order for everybody: of two who store the same at the same time, one waits for the other.
    fresh = sorted(key for key in lengths if key not in known)
    if fresh:
        rows = ((isa.pk, key, lengths[key]) for key in fresh)
        insert_missing(ExperimentRow, ("isa_id", "key", "length"), rows)
        made = _experiment_rows(isa, fresh)
        insert_missing(ExperimentTerm, ("experiment_id", "scheme_id", "count"), _terms(made))
        known |= made
    return known


def _terms(rows: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
    for key, row in rows.items():
        for term in key.split(","):
            scheme, _, count = term.partition(":")
            yield row, int(scheme), int(count)


def store_ahead(isa: ISA, measured: Iterable[Measured], told: Callable[[int], None]) -> None:
    """Store the experiments of measurements that will be stored, a portion at a time, each by itself.

    An import of many measurements in one transaction would keep everybody else from writing for long; of this
    part nobody sees anything before there are measurements. `told` hears after each portion how many
    measurements have been looked at, and may raise to end it.
    """
    done = 0
    for portion in portions(measured, AHEAD):
        store_experiments(isa, (result.experiment for result in portion))
        done += len(portion)
        told(done)


def _experiment_rows(isa: ISA, keys: Iterable[str]) -> dict[str, int]:
    """{key: row id} of those that are there."""
    found: dict[str, int] = {}
    table = connection.ops.quote_name(ExperimentRow._meta.db_table)
    with connection.cursor() as cursor:
        for portion in portions(keys, BATCH):
            marks = ", ".join(["%s"] * len(portion))
            cursor.execute(
                f"SELECT key, id FROM {table} WHERE isa_id = %s AND key IN ({marks})",  # noqa: S608 a constant
                [isa.pk, *portion],
            )
            found.update(cursor.fetchall())
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
    lengths: dict[str, int] = {}
    rows: list[tuple[str, tuple[Any, ...]]] = []
    # Of each value only what its row needs is kept: there may be very many.
    for key, result in _keyed(measured, experiment_set.isa):
        lengths[key] = result.experiment.length
        rows.append((key, _columns_of(result)))
    experiments = _store_keys(experiment_set.isa, lengths)
    before = experiment_set.measurements.count()
    seen = Counter[int]()
    insert_missing(
        Measurement,
        ("experiment_set_id", "experiment_id", "length", "repeat", *COLUMNS),
        (
            (
                *(experiment_set.pk, row := experiments[key], lengths[key]),
                *(_counted(seen, row, first_repeat), *columns),
            )
            for key, columns in rows
        ),
    )
    return experiment_set.measurements.count() - before


COLUMNS = ("state", "cycles", "spread", "passes", "note", "annotations", "counters")


def _keyed(measured: Iterable[Measured], isa: ISA) -> Iterator[tuple[str, Measured]]:
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


def _counted(seen: Counter[int], experiment: int, first: int) -> int:
    """The repeat of one more measurement of an experiment."""
    seen[experiment] += 1
    return first + seen[experiment] - 1


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
    found = list(rows.values_list("id", "experiment_id", "experiment__key", *COLUMNS))
    texts = texts_in(key for _, _, key, *_ in found)
    values: dict[str, Experiment] = {}
    stored = []
    for row_id, experiment_id, key, state, cycles, spread, passes, note, answers, counters in found:
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
    texts: dict[int, str] = {}
    for ids in portions(sorted(wanted), BATCH):
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
    return sorted({tool for text in rows.iterator(chunk_size=BATCH) for tool in json.loads(text)})


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
    ids = complete_ids(isa, value.usage)
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
        issue_width=value.issue_width,
        report=dict(report or {}),
        digest=value.digest,
    )
    PortUsageRow.objects.bulk_create(
        [
            PortUsageRow(
                mapping_id=row.pk,
                scheme_id=ids[scheme],
                mask=mask,
                count=count,
                slots=value.slots_of(scheme),
            )
            for scheme, uops in value.usage.items()
            for mask, count in (uops or ((0, 0),))
        ],
        batch_size=BATCH,
    )
    return row


def digest_of(row: PortMappingRow) -> str:
    """What stands for all that a mapping says, `PortMapping.digest`; kept with it from now on."""
    if not row.digest:
        row.digest = load_mapping(row).digest
        PortMappingRow.objects.filter(pk=row.pk).update(digest=row.digest)
    return row.digest


def load_mapping(row: PortMappingRow) -> PortMapping:
    """The mapping as a value; schemes in the order of the instruction set."""
    usages = row.usages.order_by("scheme_id", "mask")
    return _value_of(row, usages.values_list("scheme__text", "mask", "count", "slots"))


def load_part(row: PortMappingRow, texts: Mapping[int, str]) -> PortMapping:
    """What a mapping says of those of some schemes, {row id: text}, that it describes (one query)."""
    usages = row.usages.filter(scheme__in=list(texts)).order_by("scheme_id", "mask")
    found = usages.values_list("scheme_id", "mask", "count", "slots")
    return _value_of(row, ((texts[scheme], mask, count, slots) for scheme, mask, count, slots in found))


def load_parts(isa: ISA | int, texts: Mapping[int, str]) -> list[tuple[PortMappingRow, PortMapping]]:
    """The same of all mappings of an instruction set that describe any of the schemes, newest first.

    Two queries; the rows come without their reports.
    """
    usages = PortUsageRow.objects.filter(scheme__in=list(texts), mapping__isa=isa)
    told: defaultdict[int, list[tuple[str, int, int, int]]] = defaultdict(list)
    columns = ("mapping_id", "scheme_id", "mask", "count", "slots")
    for mapping, scheme, *uop in usages.order_by("scheme_id", "mask").values_list(*columns):
        told[mapping].append((texts[scheme], *uop))
    rows = PortMappingRow.objects.filter(pk__in=told).defer("report").order_by("-id")
    return [(row, _value_of(row, told[row.pk])) for row in rows]


def _value_of(row: PortMappingRow, usages: Iterable[tuple[str, int, int, int]]) -> PortMapping:
    """A mapping of (scheme, mask, count, slots), as far as these go."""
    uops: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    slots: dict[str, int] = {}
    for scheme, mask, count, taken in usages:
        slots[scheme] = taken
        entry = uops[scheme]
        if count:
            entry.append((mask, count))
    return PortMapping(
        ports=tuple(row.ports),
        usage={scheme: uops_of(pairs) for scheme, pairs in uops.items()},
        r_max=row.r_max,
        issue_width=row.issue_width,
        slots=slots,
    )
