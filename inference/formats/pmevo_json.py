"""The JSON of the PMEvo artifact: `ExperimentList` and `Mapping3`; see docs/formats.md.

The files of different versions differ: ports are texts or whole numbers, `arch` may lack `ports`, and
`other_results` (the answers of other tools, kept as annotations) may be absent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inference.core.experiment import Measured
from inference.core.mapping import PortMapping, ports_in
from inference.formats.document import (
    Document,
    ExperimentEntry,
    UsageEntry,
    check_cycles,
    check_length,
    check_name,
)
from inference.formats.file_numbers import FileUnit
from inference.formats.json_fields import (
    as_amount,
    as_list,
    as_number,
    as_object,
    as_ports,
    as_uops,
    port_name,
    printable_text,
    rows_of,
)
from inference.formats.problems import FilePlace, excerpt
from inference.formats.quoting import json_text
from inference.formats.source import Source


def read_experiment_list(source: Source) -> Document:
    """Read measured experiments. Its numbers are cycles; another unit is a problem."""
    if source.unit not in (None, FileUnit.CYCLES):
        source.at().add(f"the unit was given as {source.unit}", "this format always holds cycles")
        return Document()
    listed = as_list(source.data.get("exps"), source.at("exps"))
    if listed is None:
        return Document()
    entries = []
    broken = row_problems = 0
    tools: dict[str, None] = {}
    for row, item in enumerate(listed, start=1):
        before = source.problems.count
        entry = _experiment(item, source.at("exps", row))
        if entry is None:
            broken += 1
            row_problems += source.problems.count - before
            continue
        entries.append(entry)
        tools.update(dict.fromkeys(entry.annotations))
    if not listed:
        source.at("exps").add("the list of experiments is empty", "at least one experiment is expected")
    facts = {"units": [FileUnit.CYCLES.value], "tools": list(tools), **_arch_facts(source.data)}
    return Document(experiments=tuple(entries), broken=broken, row_problems=row_problems, facts=facts)


def _experiment(item: object, place: FilePlace) -> ExperimentEntry | None:
    """An experiment of a list; None, with problems noted, for a faulty one."""
    fields = as_object(item, place)
    if fields is None:
        return None
    before = place.problems.count
    at = place.at("iseq")
    sequence = as_list(fields.get("iseq"), at)
    if sequence is None or not check_length(len(sequence), at):
        return None
    names = [check_name(name, at) for name in sequence]
    result = as_object(fields.get("result"), place.at("result"))
    if result is None:
        return None
    number = as_number(result.get("cycles"), place.at("result.cycles"))
    cycles = None if number is None else check_cycles(number, place.at("result.cycles"))
    annotations = _annotations(fields.get("other_results"), place)
    uops = as_amount(result.get("num_uops"), place.at("result.num_uops"), "a number of µops")
    if cycles is None or place.problems.count > before:
        return None
    terms = tuple(Counter(name for name in names if name is not None).items())
    counters = {} if uops is None else {"uops": uops}
    return ExperimentEntry(*at.start, terms, cycles, annotations=annotations, counters=counters)


def _annotations(value: object, place: FilePlace) -> dict[str, float]:
    """{tool: cycles}; an answer may be 0, and null where the tool had none."""
    answers: dict[str, float] = {}
    at, cycles_at, tool_at = (place.at(f"other_results{key}") for key in ("", ".cycles", ".id"))
    for item in (None if value is None else as_list(value, at)) or ():
        fields = as_object(item, at)
        if fields is None or fields.get("cycles") is None:
            continue
        tool = check_name(fields.get("id"), tool_at)
        cycles = as_amount(fields["cycles"], cycles_at, "a number of cycles")
        if tool in answers:
            tool_at.add(f"two results of {excerpt(tool)}", "one per tool is expected")
        elif tool is not None and cycles is not None:
            answers[tool] = cycles
    return answers


def read_mapping3(source: Source) -> Document:
    """Read a port mapping; equal port lists of one scheme add up to one µop's count."""
    place = source.at("assignment")
    assignment = as_object(source.data.get("assignment"), place)
    if assignment is None:
        return Document()
    if not assignment:
        place.add("the assignment is empty", "at least one scheme is expected")
        return Document()
    ports = _ports(source, assignment)
    if ports is None:
        return Document()
    bits = {port: bit for bit, port in enumerate(ports)}
    usages = []
    for at, scheme, uops in rows_of(assignment, place):
        listed = as_list(uops, at)
        read = None if listed is None else as_uops([(item, 1) for item in listed], bits, at)
        if scheme is not None and read is not None:
            usages.append(UsageEntry(*at.start, scheme, read))
    return Document(usages=tuple(usages), ports=ports, facts=_arch_facts(source.data))


def _ports(source: Source, assignment: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The ports listed by `arch`, else those that occur, in numerical order; None after noting problems."""
    arch = source.data.get("arch")
    if isinstance(arch, dict) and arch.get("ports") is not None:
        return as_ports(arch["ports"], source.at("arch.ports"))
    used: set[str | None] = set()
    for row, uops in enumerate(assignment.values(), start=1):
        at = source.at("assignment", row)
        for ports in as_list(uops, at) or ():
            used |= {port_name(port, at) for port in as_list(ports, at) or ()}
    if source.problems:
        return None
    ordered = sorted(filter(None, used), key=lambda name: (len(name), name))
    return as_ports(ordered, source.at("assignment"))


def _arch_facts(data: dict[str, Any]) -> dict[str, str]:
    arch = data.get("arch")
    name = arch.get("name") if isinstance(arch, dict) else None
    text = printable_text(name)
    return {"arch": text} if text else {}


def write_mapping3(name: str, mapping: PortMapping) -> dict[str, Any]:
    """The mapping as a `Mapping3` document. µop counts become repeated port lists."""
    return {
        "kind": "Mapping3",
        "arch": {
            "kind": "Architecture",
            "name": name,
            "insns": list(mapping.usage),
            "ports": list(mapping.ports),
        },
        "assignment": {
            scheme: [
                [mapping.ports[bit] for bit in ports_in(mask)] for mask, count in uops for _ in range(count)
            ]
            for scheme, uops in mapping.usage.items()
        },
    }


def write_experiment_list(
    name: str, measured: Iterable[Measured], provenance: Mapping[str, Any]
) -> Iterator[str]:
    """Settled measurements as an `ExperimentList` document: pieces of text, one line per experiment."""
    schemes: dict[str, None] = {}
    head = {"kind": "ExperimentList", "provenance": provenance}
    yield json_text(head)[:-1] + ',\n "exps": ['
    separator = "\n"
    for result in measured:
        if result.usable:
            schemes.update(dict.fromkeys(result.experiment.schemes))
            yield separator + "  " + json_text(_experiment_json(result))
            separator = ",\n"
    arch = {"kind": "Architecture", "name": name, "insns": list(schemes)}
    yield '\n ],\n "arch": ' + json_text(arch) + "}\n"


def _experiment_json(result: Measured) -> dict[str, Any]:
    document: dict[str, Any] = {
        "kind": "Experiment",
        "iseq": [scheme for scheme, count in result.experiment.terms for _ in range(count)],
        "result": {"cycles": result.cycles},
    }
    if "uops" in result.counters:
        document["result"]["num_uops"] = result.counters["uops"]
    if result.annotations:
        answers = result.annotations.items()
        document["other_results"] = [{"id": tool, "cycles": cycles} for tool, cycles in answers]
    return document
