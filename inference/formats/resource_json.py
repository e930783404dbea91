"""The product's own JSON for resource mappings, in and out; see docs/formats.md."""

from __future__ import annotations

from typing import Any

from inference.core.resources import ResourceMapping
from inference.formats.document import Document, LoadEntry, check_name
from inference.formats.file_units import FileUnit
from inference.formats.json_fields import as_loads, as_object, as_resources, printable_text
from inference.formats.problems import Problems, excerpt
from inference.formats.source import Source

FORMAT_NAME = "pmweb-resource-mapping"
VERSION = 1


def read_resource_json(source: Source, problems: Problems, unit: FileUnit | None) -> Document:
    """Read a resource mapping: for each scheme the cycles that it takes up of each resource."""
    del unit  # loads are always cycles
    data = source.data
    if data.get("version") != VERSION:
        problems.add(
            f"version {excerpt(data.get('version'))} of the format",
            f"version {VERSION} is expected",
            column="version",
        )
        return Document()
    resources = as_resources(data.get("resources"), problems, column="resources")
    listed = as_object(data.get("loads"), problems, row=None, column="loads")
    if resources is None or listed is None:
        return Document()
    if not listed:
        problems.add("there are no loads", "at least one scheme is expected", column="loads")
    indices = {name: index for index, name in enumerate(resources)}
    entries = []
    for row, (name, loads) in enumerate(listed.items(), start=1):
        scheme = check_name(name, problems, row=row, column="loads")
        fields = as_object(loads, problems, row=row, column="loads")
        if scheme is None or fields is None:
            continue
        read = as_loads(fields.items(), indices, problems, row=row, column="loads")
        if read is not None:
            entries.append(LoadEntry(row, "loads", scheme, read))
    facts = {key: said for key in ("isa", "name") if (said := printable_text(data.get(key)))}
    return Document(loads=tuple(entries), resources=resources, facts=facts)


def write_resource_json(
    mapping: ResourceMapping, *, name: str, isa: str, note: str = "", source: str = ""
) -> dict[str, Any]:
    """The resource mapping as a document that `read_resource_json` reads back unchanged."""
    return {
        "format": FORMAT_NAME,
        "version": VERSION,
        "name": name,
        "isa": isa,
        "note": note,
        "source": source,
        "resources": list(mapping.resources),
        "loads": {
            scheme: {mapping.resources[index]: load for index, load in loads}
            for scheme, loads in mapping.loads.items()
        },
    }
