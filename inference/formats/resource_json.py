"""The product's own JSON for resource mappings, in and out; see docs/formats.md."""

from __future__ import annotations

from typing import Any

from inference.core.resources import ResourceMapping
from inference.formats.document import Document, LoadEntry
from inference.formats.json_fields import as_loads, as_object, as_resources, rows_of, texts_in
from inference.formats.source import Source

FORMAT_NAME = "pmweb-resource-mapping"
VERSION = 1


def read_resource_json(source: Source) -> Document:
    """Read a resource mapping: for each scheme the cycles that it takes up of each resource."""
    if not source.has_version(VERSION):
        return Document()
    place = source.at("loads")
    resources = as_resources(source.data.get("resources"), source.at("resources"))
    listed = as_object(source.data.get("loads"), place)
    if resources is None or listed is None:
        return Document()
    if not listed:
        place.add("there are no loads", "at least one scheme is expected")
    indices = {name: index for index, name in enumerate(resources)}
    entries = []
    for at, scheme, loads in rows_of(listed, place):
        fields = as_object(loads, at)
        read = None if fields is None else as_loads(fields.items(), indices, at)
        if scheme is not None and read is not None:
            entries.append(LoadEntry(*at.start, scheme, read))
    return Document(loads=tuple(entries), resources=resources, facts=texts_in(source.data, "isa", "name"))


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
