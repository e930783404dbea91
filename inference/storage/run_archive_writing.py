"""Writes finished runs as archives: rows as the documents of `formats.run_archive`."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from django.db.models import Q, QuerySet
from pydantic import BaseModel

from inference.core.events import ResultStored, StateChanged
from inference.core.protocols import Json
from inference.formats.archived_parts import HeatMapPart
from inference.formats.file_trees import write_zip
from inference.formats.mapping_json import write_mapping_json
from inference.formats.problems import ExchangeError
from inference.formats.provenance import CITATION, PRODUCT
from inference.formats.run_archive import (
    EVENTS,
    FORMAT,
    RUN,
    VERSION,
    ArchivedEvaluation,
    ArchivedFrontPoint,
    ArchivedMachine,
    ArchivedMapping,
    ArchivedRun,
    ArchivedSet,
    ArchivedVerdict,
    ArchivedWitness,
    RunManifest,
    mapping_file,
    named_in,
    resource_mapping_file,
    set_file,
    write_document,
    write_line,
    write_measurement,
)
from inference.models import (
    Characterisation,
    ExperimentSet,
    FrontPoint,
    Machine,
    PortMapping,
    ResourceMapping,
    Run,
)
from inference.storage.exporting import MAPPING_EXPORTS, RESOURCE_EXPORTS, SET_EXPORTS
from inference.storage.judging import VERDICT, allowed_result, archived_report
from inference.storage.results import mapping_from
from inference.storage.rows import BATCH, measured_in_parts, texts_of

Document = TypeVar("Document", bound=BaseModel)
Row = TypeVar("Row", ExperimentSet, PortMapping, ResourceMapping)


def write_archive(run: Run, exported_with: dict[str, str] | None = None) -> bytes:
    """The archive of a finished run, as bytes. Raises `ExchangeError` for an unfinished one.

    `exported_with`: versions of the software that writes the archive; those of the run are in its journal.
    """
    if run.state not in Run.FINAL:
        raise ExchangeError(f"run {run.name!r} has not ended: its archive can be had when it has")
    named = named_in(run.config)
    sets = _list_rows(run.experiment_sets.all() | ExperimentSet.objects.filter(pk__in=named.sets))
    mappings = _list_rows(PortMapping.objects.filter(Q(pk__in=named.mappings) | Q(run=run)))
    resources = _list_rows(ResourceMapping.objects.filter(pk__in=named.resource_mappings))
    stored: tuple[ExperimentSet | PortMapping | ResourceMapping, ...] = (*sets, *mappings, *resources)
    machines = {row.machine_id for row in stored if row.machine_id is not None} | named.machines.keys()
    set_ids = {row.pk for row in sets}
    seed = run.config.get("seed")
    manifest = RunManifest(
        format=FORMAT,
        version=VERSION,
        made_by=PRODUCT,
        cite=[CITATION],
        run=_document(ArchivedRun, run, result=allowed_result(run), seed=seed if type(seed) is int else None),
        versions=_versions(run),
        exported_with=exported_with or {},
        schemes=texts_of(named.schemes),
        machines={
            row.pk: _document(ArchivedMachine, row, isa=row.isa.name, facts=_facts(row))
            for row in Machine.objects.filter(pk__in=machines).select_related("isa")
        },
        sets=[_row(ArchivedSet, row, run) for row in sets],
        mappings=[_mapping(row, run, set_ids) for row in mappings],
        resource_mappings=[_mapping(row, run, set_ids) for row in resources],
    )
    buffer = io.BytesIO()
    write_zip(buffer, _members(run, manifest, sets, mappings, resources))
    return buffer.getvalue()


def _list_rows(rows: QuerySet[Row]) -> list[Row]:
    return list(rows.select_related("isa", "machine").distinct().order_by("id"))


def _members(
    run: Run,
    manifest: RunManifest,
    sets: Sequence[ExperimentSet],
    mappings: Sequence[PortMapping],
    resources: Sequence[ResourceMapping],
) -> Iterator[tuple[str, Iterable[bytes]]]:
    yield RUN, [write_document(manifest)]
    yield EVENTS, map(write_line, _events(run))
    for experiment_set in sets:
        yield set_file(experiment_set.pk), map(write_measurement, measured_in_parts(experiment_set))
        yield (
            set_file(experiment_set.pk).replace(".jsonl", ".csv"),
            [SET_EXPORTS["csv"].write(experiment_set).encode()],
        )
    for mapping in mappings:
        yield mapping_file(mapping.pk), [MAPPING_EXPORTS["json"].write(mapping).encode()]
    for resource in resources:
        yield resource_mapping_file(resource.pk), [RESOURCE_EXPORTS["json"].write(resource).encode()]


def _events(run: Run) -> Iterator[Json]:
    allowed = allowed_result(run)
    for event in run.events.order_by("seq").iterator(chunk_size=BATCH):
        payload = event.payload
        if event.kind == ResultStored.kind and VERDICT in payload:  # journals of earlier versions say it
            payload = {**payload, VERDICT: allowed.get(VERDICT, payload[VERDICT])}
        yield {"seq": event.seq, "kind": event.kind, "payload": payload, "at": event.at.isoformat()}


def _versions(run: Run) -> dict[str, str]:
    """Versions of the software that last worked on the run, from its journal."""
    event = run.events.filter(kind=StateChanged.kind, payload__has_key="versions").order_by("-seq").first()
    return {} if event is None else dict(StateChanged.read(event.payload).versions)


def _facts(machine: Machine) -> Json:
    return {name: value for name, value in machine.facts.items() if name != "host"}


def _document(shape: type[Document], row: Any, **beside: Any) -> Document:
    """A document from the row's columns of the same names, and the values in `beside`."""
    return shape(
        **{name: getattr(row, name) for name in shape.model_fields if name not in beside},
        **beside,
    )


def _row(
    shape: type[Document],
    row: ExperimentSet | PortMapping | ResourceMapping,
    run: Run,
    **beside: Any,
) -> Document:
    is_result = not isinstance(row, ResourceMapping) and row.run_id == run.pk
    return _document(shape, row, isa=row.isa.name, machine=row.machine_id, own=is_result, **beside)


def _mapping(row: PortMapping | ResourceMapping, run: Run, sets: set[int]) -> ArchivedMapping:
    """A mapping with its evaluations on sets of the archive, and on the run's held-out experiments."""
    evaluations = [
        _archive_evaluation(vars(evaluation), evaluation.experiment_set_id, evaluation.unit)
        for evaluation in row.evaluations.order_by("id")
        if evaluation.experiment_set_id in sets
        or (isinstance(row, PortMapping) and row.run_id and evaluation.held_out_by_id == row.run_id)
    ]
    beside: dict[str, Any] = {"report": row.report, "verdicts": [], "front": []}
    if isinstance(row, PortMapping):
        characterised = row.characterisations.select_related("scheme").prefetch_related("witnesses__blocker")
        beside = {
            "report": archived_report(row),
            "verdicts": [_verdict(verdict) for verdict in characterised.order_by("id")],
            "front": [_point(point, row, sets) for point in row.front.order_by("place")],
        }
    return _row(ArchivedMapping, row, run, evaluations=evaluations, **beside)


def _archive_evaluation(columns: Json, experiment_set: int | None, unit: str) -> ArchivedEvaluation:
    numbers = {name: columns[name] for name in ("n", "skipped", "mape", "pearson", "kendall")}
    heat_map = {name: columns["heat_map"][name] for name in HeatMapPart.model_fields}
    return ArchivedEvaluation(experiment_set=experiment_set, unit=unit, heat_map=heat_map, **numbers)


def _verdict(row: Characterisation) -> ArchivedVerdict:
    witnesses = [
        _document(ArchivedWitness, witness, blocker=witness.blocker.text) for witness in row.witnesses.all()
    ]
    return _document(ArchivedVerdict, row, scheme=row.scheme.text, witnesses=witnesses)


def _point(point: FrontPoint, row: PortMapping, sets: set[int]) -> ArchivedFrontPoint:
    judged, scored = point.judged, None
    if judged and (on := judged.get("experiment_set")) in sets | {None}:
        scored = _archive_evaluation(judged, on, "cycles")
    mapping = write_mapping_json(mapping_from(point.content), name=row.name, isa=row.isa.name)
    return _document(ArchivedFrontPoint, point, own=point.picked_id == row.pk, mapping=mapping, judged=scored)
