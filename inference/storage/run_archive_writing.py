"""Runs that have ended as zips: what an archive says of rows, as the documents of `formats.run_archive`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from inference.core.events import ResultStored, StateChanged
from inference.core.experiment import Measured
from inference.core.protocols import Json
from inference.formats.archived_parts import DrawnTold
from inference.formats.errors import ExchangeError
from inference.formats.mapping_json import write_mapping_json
from inference.formats.provenance import CITATION, PRODUCT
from inference.formats.run_archive.documents import (
    FORMAT,
    VERSION,
    EvidenceTold,
    MachineTold,
    MappingTold,
    PointTold,
    RunManifest,
    RunTold,
    Scored,
    SetTold,
    VerdictTold,
)
from inference.formats.run_archive.references import named_in
from inference.formats.run_archive.writing import ArchivedFiles, write_zip
from inference.models import (
    Evaluation,
    ExperimentSet,
    FrontPoint,
    Machine,
    PortMapping,
    ResourceMapping,
    Run,
)
from inference.storage.exporting import MAPPING_EXPORTS, RESOURCE_EXPORTS, SET_EXPORTS
from inference.storage.fronts import mapping_from
from inference.storage.judging import VERDICT, allowed_result, archived_report
from inference.storage.rows import BATCH, measurements_of, texts_of


def write_archive(run: Run, exported_with: dict[str, str] | None = None) -> bytes:
    """Everything about a run that has ended. Raises `ExchangeError` for one that has not.

    `exported_with`: versions of the software that writes it; those that did the run are in its journal.
    """
    if run.state not in Run.FINAL:
        raise ExchangeError(f"run {run.name!r} has not ended: its archive can be had when it has")
    named = named_in(run.config)
    own_sets = run.experiment_sets.all()
    sets = list((own_sets | ExperimentSet.objects.filter(pk__in=named.sets)).distinct().order_by("id"))
    mappings = list(
        PortMapping.objects.filter(pk__in={*named.mappings, *_own_mappings(run)})
        .select_related("isa", "machine", "run")
        .order_by("id")
    )
    resources = list(
        ResourceMapping.objects.filter(pk__in=named.resource_mappings)
        .select_related("isa", "machine")
        .order_by("id")
    )
    stored: tuple[ExperimentSet | PortMapping | ResourceMapping, ...] = (*sets, *mappings, *resources)
    machines = {each.machine_id for each in stored if each.machine_id is not None} | named.machines.keys()
    told = {each.pk for each in sets}
    manifest = RunManifest(
        format=FORMAT,
        version=VERSION,
        made_by=PRODUCT,
        cite=[CITATION],
        run=_run(run),
        versions=_versions(run),
        exported_with=exported_with or {},
        schemes=texts_of(named.schemes),
        machines={
            row.pk: _machine(row) for row in Machine.objects.filter(pk__in=machines).select_related("isa")
        },
        sets=[_set(row, run) for row in sets],
        mappings=[_mapping(row, run, told) for row in mappings],
        resource_mappings=[_resource_mapping(row, told) for row in resources],
    )
    files = ArchivedFiles(
        _events(run),
        ((made.pk, _measured(made), SET_EXPORTS["csv"].write(made)) for made in sets),
        ((mapping.pk, MAPPING_EXPORTS["json"].write(mapping)) for mapping in mappings),
        ((resource.pk, RESOURCE_EXPORTS["json"].write(resource)) for resource in resources),
    )
    return write_zip(manifest, files)


def _own_mappings(run: Run) -> list[int]:
    return list(PortMapping.objects.filter(run=run).values_list("pk", flat=True))


def _events(run: Run) -> Iterator[Json]:
    allowed = allowed_result(run)
    for event in run.events.order_by("seq").iterator(chunk_size=BATCH):
        payload = event.payload
        if event.kind == ResultStored.kind and VERDICT in payload:  # journals of earlier versions say it
            payload = {**payload, VERDICT: allowed.get(VERDICT, payload[VERDICT])}
        yield {"seq": event.seq, "kind": event.kind, "payload": payload, "at": event.at.isoformat()}


def _measured(made: ExperimentSet) -> Iterator[Measured]:
    """A batch at a time."""
    last = 0
    while batch := measurements_of(made.measurements.filter(pk__gt=last).order_by("pk")[:BATCH]):
        last = batch[-1].id
        yield from (stored.value for stored in batch)


def _run(run: Run) -> RunTold:
    copied = ("name", "note", "kind", "state", "config", "error", "created", "started", "finished")
    seed = run.config.get("seed")
    return RunTold(
        **{name: getattr(run, name) for name in copied},
        result=allowed_result(run),
        busy_seconds=run.busy_seconds,
        seed=seed if type(seed) is int else None,
    )


def _versions(run: Run) -> dict[str, str]:
    """Those that the journal told when somebody last began to work on the run."""
    began = run.events.filter(kind=StateChanged.kind, payload__has_key="versions").order_by("-seq").first()
    return {} if began is None else began.payload["versions"]


def _machine(row: Machine) -> MachineTold:
    facts = {name: value for name, value in row.facts.items() if name != "host"}
    return MachineTold(name=row.name, cpu=row.cpu, isa=row.isa.name, facts=facts)


def _set(row: ExperimentSet, run: Run) -> SetTold:
    return SetTold(**_named(row), own=row.run_id == run.pk, identity=row.identity)


def _named(row: ExperimentSet | PortMapping | ResourceMapping) -> dict[str, Any]:
    """What is told of each of them."""
    copied = {name: getattr(row, name) for name in ("name", "note", "source")}
    return {"id": row.pk, "isa": row.isa.name, "machine": row.machine_id, **copied}


def _mapping(row: PortMapping, run: Run, sets: set[int]) -> MappingTold:
    return MappingTold(
        **_named(row),
        own=row.run_id == run.pk,
        report=archived_report(row),
        evaluations=_evaluations(row, sets),
        verdicts=_verdicts(row),
        front=[_point(point, row, sets) for point in row.front.order_by("place")],
    )


def _resource_mapping(row: ResourceMapping, sets: set[int]) -> MappingTold:
    return MappingTold(
        **_named(row),
        report=row.report,
        evaluations=_evaluations(row, sets),
    )


def _evaluations(row: PortMapping | ResourceMapping, sets: set[int]) -> list[Scored]:
    """On sets of the zip, and on what the run held out."""
    return [
        _scored(each.experiment_set_id, each.unit, {name: getattr(each, name) for name in _NUMBERS})
        for each in row.evaluations.order_by("id")
        if each.experiment_set_id in sets or _held_out_by_own(each, row)
    ]


def _held_out_by_own(each: Evaluation, row: PortMapping | ResourceMapping) -> bool:
    return (
        each.held_out_by_id is not None and isinstance(row, PortMapping) and each.held_out_by_id == row.run_id
    )


_NUMBERS = ("n", "skipped", "mape", "pearson", "kendall", "heat_map")


def _scored(experiment_set: int | None, unit: str, numbers: dict[str, Any]) -> Scored:
    scores = {name: numbers[name] for name in _NUMBERS}
    drawn = {name: numbers["heat_map"][name] for name in DrawnTold.model_fields}
    return Scored(experiment_set=experiment_set, unit=unit, **{**scores, "heat_map": drawn})


def _verdicts(row: PortMapping) -> list[VerdictTold]:
    found = (
        row.characterisations.select_related("scheme").prefetch_related("witnesses__blocker").order_by("id")
    )
    copied = [name for name in VerdictTold.model_fields if name not in ("scheme", "witnesses")]
    return [
        VerdictTold(
            scheme=each.scheme.text,
            witnesses=[_evidence(witness) for witness in each.witnesses.all()],
            **{name: getattr(each, name) for name in copied},
        )
        for each in found
    ]


def _evidence(witness: Any) -> EvidenceTold:
    copied = [name for name in EvidenceTold.model_fields if name != "blocker"]
    return EvidenceTold(blocker=witness.blocker.text, **{name: getattr(witness, name) for name in copied})


def _point(point: FrontPoint, row: PortMapping, sets: Sequence[int] | set[int]) -> PointTold:
    judged = point.judged
    on = judged.get("experiment_set") if judged else None
    known = bool(judged) and (on is None or on in sets)
    return PointTold(
        place=point.place,
        error=point.error,
        volume=point.volume,
        kinds=point.kinds,
        mape=point.mape,
        own=point.picked_id == row.pk,
        mapping=write_mapping_json(mapping_from(point.content), name=row.name, isa=row.isa.name),
        judged=_scored(on, "cycles", judged) if known else None,
    )
