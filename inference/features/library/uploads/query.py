"""Uploaded files: stored until their import, and the content of previews."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import IO, Any, cast

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import QuerySet, Sum

from inference.core.evaluator import ThroughputModel
from inference.core.protocols import Json
from inference.core.resources import ResourceMapping as Resources
from inference.formats.document import PART, FileExperiments
from inference.formats.file_formats import FORMATS, FileContent
from inference.formats.file_numbers import FileUnit, doubts_of, unit_in_doubt
from inference.formats.import_formats import file_to_store
from inference.formats.other_formats import importers
from inference.formats.parsing import NEAREST, Parsed
from inference.models import ExperimentSet, LatencySet, PortMapping, ResourceMapping, Run, Upload, UploadPart
from inference.models.run import UNDECIDED, UPLOAD_SIZE
from inference.runs.errors import ConfigError, JobError, LimitError
from inference.runs.lifecycle import submit
from inference.runs.request import read_row
from inference.storage.importing import ImportedRow, Preview
from inference.storage.instruction_sets import vocabulary


def free_upload(pk: object) -> Upload:
    """The file with this id, without its content. Raises `ConfigError` if a run imports it."""
    return _check_upload(
        read_row(Upload.objects.select_related("run").defer("beginning"), "upload", pk, _TITLE)
    )


def claim_upload(run: Run) -> None:
    """Reserves the file for the run that imports it. Raises `ConfigError` if another run does.

    Call it in the transaction that submits the run.
    """
    rows = Upload.objects.select_for_update(of=("self",)).defer("beginning")
    upload = _check_upload(read_row(rows, "upload", run.config["upload"], _TITLE))
    Upload.objects.filter(pk=upload.pk).update(run=run)


def lock_upload(upload: Upload) -> None:
    """Locks a file before its content is stored. Raises `JobError` if another run has imported it."""
    if not Upload.objects.select_for_update().filter(pk=upload.pk).values_list("pk"):
        raise JobError(f"{upload.file_name} has been imported by another run meanwhile")


def discard_upload(upload: Upload) -> None:
    """Deletes a file before its content is stored. Raises `JobError` if another run has imported it."""
    lock_upload(upload)
    upload.delete()


_TITLE = "uploaded file"


def _check_upload(upload: Upload) -> Upload:
    if upload.run is not None and upload.run.state not in Run.FINAL:
        raise ConfigError(f"{upload.file_name} is being imported already, by the run {upload.run.name!r}")
    return upload


def waiting_uploads() -> QuerySet[Upload]:
    """Uploads without an import, oldest first, with their `size` in bytes and without their content."""
    rows = Upload.objects.filter(UNDECIDED).defer("beginning", "parsed")
    return rows.annotate(size=UPLOAD_SIZE).order_by("id")


SIDE_FILE_SIZE = 4 << 20  # bytes; a list of all schemes of an instruction set is far smaller


NAME_LENGTH = 300  # characters, the length of the column


@dataclass(frozen=True)
class _Received:
    """A received file that is not in the database yet."""

    name: str
    file: IO[bytes]
    size: int
    sha256: str


def store_uploads(files: Sequence[UploadedFile[bytes]], user: Any) -> list[Upload]:
    """Stores all files or, after an error, none; files that are already waiting are not stored twice.

    Reads them before it locks anything: a large file takes minutes, during which no other process could
    write.

    Raises `ExchangeError` for unreadable files, and `LimitError` if the user's files exceed a limit.
    """
    with ExitStack() as spools:
        received = [_receive(file, spools) for file in files]
        with transaction.atomic():
            return [_store_upload(upload, user) for upload in received]


def _receive(file: UploadedFile[bytes], spools: ExitStack) -> _Received:
    name = file.name or "upload"
    stored = file_to_store(cast("IO[bytes]", file), name, settings.UPLOAD_LIMIT_BYTES, spools)
    size = stored.seek(0, os.SEEK_END)
    stored.seek(0)
    digest = hashlib.sha256()
    while chunk := stored.read(1 << 20):
        digest.update(chunk)
    return _Received(PurePath(name).name[:NAME_LENGTH], stored, size, digest.hexdigest())


def _store_upload(received: _Received, user: Any) -> Upload:
    digest, name = received.sha256, received.name
    waiting = Upload.objects.filter(UNDECIDED, sha256=digest, file_name=name).defer("beginning").first()
    if waiting is not None:
        return waiting
    _require_room(user, received.size)
    received.file.seek(0)
    beginning = received.file.read(UploadPart.SIZE)
    n_remaining = received.size - len(beginning)
    upload = Upload.objects.create(
        file_name=name, beginning=beginning, further_bytes=n_remaining, sha256=digest, created_by=user
    )
    for number in range(1, -(-n_remaining // UploadPart.SIZE) + 1):
        UploadPart.objects.create(upload=upload, number=number, content=received.file.read(UploadPart.SIZE))
    return upload


def _require_room(user: Any, size: int) -> None:
    """Raises `LimitError` if `size` more bytes exceed the user's limits.

    Call it in the transaction that stores the file.
    """
    if user is None:
        return
    # Locks the user's row until the transaction ends, so that concurrent uploads cannot exceed the limit.
    get_user_model().objects.select_for_update().filter(pk=user.pk).first()
    files = Upload.objects.filter(created_by=user)
    max_files, max_bytes = settings.UPLOADS_PER_USER, settings.UPLOADED_BYTES_PER_USER
    if max_files and files.count() >= max_files:
        raise LimitError(f"you have {max_files} waiting files, the maximum: import or discard some")
    if max_bytes:
        total_bytes = files.aggregate(bytes=Sum(UPLOAD_SIZE))["bytes"] or 0
        if total_bytes + size > max_bytes:
            raise LimitError(
                f"your waiting files would have {(total_bytes + size) / 2**20:.1f} MiB together, more than "
                f"the maximum of {max_bytes >> 20} MiB: import or discard some"
            )


def receive(files: Sequence[UploadedFile[bytes]], user: Any) -> list[Upload]:
    """Stores the files by `store_uploads`, and queues previews of those without one.

    Raises the errors of `store_uploads`; stored files stay even if a preview cannot be queued.
    """
    uploads = store_uploads(files, user)
    for upload in uploads:
        if upload.reading_id is None:
            start_reading(upload, user)
    return uploads


def start_reading(upload: Upload, user: Any, **choices: Any) -> Run:
    """Queues a preview of a file. Raises `RunsError`, and `UnknownNameError` for unknown rows."""
    return submit("read", {"upload": upload.pk, **choices}, user=user)


SAMPLE = 12
"""Number of rows of the file in a preview."""
UNIT_COLUMN = "unit"
_BECOMES = {
    FileContent.EXPERIMENTS: "Experiment sets",
    FileContent.LATENCIES: "Latencies",
    FileContent.MAPPING: "Port mappings",
    FileContent.RESOURCES: "Resource mappings",
    FileContent.NAMES: "Scheme names beside a resource mapping",
    FileContent.REJECTS: "Reasons beside a port mapping",
}


def readable_formats() -> list[tuple[str, list[str]]]:
    """(what files become, the titles of their formats), other apps' formats at the end."""
    kinds = [
        (label, [file_format.title for file_format in FORMATS if file_format.content is content])
        for content, label in _BECOMES.items()
    ]
    return [*kinds, ("Blocks, programs, campaigns, runs", [importer.titles for importer in importers()])]


MODELS: dict[str, type[ImportedRow]] = {
    "experiment_set": ExperimentSet,
    "mapping": PortMapping,
    "resource_mapping": ResourceMapping,
    "latency_set": LatencySet,
}
"""{key in an import's result: model} of what a file can become."""


def preview_json(upload: Preview, ports: ThroughputModel | None = None) -> Json:
    """The content of a preview, as stored with the file and answered by the API.

    `ports`: a mapping to check the numbers against.
    """
    parsed, facts = upload.parsed, upload.parsed.facts
    unit = FileUnit(facts.get("unit", FileUnit.CYCLES))
    kinds = [*doubts_of(parsed.measured, ports), *parsed.doubts]
    return {
        "format": None if parsed.format is None else parsed.format.title,
        "kind": next(kind for kind, model in MODELS.items() if model is upload.model),
        "makes": str(upload.model._meta.verbose_name),
        "acceptable": upload.acceptable and parsed.format is not None,
        "own_name": upload.own_name,
        "isa": None if upload.isa is None else upload.isa.pk,
        "new_isa": upload.new_isa,
        "core": upload.core,
        "rows": len(parsed.measured) or len(parsed.schemes),
        "problem_count": parsed.problem_count,
        "problems": [asdict(problem) for problem in parsed.problems],
        "broken": parsed.broken,
        "left": parsed.left,
        "leaves_out": upload.leave_out,
        "can_leave_out": parsed.can_leave_out,
        "unknown": [asdict(name) for name in parsed.unknown],
        "offers": _offers(upload),
        "taken": dict(upload.substitutes),
        "unit": facts.get("unit"),
        "unit_label": unit.label,
        "unit_asked": "columns" in facts
        and UNIT_COLUMN not in facts["columns"]
        and "unit_by_title" not in facts,
        "unit_doubt": unit_in_doubt(parsed.facts),
        "unit_why": facts.get("why", ""),
        "doubts": [asdict(kind) for kind in kinds],
        "left_out": [list(item) for item in parsed.left_out.items()],
        "microarchitectures": list(facts.get("microarchitectures", ())),
        "microarchitecture": upload.microarchitecture,
        "parts": PART in facts,
        "explained": upload.explanation is not None,
        "titled": "titles" in facts,
        "facts": _facts(upload),
        "ports": [] if parsed.mapping is None else list(parsed.mapping.ports),
        "sample": _sample(parsed),
    }


def _offers(upload: Preview) -> list[Json]:
    """Unknown names, including replaced ones, each with the nearest schemes."""
    offers: list[Json] = [
        {"name": name.name, "rows": name.rows, "row": name.row, "choices": list(name.nearest), "taken": ""}
        for name in upload.parsed.unknown
    ]
    if upload.isa is None:
        return offers
    names = vocabulary(upload.isa)
    for name, text in upload.substitutes.items():
        choices = list(dict.fromkeys((text, *names.nearest(name, NEAREST))))
        offers.append({"name": name, "rows": None, "row": None, "choices": choices, "taken": text})
    return sorted(offers, key=lambda offer: str(offer["name"]))


def _sample(parsed: Parsed) -> list[Json]:
    """The first rows in the form in which they would be stored."""
    if parsed.mapping is not None:
        return [{"scheme": text, "uops": uops} for text, uops in list(parsed.mapping.usage.items())[:SAMPLE]]
    if parsed.resources is not None:
        return [
            {"scheme": text, "loads": parsed.resources.describe(text)}
            for text in list(parsed.resources.loads)[:SAMPLE]
        ]
    if parsed.latencies:
        return [
            {"scheme": text, "pairs": [pair.as_json() for pair in entry.pairs]}
            for text, entry in list(parsed.latencies.items())[:SAMPLE]
        ]
    return [
        {"terms": row.experiment.terms, "length": row.experiment.length, "cycles": row.cycles}
        for row in parsed.measured[:SAMPLE]
    ]


def _fact(label: str, value: str, *, figure: bool = False) -> Json:
    """A fact of a preview. `figure`: the value is typeset as a number."""
    return {"label": label, "value": value, "figure": figure}


def _facts(upload: Preview) -> list[Json]:
    parsed = upload.parsed
    if parsed.latencies:
        facts = _latency_facts(parsed)
    elif parsed.resources is not None:
        facts = _resource_facts(parsed.resources)
    else:
        facts = _mapping_facts(upload) if parsed.mapping is not None else _experiment_facts(parsed)
    if parsed.schemes:
        facts.insert(1 if facts else 0, _fact("Schemes", f"{len(parsed.schemes):,}", figure=True))
    total = parsed.facts.get("instructions")
    if total and (parsed.resources is not None or "matched" in parsed.facts):
        matched = parsed.facts.get("matched", total - len(parsed.left_out))
        facts.append(_fact("Instructions with a scheme", f"{matched:,} of {total:,}", figure=True))
    if columns := parsed.facts.get("columns"):
        titles = parsed.facts.get("titles", columns)
        facts.append(
            _fact("Columns", ", ".join(_column(*pair) for pair in zip(titles, columns, strict=True)))
        )
    if tools := parsed.facts.get("tools"):
        facts.append(_fact("Other tools' answers", ", ".join(tools)))
    if architecture := parsed.facts.get("arch") or parsed.facts.get("isa"):
        facts.append(_fact("Named in the file", str(architecture)))
    if parsed.merged:
        facts.append(_fact("Names that mean the same scheme", f"{len(parsed.merged):,}", figure=True))
    return facts


def _column(title: str, name: str) -> str:
    """A column's title, with its recognised meaning if that differs."""
    return name if title.lower() == name.lower() else f"{title} ({name})"


def _experiment_facts(parsed: Parsed) -> list[Json]:
    measured = parsed.measured
    if not isinstance(measured, FileExperiments) or not len(measured):
        return []
    units = [FileUnit(unit).label for unit in parsed.facts.get("units", ())]
    return [
        _fact("Experiments", f"{len(measured):,}", figure=True),
        _fact("Instructions per experiment", _range(measured.lengths, ""), figure=True),
        _fact("Cycles", _range(measured.cycles, ".2f"), figure=True),
        _fact("Unit in the file", ", ".join(units)),
    ]


def _mapping_facts(upload: Preview) -> list[Json]:
    mapping = upload.parsed.mapping
    assert mapping is not None
    limits = " and ".join(f"{rate:g} {unit}" for unit, rate in mapping.limits.items())
    outcomes = [] if upload.explanation is None else upload.explanation.outcomes.most_common()
    return [
        _fact("Ports", ", ".join(mapping.ports), figure=True),
        *(_fact(outcome.value.capitalize(), f"{count:,}", figure=True) for outcome, count in outcomes),
        _fact("Distinct µops", f"{mapping.uop_kinds:,}", figure=True),
        _fact("Outside the ports", f"{limits} per cycle" if limits else "not modelled"),
    ]


def _resource_facts(resources: Resources) -> list[Json]:
    return [
        _fact("Resources", f"{len(resources.resources):,}", figure=True),
        _fact("Classes of equal loads", f"{resources.classes:,}", figure=True),
    ]


def _latency_facts(parsed: Parsed) -> list[Json]:
    pairs = [pair for entry in parsed.latencies.values() for pair in entry.pairs]
    bounds = [pair.most for pair in pairs if pair.most is not None]
    facts = [_fact("Pairs of operands", f"{len(pairs):,}", figure=True)]
    return [*facts, _fact("Cycles", _range(bounds, ".4g"), figure=True)] if bounds else facts


def _range(values: Iterable[float], form: str) -> str:
    numbers = list(values)
    low, high = format(min(numbers), form), format(max(numbers), form)
    return low if low == high else f"{low}–{high}"
