"""Stores results of machines: mappings that runs made, conflicts between them, and fronts.

Two results are compared when the second is stored, and the conflict is stored with both. So the conflicts of
a result do not depend on which run ended first.

A front has dozens of points with up to thousands of schemes each, most with the same µops as others: a point
stores each list of µops once, with the ids of its schemes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction

from inference.core.judging.contradictions import UopsConflict, uops_conflicts
from inference.core.mapping import PortMapping
from inference.models import ISA, Machine, SchemeConflict
from inference.models import PortMapping as PortMappingRow
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.names import result_name
from inference.storage.rows import BATCH, ids_of_schemes

if TYPE_CHECKING:
    from inference.models import Run


from collections import defaultdict

from inference.core.errors import InvalidInputError
from inference.core.mapping import Uops
from inference.core.pmevo import FrontPoint
from inference.core.protocols import Json
from inference.models import Evaluation, ExperimentSet, Run
from inference.models import FrontPoint as FrontPointRow
from inference.storage.evaluations import Predictions
from inference.storage.names import free_name
from inference.storage.rows import scheme_ids, texts_of

MAX_COMPARED_RESULTS = 20
"""Newest results of a machine that a new one is compared with. With thousands of schemes, a comparison takes
up to a second and stores a row for each scheme on which the two differ.
"""


@dataclass(frozen=True)
class ComparedResult:
    """Conflicts between a mapping and the stored result `other` (its id), from both sides."""

    other: int
    here: Sequence[UopsConflict]
    there: Sequence[UopsConflict]


def compared_results(
    machine: Machine | None,
    value: PortMapping,
    earlier: Collection[ComparedResult] = (),
    besides: Collection[int] = (),
) -> list[ComparedResult]:
    """Compare a mapping with the newest results of its machine.

    Args:
        machine: Whose results count; None gives no comparisons.
        value: The mapping.
        earlier: Comparisons made before, which are not made again.
        besides: Ids of mappings to ignore.
    """
    if machine is None:
        return []
    rows = PortMappingRow.objects.filter(machine=machine, origin=PortMappingRow.Origin.RUN).exclude(
        pk__in=besides
    )
    comparisons = {result.other: result for result in earlier}
    return [
        comparisons.get(row.pk) or _compared_result(row, value)
        for row in rows.defer("report").order_by("-pk")[:MAX_COMPARED_RESULTS]
    ]


def _compared_result(row: PortMappingRow, value: PortMapping) -> ComparedResult:
    return ComparedResult(row.pk, *uops_conflicts(value, load_mapping(row)))


@transaction.atomic
def store_result(
    name: str,
    isa: ISA,
    value: PortMapping,
    compared: Collection[ComparedResult] = (),
    *,
    source: str = "",
    machine: Machine | None = None,
    run: Run | None = None,
    report: Mapping[str, Any] | None = None,
    note: str = "",
) -> PortMappingRow:
    """Store a mapping like `store_mapping`, with its conflicts.

    Args:
        name: Name of the mapping.
        isa: Has all its schemes.
        value: The mapping.
        compared: Result of `compared_results` from before this transaction, which blocks other writers.
            Results
            stored since then are compared here; no other mapping is stored until the transaction ends.
        source: Where the measurements are from, as a line of text.
        machine: Whose core it describes; its other results are compared. None where unknown.
        run: Run that inferred it.
        report: What its page shows beside it, as JSON.
        note: Note of the user.

    Raises:
        NameInUseError: Another mapping has the name.
        MissingSchemesError: The instruction set lacks schemes.
    """
    row = store_mapping(
        name,
        isa,
        value,
        origin=PortMappingRow.Origin.RUN,
        source=source,
        machine=machine,
        run=run,
        report=report,
        note=note,
    )
    _store_conflicts(row, compared_results(machine, value, compared, [row.pk]))
    return row


def _store_conflicts(row: PortMappingRow, compared: Sequence[ComparedResult]) -> None:
    ids = ids_of_schemes(row.isa_id, {conflict.scheme for result in compared for conflict in result.here})
    SchemeConflict.objects.bulk_create(
        [
            SchemeConflict(
                mapping_id=mapping,
                other_id=other,
                scheme_id=ids[conflict.scheme],
                here=conflict.here,
                there=conflict.there,
            )
            for result in compared
            for mapping, other, side in (
                (row.pk, result.other, result.here),
                (result.other, row.pk, result.there),
            )
            for conflict in side
        ],
        batch_size=BATCH,
    )


KEY = "front_point"
"""Key of a picked mapping's report: the point of the front that it was."""


@dataclass(frozen=True)
class JudgedPoint:
    """A point with its predictions for the judging experiments, None where there are none."""

    point: FrontPoint
    judged: Predictions | None


def store_front(
    row: PortMappingRow, points: Sequence[JudgedPoint], inferred: PortMapping, judged_on: ExperimentSet | None
) -> int:
    """Store the front of a run with its mapping; returns the number of points.

    Args:
        row: The mapping.
        points: Of the front, each judged.
        inferred: The mapping as a value: the point equal to it counts as picked.
        judged_on: The judging set, None for held-out experiments.
    """
    ids = scheme_ids(row.isa)
    FrontPointRow.objects.bulk_create(
        FrontPointRow(
            mapping=row,
            place=place,
            error=judged_point.point.error,
            volume=judged_point.point.volume,
            kinds=judged_point.point.kinds,
            mape=None if judged_point.judged is None else judged_point.judged.scores.mape,
            content=mapping_json(judged_point.point.mapping, ids),
            judged={} if judged_point.judged is None else _judged_json(judged_point.judged, judged_on),
            picked=row if place == _place_of(inferred, points) else None,
        )
        for place, judged_point in enumerate(points)
    )
    return len(points)


def _place_of(inferred: PortMapping, points: Sequence[JudgedPoint]) -> int | None:
    usage_and_slots = inferred.usage, inferred.slots
    places = (
        place
        for place, judged_point in enumerate(points)
        if (judged_point.point.mapping.usage, judged_point.point.mapping.slots) == usage_and_slots
    )
    return next(places, None)


def mapping_json(value: PortMapping, ids: dict[str, int]) -> Json:
    """A mapping as compact JSON; `mapping_from` is the inverse. `ids`: {scheme: row id}."""
    schemes_by_uops: defaultdict[Uops, list[int]] = defaultdict(list)
    for scheme, uops in value.usage.items():
        schemes_by_uops[uops].append(ids[scheme])
    return {
        "ports": list(value.ports),
        "r_max": value.r_max,
        "issue_width": value.issue_width,
        "slots": [[ids[scheme], slots] for scheme, slots in value.slots.items()],
        "uops": [[number for pair in uops for number in pair] for uops in schemes_by_uops],
        "schemes": [sorted(rows) for rows in schemes_by_uops.values()],
    }


def mapping_from(content: Json) -> PortMapping:
    """The mapping in the JSON of `mapping_json`, schemes in the order of the instruction set."""
    usage: dict[int, Uops] = {}
    for numbers, rows in zip(content["uops"], content["schemes"], strict=True):
        uops = tuple(zip(numbers[0::2], numbers[1::2], strict=True))
        usage |= dict.fromkeys(rows, uops)
    texts = texts_of(usage)
    return PortMapping(
        tuple(content["ports"]),
        {texts[pk]: usage[pk] for pk in sorted(usage)},
        content["r_max"],
        content.get("issue_width"),
        {texts[pk]: slots for pk, slots in content.get("slots", ())},
    )


def _judged_json(compared: Predictions, judged_on: ExperimentSet | None) -> Json:
    return {
        **compared.scores.as_json(),
        "skipped": compared.skipped,
        "heat_map": compared.heat_map.as_json(),
        "experiment_set": None if judged_on is None else judged_on.pk,
    }


def pick(point: FrontPointRow, name: str = "") -> tuple[PortMappingRow, bool]:
    """Store a point as a mapping with its evaluation: (mapping, whether it is new).

    A point that was picked before gives the same mapping. Without a name, it is called after the run's
    mapping and the number of kinds. Raises `NameInUseError`, and `InvalidInputError` for another name of a
    picked point.
    """
    if point.picked is not None:
        return _stored_pick(point, name, ())
    return _stored_pick(point, name, compared_results(point.mapping.machine, mapping_from(point.content)))


@transaction.atomic
def _stored_pick(
    point: FrontPointRow, name: str, compared: Collection[ComparedResult]
) -> tuple[PortMappingRow, bool]:
    point.refresh_from_db()  # in this transaction, beside which no other can write
    if point.picked is not None:
        if name and point.picked.name != name:
            raise InvalidInputError(
                f"this point was picked before: it is the mapping {point.picked.name!r}, not {name!r}"
            )
        return point.picked, False
    owner = point.mapping
    row = store_result(
        name or free_name(PortMappingRow, result_name(owner.name, f"{point.kinds} kinds of µops")),
        owner.isa,
        mapping_from(point.content),
        compared,
        source=f"{owner.source}, picked from the front of {owner.name}"[:300],
        machine=owner.machine,
        report=_report(point),
    )
    _store_evaluation(row, point)
    point.picked = row
    point.save(update_fields=["picked"])
    return row, True


def _report(point: FrontPointRow) -> Json:
    """The report of the run's mapping, with the point's own error and its place in the front."""
    owner = point.mapping
    point_json: Json = {
        "place": point.place,
        "points": owner.front.count(),
        "error": point.error,
        "volume": point.volume,
        "kinds": point.kinds,
        "mapping": owner.pk,
        "mapping_name": owner.name,
        "run": owner.run_id,
    }
    return {**owner.report, "final_error": point.error, KEY: point_json}


def _store_evaluation(row: PortMappingRow, point: FrontPointRow) -> None:
    """Store the point's evaluation from the end of the run, unless its judging set was deleted."""
    judged = point.judged
    if not judged:
        return
    experiment_set = ExperimentSet.objects.filter(pk=judged["experiment_set"]).first()
    held_out_by: Run | None = point.mapping.run if judged["experiment_set"] is None else None
    if experiment_set is None and held_out_by is None:
        return
    numbers = {key: judged[key] for key in ("n", "skipped", "mape", "pearson", "kendall", "heat_map")}
    Evaluation.objects.create(
        mapping=row, experiment_set=experiment_set, held_out_by=held_out_by, unit="cycles", **numbers
    )
