"""The JSON of Palmed's resource mappings, and the list that translates its names; see docs/formats.md.

A mapping has `instr_to_class`, {instruction: class}, and `class_to_resources`, {class: {"resource_use":
[[cycles, resource], …]}}. Instructions without a scheme here are left out and listed. A name list, {our
scheme: [Palmed's instruction]}, takes precedence over the instruction's name (`inference.isa.name_parsing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inference.core.resources import Loads
from inference.formats.document import ENTRY_LIMIT, Document, LoadEntry, check_name
from inference.formats.json_fields import as_loads, as_object, as_pairs, as_resources, rows_of
from inference.formats.problems import FilePlace, excerpt
from inference.formats.source import Signature, Source

INSTRUCTIONS = "instr_to_class"
CLASSES = "class_to_resources"

NameList = Mapping[str, str]
"""{scheme name: Palmed's instruction}"""


def read_palmed(source: Source) -> Document:
    """Read a resource mapping; all instructions of a class have the same loads."""
    tables = [as_object(source.data.get(column), source.at(column)) for column in (INSTRUCTIONS, CLASSES)]
    for table, column in zip(tables, (INSTRUCTIONS, CLASSES), strict=True):
        if table is not None and not table:
            source.at(column).add("the table is empty", "at least one entry is expected")
        elif len(table or ()) > ENTRY_LIMIT:
            source.at(column).add(f"{len(table or ())} entries", f"at most {ENTRY_LIMIT} are read")
    instructions, classes = tables
    if source.problems or instructions is None or classes is None:
        return Document()
    uses = {
        name: _uses(fields, source.at(CLASSES, row)) for row, (name, fields) in enumerate(classes.items(), 1)
    }
    resources = _resources(uses, source)
    if resources is None:
        return Document()
    indices = {name: index for index, name in enumerate(resources)}
    loads: dict[str, Loads | None] = {
        name: as_loads(pairs, indices, source.at(CLASSES, row))
        for row, (name, pairs) in enumerate(uses.items(), start=1)
    }
    entries = _entries(instructions, loads, source)
    facts = {"instructions": len(instructions), "classes": len(classes)}
    return Document(loads=entries, resources=resources, partial=True, facts=facts)


def _uses(value: object, place: FilePlace) -> list[tuple[Any, Any]]:
    """(resource, cycles) pairs of a class; empty after noting a problem."""
    fields = as_object(value, place)
    if fields is None:
        return []
    at = place.at(f"{CLASSES}.resource_use")
    pairs = as_pairs(fields.get("resource_use"), at, "a use of a resource", "[cycles, resource]")
    return [(resource, cycles) for cycles, resource in pairs]


def _resources(uses: Mapping[str, list[tuple[Any, Any]]], source: Source) -> tuple[str, ...] | None:
    """The resources that occur, in numerical order: R0, R1, …, R10, R_Other; None after noting problems."""
    names: dict[str, None] = {}
    for row, pairs in enumerate(uses.values(), start=1):
        for resource, _ in pairs:
            if not isinstance(resource, str) or resource not in names:
                name = check_name(resource, source.at(CLASSES, row))
                if name is not None:
                    names[name] = None
    if source.problems:
        return None
    ordered = sorted(names, key=lambda name: (not name[1:].isdecimal(), len(name), name))
    return as_resources(ordered, source.at(CLASSES))


def _entries(
    instructions: Mapping[str, Any], loads: Mapping[str, Loads | None], source: Source
) -> tuple[LoadEntry, ...]:
    entries = []
    for place, instruction, of_class in rows_of(instructions, source.at(INSTRUCTIONS)):
        if not isinstance(of_class, str) or of_class not in loads:
            place.add(f"there is no class {excerpt(of_class)}", f"a key of {CLASSES} is expected")
        elif instruction is not None and (class_loads := loads[of_class]) is not None:
            entries.append(LoadEntry(*place.start, instruction, class_loads, called=instruction))
    # NOREX are the four byte registers of old encodings; the scheme for all registers has the general loads.
    return tuple(sorted(entries, key=lambda entry: "NOREX" in entry.scheme))


def _maps_names(data: Any) -> bool:
    """Whether a document is {name: [name]} throughout."""
    return (
        isinstance(data, dict)
        and bool(data)
        and all(
            isinstance(value, list) and len(value) == 1 and isinstance(value[0], str)
            for value in data.values()
        )
    )


NAME_LIST = Signature(shape=_maps_names)


def read_name_list(source: Source) -> Document:
    """Read a name list that was imported alone; notes as a problem that it needs a mapping."""
    read_names(source)
    source.at().add(
        "a list of names brings nothing by itself",
        "choose it in the preview of Palmed's resource mapping, or give it to `import` with --names",
    )
    return Document()


def read_names(source: Source) -> NameList:
    """Read a name list: {our scheme: Palmed's instruction}."""
    names = {}
    for place, scheme, theirs in rows_of(source.data, source.at("scheme")):
        instruction = check_name(theirs[0], place.at("instruction"))
        if scheme is not None and instruction is not None:
            names[scheme] = instruction
    return names


def translated(document: Document, names: NameList) -> Document:
    """A Palmed mapping with a name list's schemes in front, so that the list takes precedence."""
    loads = {entry.scheme: entry for entry in document.loads}
    listed = [replace(loads[theirs], scheme=ours) for ours, theirs in names.items() if theirs in loads]
    return replace(document, loads=(*listed, *document.loads))
