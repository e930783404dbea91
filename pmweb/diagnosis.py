"""What a bug report needs to say of an installation, in one zip of text files, and nothing that is a secret.

No measurements, mappings, file names or addresses of people: versions, settings (of those that could be
secrets, only whether they are set), the state of database and machines, and what recent runs failed with.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable

from django.conf import settings
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from inference.models import Machine, Run
from inference.models.schema import schema
from pmweb import installation, metrics
from pmweb.logs import without_tokens

_SECRET_WORDS = ("SECRET", "PASSWORD", "TOKEN", "URL", "WEBHOOK")
_RECENT = 20
_LONGEST_ERROR = 4000


def bundle() -> bytes:
    """The zip. A part that cannot be had says why instead."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in PARTS.items():
            try:
                text = part()
            except (OperationalError, OSError) as error:
                text = f"not to be had: {type(error).__name__}: {error}\n"
            archive.writestr(name, without_tokens(text))
    return packed.getvalue()


def _installation() -> str:
    sections = (installation.facts(), installation.computing())
    found = [(program.name, executable) for program, many in installation.find_all() for executable in many]
    programs = [(name, f"{executable.version or '?'} {executable.path}") for name, executable in found]
    return _table(
        [*(pair for section in sections for pair in section), *installation.library_versions(), *programs]
    )


def _environment() -> str:
    shown = (
        (name, _harmless(name, value))
        for name, value in sorted(os.environ.items())
        if name.startswith("PMWEB_")
    )
    return _table(shown)


def _harmless(name: str, value: str) -> str:
    return f"(set, {len(value)} characters)" if any(word in name for word in _SECRET_WORDS) else value


def _database() -> str:
    state = schema()
    applied = sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())
    free = shutil.disk_usage(settings.HOME).free >> 20
    pairs = [
        ("migrations missing", "yes" if state.lacks else "no"),
        ("migrations unknown", ", ".join(state.unknown) or "none"),
        ("room on the disk of the data directory", f"{free} MiB"),
    ]
    return _table(pairs) + "\n" + "\n".join(applied) + "\n"


def _runs() -> str:
    """The newest failed runs: kind, times, attempts and error, without names and descriptions."""
    fields = ("pk", "kind", "created", "started", "finished", "attempts", "busy_seconds")
    rows = Run.objects.filter(state=Run.State.FAILED).order_by("-pk")[:_RECENT]
    told = [
        {**{field: getattr(row, field) for field in fields}, "error": row.error[:_LONGEST_ERROR]}
        for row in rows
    ]
    return json.dumps(told, indent=1, default=str) + "\n"


def _machines() -> str:
    """How machines are doing, without their names and hosts."""
    rows = Machine.objects.order_by("pk").select_related("isa")
    told = [
        {
            "pk": row.pk,
            "kind": row.kind,
            "isa": row.isa.name,
            "cpu": row.cpu,
            "state": row.state,
            "note": row.state_note,
            "online": row.is_online(),
            "facts": {name: value for name, value in row.facts.items() if name not in {"host", "mapping"}},
        }
        for row in rows
    ]
    return json.dumps(told, indent=1, default=str) + "\n"


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
