"""The JSON of the PMEvo artifact: `ExperimentList` and `Mapping3`; see docs/formats.md.

The files of different versions differ: ports are texts or whole numbers, `arch` may lack `ports`, and
`other_results` (the answers of other tools, kept as annotations) may be absent.
"""

from __future__ import annotations

import math
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
from inference.formats.file_units import FileUnit
from inference.formats.json_fields import (
    as_list,
    as_number,
    as_object,
    as_ports,
    as_uops,
    port_name,
    printable_text,
)
from inference.formats.problems import Problems, excerpt
from inference.formats.quoting import json_text
from inference.formats.source import Source


def read_experiment_list(source: Source, problems: Problems, unit: FileUnit | None) -> Document:
    """Read the measured experiments. The format knows only cycles, so `unit` must be cycles."""
    if unit not in (None, FileUnit.CYCLES):
        problems.add(f"the unit was given as {unit}", "this format always holds cycles")
        return Document()
    listed = as_list(source.data.get("exps"), problems, row=None, column="exps")
    if listed is None:
        return Document()
    entries = []
    broken = row_problems = 0
    tools: dict[str, None] = {}
    for row, item in enumerate(listed, start=1):
        before = problems.count
        entry = _experiment(item, row, problems)
        if entry is None:
            broken += 1
            row_problems += problems.count - before
            continue
        entries.append(entry)
        tools.update(dict.fromkeys(entry.annotations))
    if not listed:
        problems.add("the list of experiments is empty", "at least one experiment is expected", column="exps")
    facts = {"units": [FileUnit.CYCLES.value], "tools": list(tools), **_arch_facts(source.data)}
    return Document(experiments=tuple(entries), broken=broken, row_problems=row_problems, facts=facts)


def _experiment(item: object, row: int, problems: Problems) -> ExperimentEntry | None:
    fields = as_object(item, problems, row=row, column="exps")
    if fields is None:
        return None
    before = problems.count
    sequence = as_list(fields.get("iseq"), problems, row=row, column="iseq")
    if sequence is None or not check_length(len(sequence), problems, row=row, column="iseq"):
        return None
    names = [check_name(name, problems, row=row, column="iseq") for name in sequence]
    result = as_object(fields.get("result"), problems, row=row, column="result")
    if result is None:
        return None
    number = as_number(result.get("cycles"), problems, row=row, column="result.cycles")
    cycles = None if number is None else check_cycles(number, problems, row=row, column="result.cycles")
    annotations = _annotations(fields.get("other_results"), row, problems)
    counters = _counters(result, row, problems)
    if cycles is None or problems.count > before:
        return None
    terms = tuple(Counter(name for name in names if name is not None).items())
    return ExperimentEntry(row, "iseq", terms, cycles, annotations=annotations, counters=counters)


def _counters(result: dict[str, Any], row: int, problems: Problems) -> dict[str, float]:
    """{"uops": number} where the executed µops were counted."""
    if result.get("num_uops") is None:
        return {}
    number = as_number(result["num_uops"], problems, row=row, column="result.num_uops")
    if number is None:
        return {}
    if math.isfinite(number) and number >= 0:
        return {"uops": number}
    problems.add(
        f"{number!r} cannot be a number of µops",
        "a finite number ≥ 0 is expected",
        row=row,
        column="result.num_uops",
    )
    return {}


def _annotations(value: object, row: int, problems: Problems) -> dict[str, float]:
    """{tool: cycles}; a tool's answer may be 0, and null where the tool had none."""
    if value is None:
        return {}
    found: dict[str, float] = {}
    for item in as_list(value, problems, row=row, column="other_results") or ():
        fields = as_object(item, problems, row=row, column="other_results")
        if fields is None or fields.get("cycles") is None:
            continue
        tool = check_name(fields.get("id"), problems, row=row, column="other_results.id")
        cycles = as_number(fields["cycles"], problems, row=row, column="other_results.cycles")
        if tool is None or cycles is None:
            continue
        if not (math.isfinite(cycles) and cycles >= 0):
            problems.add(
                f"{cycles!r} cannot be a number of cycles",
                "a finite number ≥ 0 is expected",
                row=row,
                column="other_results.cycles",
            )
        elif tool in found:
            problems.add(
                f"two results of {excerpt(tool)}",
                "one per tool is expected",
                row=row,
                column="other_results.id",
            )
        else:
            found[tool] = cycles
    return found


def read_mapping3(source: Source, problems: Problems, unit: FileUnit | None) -> Document:
    """Read a port mapping; equal port lists of one scheme are one µop counted several times."""
    del unit  # a mapping holds no measurements
    assignment = as_object(source.data.get("assignment"), problems, row=None, column="assignment")
    if assignment is None:
        return Document()
    if not assignment:
        problems.add("the assignment is empty", "at least one scheme is expected", column="assignment")
        return Document()
    ports = _ports(source.data, assignment, problems)
    if ports is None:
        return Document()
    bits = {port: bit for bit, port in enumerate(ports)}
    usages = []
    for row, (name, uops) in enumerate(assignment.items(), start=1):
        scheme = check_name(name, problems, row=row, column="assignment")
        listed = as_list(uops, problems, row=row, column="assignment")
        if scheme is None or listed is None:
            continue
        read = as_uops([(item, 1) for item in listed], bits, problems, row=row, column="assignment")
        if read is not None:
            usages.append(UsageEntry(row, "assignment", scheme, read))
    return Document(usages=tuple(usages), ports=ports, facts=_arch_facts(source.data))


def _ports(data: dict[str, Any], assignment: dict[str, Any], problems: Problems) -> tuple[str, ...] | None:
    """The ports that `arch` lists, or else all that occur, in numerical order."""
    arch = data.get("arch")
    if isinstance(arch, dict) and arch.get("ports") is not None:
        return as_ports(arch["ports"], problems, column="arch.ports")
    used: set[str] = set()
    for row, uops in enumerate(assignment.values(), start=1):
        for ports in as_list(uops, problems, row=row, column="assignment") or ():
            for port in as_list(ports, problems, row=row, column="assignment") or ():
                name = port_name(port, problems, row=row, column="assignment")
                if name is not None:
                    used.add(name)
    if problems:
        return None
    ordered = sorted(used, key=lambda name: (len(name), name))
    return as_ports(ordered, problems, column="assignment")


def _arch_facts(data: dict[str, Any]) -> dict[str, str]:
    arch = data.get("arch")
    name = arch.get("name") if isinstance(arch, dict) else None
    said = printable_text(name)
    return {"arch": said} if said else {}


def write_mapping3(name: str, mapping: PortMapping) -> dict[str, Any]:
    """The mapping as a `Mapping3` document; counts become repeated port lists."""
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
    """The settled measurements as an `ExperimentList` document, piece by piece, one line per experiment."""
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
    made: dict[str, Any] = {
        "kind": "Experiment",
        "iseq": [scheme for scheme, count in result.experiment.terms for _ in range(count)],
        "result": {"cycles": result.cycles},
    }
    if "uops" in result.counters:
        made["result"]["num_uops"] = result.counters["uops"]
    if result.annotations:
        answers = result.annotations.items()
        made["other_results"] = [{"id": tool, "cycles": cycles} for tool, cycles in answers]
    return made
