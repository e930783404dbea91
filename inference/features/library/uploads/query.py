"""Files that come in: kept until their owner decides what becomes of them, and what each would bring."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import IO, Any, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Length

from inference.core.evaluator import ThroughputModel
from inference.core.protocols import Json
from inference.core.resources import ResourceMapping as Resources
from inference.formats.document import PART, ReadExperiments
from inference.formats.file_units import FileUnit
from inference.formats.import_formats import to_be_kept
from inference.formats.measurement_doubts import doubts_of, unit_in_doubt
from inference.formats.parsing import NEAREST, Parsed
from inference.models import ExperimentSet, LatencySet, PortMapping, ResourceMapping, Run, Upload
from inference.models.upload import UNDECIDED
from inference.runs.errors import ConfigError, JobError
from inference.runs.lifecycle import submit, unused_name
from inference.runs.request import read_row
from inference.runs.user_limits import room_for_upload
from inference.storage.importing import MadeRow, Preview
from inference.storage.instruction_sets import vocabulary
from inference.storage.names import NAME_LIMIT


def free_upload(pk: object) -> Upload:
    """The file with this id, without its content. Raises `ConfigError` where it is being imported."""
    return _checked(read_row(Upload.objects.select_related("run").defer("content"), "upload", pk, _TITLE))


def claim_upload(run: Run) -> None:
    """From now on the file shows which run imports it; raises `ConfigError` where another one does.

    To be called in the transaction that submits the run.
    """
    rows = Upload.objects.select_for_update(of=("self",)).defer("content")
    upload = _checked(read_row(rows, "upload", run.config["upload"], _TITLE))
    Upload.objects.filter(pk=upload.pk).update(run=run)


def discard_upload(upload: Upload) -> None:
    """Delete a file before what it says is stored. Raises `JobError` where another run was faster."""
    if not Upload.objects.filter(pk=upload.pk).delete()[0]:
        raise JobError(f"{upload.file_name} has been imported meanwhile, by another run")


_TITLE = "uploaded file"


def _checked(upload: Upload) -> Upload:
    if upload.run is not None and upload.run.state not in Run.FINAL:
        raise ConfigError(f"{upload.file_name} is being imported already, by the run {upload.run.name!r}")
    return upload


def waiting_uploads() -> QuerySet[Upload]:
    """Uploads that no import works on, oldest first, with their `size` in bytes and without their content."""
    rows = Upload.objects.filter(UNDECIDED).defer("content", "parsed")
    return rows.annotate(size=Length("content")).order_by("id")


SIDE_FILE_SIZE = 4 << 20  # bytes; a list with all schemes that an instruction set has is far smaller


NAME_LENGTH = 300  # characters, as the column has it


@dataclass(frozen=True)
class _Received:
    """A file that was read once, and is not in the database yet."""

    name: str
    file: IO[bytes]
    size: int
    sha256: str


def keep_all(files: Sequence[UploadedFile[bytes]], user: Any) -> list[Upload]:
    """Store all of the files, or after an error none; of those that wait already, find the one that waits.

    They are read before anything is locked: a large one takes minutes, and meanwhile nobody else could write.

    Raises `ExchangeError` for what cannot be read at all, and `LimitError` where the user has no room for it.
    """
    with ExitStack() as spools:
        received = [_receive(file, spools) for file in files]
        with transaction.atomic():
            return [_keep(each, user) for each in received]


def _receive(file: UploadedFile[bytes], spools: ExitStack) -> _Received:
    name = file.name or "upload"
    kept = to_be_kept(cast("IO[bytes]", file), name, settings.UPLOAD_LIMIT_BYTES, spools)
    size = kept.seek(0, os.SEEK_END)
    kept.seek(0)
    digest = hashlib.sha256()
    while chunk := kept.read(1 << 20):
        digest.update(chunk)
    return _Received(PurePath(name).name[:NAME_LENGTH], kept, size, digest.hexdigest())


def _keep(received: _Received, user: Any) -> Upload:
    digest, name = received.sha256, received.name
    same = Upload.objects.filter(UNDECIDED, sha256=digest, file_name=name).defer("content").first()
    if same is not None:
        return same
    room_for_upload(user, received.size)
    received.file.seek(0)
    return Upload.objects.create(file_name=name, content=received.file.read(), sha256=digest, created_by=user)


def receive(files: Sequence[UploadedFile[bytes]], user: Any) -> list[Upload]:
    """Store the files as `keep_all` does, and queue the reading of those that nobody has read.

    Raises what `keep_all` raises; a file that is kept is not lost where there is no room for another run.
    """
    kept = keep_all(files, user)
    for each in kept:
        if each.reading_id is None:
            start_reading(each, user)
    return kept


def start_reading(upload: Upload, user: Any, **choices: Any) -> Run:
    """Queue the reading of a file. Raises `RunsError`, and `UnknownNameError` for rows that there are not."""
    name = unused_name(f"Read {upload.file_name}"[: NAME_LIMIT - 10])
    return submit("read", {"upload": upload.pk, **choices}, name, user=user)


SAMPLE = 12
"""Rows of the file that a preview repeats."""
UNIT_COLUMN = "unit"
MODELS: dict[str, type[MadeRow]] = {
    "experiment_set": ExperimentSet,
    "mapping": PortMapping,
    "resource_mapping": ResourceMapping,
    "latency_set": LatencySet,
}
"""What a file can become, as the result of its import calls it."""


def as_json(seen: Preview, ports: ThroughputModel | None = None) -> Json:
    """What an uploaded file would bring: kept with the file, shown by its page and told by the API.

    `ports`: predicts the cycles that the numbers are held against."""
    parsed, facts = seen.parsed, seen.parsed.facts
    unit = FileUnit(facts.get("unit", FileUnit.CYCLES))
    kinds = doubts_of(parsed, ports)
    return {
        "format": None if parsed.format is None else parsed.format.title,
        "kind": next(kind for kind, model in MODELS.items() if model is seen.model),
        "makes": str(seen.model._meta.verbose_name),
        "acceptable": seen.acceptable and parsed.format is not None,
        "own_name": seen.own_name,
        "isa": None if seen.isa is None else seen.isa.pk,
        "new_isa": seen.new_isa,
        "rows": len(parsed.measured) or len(parsed.schemes),
        "problem_count": parsed.problem_count,
        "problems": [asdict(problem) for problem in parsed.problems],
        "broken": parsed.broken,
        "left": parsed.left,
        "leaves_out": seen.leave_out,
        "can_leave_out": parsed.can_leave_out,
        "unknown": [asdict(name) for name in parsed.unknown],
        "offers": _offers(seen),
        "taken": dict(seen.taken),
        "unit": facts.get("unit"),
        "unit_label": unit.label,
        "unit_asked": "columns" in facts
        and UNIT_COLUMN not in facts["columns"]
        and "unit_by_title" not in facts,
        "unit_doubt": unit_in_doubt(parsed),
        "unit_why": facts.get("why", ""),
        "doubts": [asdict(kind) for kind in kinds],
        "left_out": [list(each) for each in parsed.left_out.items()],
        "microarchitectures": list(facts.get("microarchitectures", ())),
        "microarchitecture": seen.microarchitecture,
        "parts": PART in facts,
        "explained": seen.explanation is not None,
        "titled": "titles" in facts,
        "facts": _facts(seen),
        "ports": [] if parsed.mapping is None else list(parsed.mapping.ports),
        "sample": _sample(parsed),
    }


def _offers(seen: Preview) -> list[Json]:
    """The names that no scheme has, also those that are taken for one, each with the nearest schemes."""
    found: list[Json] = [
        {"name": each.name, "rows": each.rows, "row": each.row, "choices": list(each.nearest), "taken": ""}
        for each in seen.parsed.unknown
    ]
    if seen.isa is None:
        return found
    names = vocabulary(seen.isa)
    for name, text in seen.taken.items():
        near = list(dict.fromkeys((text, *names.nearest(name, NEAREST))))
        found.append({"name": name, "rows": None, "row": None, "choices": near, "taken": text})
    return sorted(found, key=lambda offer: str(offer["name"]))


def _sample(parsed: Parsed) -> list[Json]:
    """The first rows as they would be stored."""
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
        {"terms": each.experiment.terms, "length": each.experiment.length, "cycles": each.cycles}
        for each in parsed.measured[:SAMPLE]
    ]


def _fact(label: str, value: str, *, figure: bool = False) -> Json:
    """`figure`: the value is set as a number."""
    return {"label": label, "value": value, "figure": figure}


def _facts(seen: Preview) -> list[Json]:
    parsed = seen.parsed
    if parsed.latencies:
        found = _latency_facts(parsed)
    elif parsed.resources is not None:
        found = _resource_facts(parsed, parsed.resources)
    else:
        found = _mapping_facts(seen) if parsed.mapping is not None else _experiment_facts(parsed)
    if parsed.schemes:
        found.insert(1 if found else 0, _fact("Schemes", f"{len(parsed.schemes):,}", figure=True))
    if columns := parsed.facts.get("columns"):
        written = parsed.facts.get("titles", columns)
        found.append(
            _fact("Columns", ", ".join(_column(*each) for each in zip(written, columns, strict=True)))
        )
    if tools := parsed.facts.get("tools"):
        found.append(_fact("Other tools' answers", ", ".join(tools)))
    if architecture := parsed.facts.get("arch") or parsed.facts.get("isa"):
        found.append(_fact("Named in the file", str(architecture)))
    if parsed.merged:
        found.append(_fact("Names that mean the same scheme", f"{len(parsed.merged):,}", figure=True))
    return found


def _column(title: str, name: str) -> str:
    """A column by its title, and what it was taken for where that is not the same."""
    return name if title.lower() == name.lower() else f"{title} ({name})"


def _experiment_facts(parsed: Parsed) -> list[Json]:
    measured = parsed.measured
    if not isinstance(measured, ReadExperiments) or not len(measured):
        return []
    units = [FileUnit(unit).label for unit in parsed.facts.get("units", ())]
    return [
        _fact("Experiments", f"{len(measured):,}", figure=True),
        _fact("Instructions per experiment", _range(measured.lengths, ""), figure=True),
        _fact("Cycles", _range(measured.cycles, ".2f"), figure=True),
        _fact("Unit in the file", ", ".join(units)),
    ]


def _mapping_facts(seen: Preview) -> list[Json]:
    mapping = seen.parsed.mapping
    assert mapping is not None
    limits = " and ".join(f"{rate:g} {what}" for what, rate in mapping.limits.items())
    outcomes = [] if seen.explanation is None else seen.explanation.outcomes.most_common()
    return [
        _fact("Ports", ", ".join(mapping.ports), figure=True),
        *(_fact(outcome.value.capitalize(), f"{count:,}", figure=True) for outcome, count in outcomes),
        _fact("Distinct µops", f"{mapping.uop_kinds:,}", figure=True),
        _fact("Outside the ports", f"{limits} per cycle" if limits else "not modelled"),
    ]


def _resource_facts(parsed: Parsed, resources: Resources) -> list[Json]:
    found = [
        _fact("Resources", f"{len(resources.resources):,}", figure=True),
        _fact("Classes of equal loads", f"{resources.classes:,}", figure=True),
    ]
    if total := parsed.facts.get("instructions"):
        known = f"{total - len(parsed.left_out):,} of {total:,}"
        found.append(_fact("Instructions with a scheme", known, figure=True))
    return found


def _latency_facts(parsed: Parsed) -> list[Json]:
    pairs = [pair for entry in parsed.latencies.values() for pair in entry.pairs]
    known = [pair.most for pair in pairs if pair.most is not None]
    found = [_fact("Pairs of operands", f"{len(pairs):,}", figure=True)]
    return [*found, _fact("Cycles", _range(known, ".4g"), figure=True)] if known else found


def _range(values: Iterable[float], form: str) -> str:
    found = list(values)
    low, high = format(min(found), form), format(max(found), form)
    return low if low == high else f"{low}–{high}"
