"""The JSON of Palmed's resource mappings, and the list that translates its names; see docs/formats.md.

A mapping has `instr_to_class`, {instruction: class}, and `class_to_resources`, {class: {"resource_use":
[[cycles, resource], …]}}. It covers more instructions than have a scheme here, so those without one are left
out and listed. A name list is {our scheme: [Palmed's instruction]}: what it says counts before what the name
of an instruction says (`inference.isa.reading`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inference.core.resources import Loads
from inference.formats.document import ENTRY_LIMIT, Document, LoadEntry, check_name
from inference.formats.file_units import FileUnit
from inference.formats.json_fields import as_list, as_loads, as_object, as_resources
from inference.formats.problems import Problems, excerpt
from inference.formats.source import Signature, Source

INSTRUCTIONS = "instr_to_class"
CLASSES = "class_to_resources"

NameList = Mapping[str, str]
"""{scheme name: Palmed's instruction}"""


def read_palmed(source: Source, problems: Problems, unit: FileUnit | None) -> Document:
    """Read the loads of all instructions; those of a class are equal."""
    del unit  # loads are always cycles
    instructions = as_object(source.data.get(INSTRUCTIONS), problems, row=None, column=INSTRUCTIONS)
    classes = as_object(source.data.get(CLASSES), problems, row=None, column=CLASSES)
    if instructions is None or classes is None:
        return Document()
    for table, column in ((instructions, INSTRUCTIONS), (classes, CLASSES)):
        if not table:
            problems.add("the table is empty", "at least one entry is expected", column=column)
        elif len(table) > ENTRY_LIMIT:
            problems.add(f"{len(table)} entries", f"at most {ENTRY_LIMIT} are read", column=column)
    if problems:
        return Document()
    uses = {name: _uses(row, fields, problems) for row, (name, fields) in enumerate(classes.items(), start=1)}
    resources = _resources(uses, problems)
    if resources is None:
        return Document()
    indices = {name: index for index, name in enumerate(resources)}
    loads: dict[str, Loads | None] = {
        name: as_loads(pairs, indices, problems, row=row, column=CLASSES)
        for row, (name, pairs) in enumerate(uses.items(), start=1)
    }
    entries = _entries(instructions, loads, problems)
    facts = {"instructions": len(instructions), "classes": len(classes)}
    return Document(loads=entries, resources=resources, partial=True, facts=facts)


def _uses(row: int, value: object, problems: Problems) -> list[tuple[Any, Any]]:
    """(resource, cycles) pairs of a class, nothing where the entry is not of that form."""
    fields = as_object(value, problems, row=row, column=CLASSES)
    listed = (
        None
        if fields is None
        else as_list(fields.get("resource_use"), problems, row=row, column=f"{CLASSES}.resource_use")
    )
    pairs = []
    for item in listed or ():
        match item:
            case [cycles, resource]:
                pairs.append((resource, cycles))
            case _:
                problems.add(
                    f"{excerpt(item)} is not a use of a resource",
                    "a pair [cycles, resource] is expected",
                    row=row,
                    column=f"{CLASSES}.resource_use",
                )
    return pairs


def _resources(uses: Mapping[str, list[tuple[Any, Any]]], problems: Problems) -> tuple[str, ...] | None:
    """All resources that occur, in numerical order: R0, R1, …, R10, R_Other."""
    found: dict[str, None] = {}
    for row, pairs in enumerate(uses.values(), start=1):
        for resource, _ in pairs:
            if not isinstance(resource, str) or resource not in found:
                name = check_name(resource, problems, row=row, column=CLASSES)
                if name is not None:
                    found[name] = None
    if problems:
        return None
    ordered = sorted(found, key=lambda name: (not name[1:].isdecimal(), len(name), name))
    return as_resources(ordered, problems, column=CLASSES)


def _entries(
    instructions: Mapping[str, Any], loads: Mapping[str, Loads | None], problems: Problems
) -> tuple[LoadEntry, ...]:
    entries = []
    for row, (name, of_class) in enumerate(instructions.items(), start=1):
        instruction = check_name(name, problems, row=row, column=INSTRUCTIONS)
        if not isinstance(of_class, str) or of_class not in loads:
            problems.add(
                f"there is no class {excerpt(of_class)}",
                f"a key of {CLASSES} is expected",
                row=row,
                column=INSTRUCTIONS,
            )
        elif instruction is not None and (found := loads[of_class]) is not None:
            entries.append(LoadEntry(row, INSTRUCTIONS, instruction, found, called=instruction))
    # NOREX are the four byte registers of old encodings; the scheme for all registers has the general loads.
    return tuple(sorted(entries, key=lambda entry: "NOREX" in entry.scheme))


def _maps_names(data: Any) -> bool:
    """Whether a document maps names to lists with one name each, and nothing else."""
    return (
        isinstance(data, dict)
        and bool(data)
        and all(
            isinstance(value, list) and len(value) == 1 and isinstance(value[0], str)
            for value in data.values()
        )
    )


NAME_LIST = Signature(shape=_maps_names)


def read_name_list(source: Source, problems: Problems, unit: FileUnit | None) -> Document:
    """Read {our scheme: [Palmed's instruction]}; by itself it brings nothing, which is noted as a problem."""
    del unit
    read_names(source, problems)
    problems.add(
        "a list of names brings nothing by itself",
        "choose it in the preview of Palmed's resource mapping, or give it to `import` with --names",
    )
    return Document()


def read_names(source: Source, problems: Problems) -> NameList:
    """Read {our scheme: [Palmed's instruction]}."""
    names = {}
    for row, (ours, theirs) in enumerate(source.data.items(), start=1):
        scheme = check_name(ours, problems, row=row, column="scheme")
        instruction = check_name(theirs[0], problems, row=row, column="instruction")
        if scheme is not None and instruction is not None:
            names[scheme] = instruction
    return names


def translated(document: Document, names: NameList) -> Document:
    """The document of a Palmed mapping with scheme names from a list, wherever that has some.

    What the list says comes first, so that it also counts where an instruction's own name means the scheme.
    """
    loads = {entry.scheme: entry for entry in document.loads}
    listed = [replace(loads[theirs], scheme=ours) for ours, theirs in names.items() if theirs in loads]
    return replace(document, loads=(*listed, *document.loads))
