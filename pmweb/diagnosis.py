"""The bundle for a bug report: a zip of text files about the installation, without names and secrets.

It has versions, settings that are numbers or choices (for others, whether they are set), the state of
database and machines, and errors of recent runs with only the product's own sentences (`source_sentences`).
It has no measurements, mappings or files, and no names of people, hosts, machines, sets, runs or directories.
"""

from __future__ import annotations

import io
import json
import os
import platform
import shutil
import zipfile
from collections.abc import Callable, Iterable

from django.conf import settings
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from inference.cluster.connection import condition
from inference.core.protocols import Json
from inference.models import Machine, Run
from inference.models.schema import schema
from inference.storage.instruction_sets import SUPPLIED
from pmweb import __version__, environment, installation, metrics, source_sentences
from pmweb.logs import without_tokens

_FACTS = (
    *("system", "machine", "isa", "kernel", "python", "vendor", "family", "model", "stepping"),
    *("microcode", "implementer", "part", "revision", "flags", "cpuid", "cores", "core", "core_type"),
    *("core_cpus", "siblings", "virtual", "emulated", "governor", "turbo", "smt", "load", "blocks"),
    *("offsets", "confinement"),
)
"""Facts about computers that do not identify an owner or host."""

_RECENT = 20


def bundle() -> bytes:
    """The zip; a part that cannot be read has the reason instead."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in PARTS.items():
            try:
                text = part()
            except (OperationalError, OSError) as error:
                text = f"not available: {type(error).__name__}\n"  # the message may name the server
            archive.writestr(name, without_tokens(text))
    return packed.getvalue()


def _installation() -> str:
    """Kinds and versions, without paths."""
    executables = [
        (program.name, executable) for program, many in installation.find_programs() for executable in many
    ]
    return _table(
        [
            ("pmweb", __version__),
            ("Python", platform.python_version()),
            ("Operating system", platform.platform()),
            ("Database", installation.database_server(named=False)),
            ("Between processes", installation.message_server(named=False)),
            ("Processors", f"{len(os.sched_getaffinity(0))} of this computer"),
            ("Dask", source_sentences.sentence(condition(settings.DASK)) or "configured"),
            *installation.library_versions(),
            *((name, executable.version or "?") for name, executable in executables),
        ]
    )


def _environment() -> str:
    names = sorted(name for name in os.environ if name.startswith("PMWEB_"))
    return _table((name, os.environ[name] if name in environment.PUBLIC else "(set)") for name in names)


def _database() -> str:
    state = schema()
    applied = sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())
    free = shutil.disk_usage(settings.HOME).free >> 20
    pairs = [
        ("migrations missing", "yes" if state.needs_migration else "no"),
        ("migrations unknown", ", ".join(state.unknown) or "none"),
        ("room on the disk of the data directory", f"{free} MiB"),
    ]
    return _table(pairs) + "\n" + "\n".join(applied) + "\n"


def _runs() -> str:
    """The newest failed runs: kind, times, attempts, and the product's sentences of the error."""
    fields = ("pk", "kind", "created", "started", "finished", "attempts", "busy_seconds")
    rows = Run.objects.filter(state=Run.State.FAILED).order_by("-pk")[:_RECENT]
    reports = [{**{field: getattr(row, field) for field in fields}, **_error(row.error)} for row in rows]
    return json.dumps(reports, indent=1, default=str, ensure_ascii=False) + "\n"


def _error(text: str) -> Json:
    sentence, frames = source_sentences.error(text)
    return {"error": sentence or f"(no sentence of this product, {len(text)} characters)", "frames": frames}


def _machines() -> str:
    """State of the machines, without names and hosts."""
    rows = Machine.objects.order_by("pk").select_related("isa")
    reports = [
        {
            "pk": row.pk,
            "kind": row.kind,
            "isa": row.isa.name if row.isa.name in SUPPLIED else "one of the site",
            "cpu": row.cpu if row.kind == Machine.Kind.AGENT else "",
            "state": row.state,
            "note": source_sentences.sentence(row.state_note) or ("(set)" if row.state_note else ""),
            "online": row.is_online(),
            "facts": {name: row.facts[name] for name in _FACTS if name in row.facts},
        }
        for row in rows
    ]
    return json.dumps(reports, indent=1, default=str, ensure_ascii=False) + "\n"


def _table(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{label}: {value}\n" for label, value in pairs)


PARTS: dict[str, Callable[[], str]] = {
    "installation.txt": _installation,
    "environment.txt": _environment,
    "database.txt": _database,
    "metrics.txt": metrics.exposition,
    "failed-runs.json": _runs,
    "machines.json": _machines,
}
