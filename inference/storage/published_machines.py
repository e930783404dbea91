"""Machines that files tell of, which measure nothing here."""

from __future__ import annotations

from typing import Any

from inference.models import Machine
from inference.storage.names import free_name


def published_machine(name: str, source: str, **columns: Any) -> Machine:
    """The machine of a file called `source`: one for all files that say the same of it."""
    columns["kind"] = Machine.Kind.PUBLISHED
    known = Machine.objects.filter(**columns, name__startswith=name[:150]).order_by("id").first()
    if known is not None:
        return known
    return Machine.objects.create(name=free_name(Machine, name), note=f"Told of by {source}.", **columns)
