"""uops.info's table as a port mapping or as measurements: the digest of `instructions.xml`, or the JSON.

The digest has a line per instruction: [row, scheme name, uops.info's name, extension, category,
{microarchitecture: [entries]}]; entries are as `inference.formats.uops_info_xml` makes them.

The JSON is {scheme: [{"measurements": {"SKL": "1*p0156+1*p23", …}}, …]}. A file is read for one
microarchitecture at a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inference.core.mapping import MAX_PORTS, Uops, uops_of
from inference.formats.document import (
    CYCLES_RANGE,
    ENTRY_LIMIT,
    NAME_LENGTH,
    Document,
    ExperimentEntry,
    UsageEntry,
    check_name,
    partial_document,
)
from inference.formats.json_fields import COUNT_LIMIT, printable_text
from inference.formats.problems import FilePlace, excerpt
from inference.formats.source import Source
from inference.isa.scheme import Features

_KIND = re.compile(r"(\d{1,5})\*(FP|p)([0-9A-F]+)")  # `2*p01`: two µops on ports 0 and 1
_KINDS = re.compile(rf"{_KIND.pattern}(?:\+{_KIND.pattern})*")  # `2*p01+1*p23`
NAMES = {
    "CON": "Conroe", "WOL": "Wolfdale", "NHM": "Nehalem", "WSM": "Westmere", "SNB": "Sandy Bridge",
    "IVB": "Ivy Bridge", "HSW": "Haswell", "BDW": "Broadwell", "SKL": "Skylake", "SKX": "Skylake-SP",
    "KBL": "Kaby Lake", "CFL": "Coffee Lake", "CNL": "Cannon Lake", "CLX": "Cascade Lake", "ICL": "Ice Lake",
    "TGL": "Tiger Lake", "RKL": "Rocket Lake", "ADL-P": "Alder Lake P", "ADL-E": "Alder Lake E",
    "EMR": "Emerald Rapids", "MTL-P": "Meteor Lake P", "MTL-E": "Meteor Lake E", "ARL-P": "Arrow Lake P",
    "ARL-E": "Arrow Lake E", "BNL": "Bonnell", "AMT": "Airmont", "GLM": "Goldmont", "GLP": "Goldmont Plus",
    "TRM": "Tremont", "ZEN+": "Zen+", "ZEN2": "Zen 2", "ZEN3": "Zen 3", "ZEN4": "Zen 4", "ZEN5": "Zen 5",
}  # fmt: skip
"""What the abbreviations mean, as `inference.isa.x86.microarchitectures` has it."""

DIFFERENT_USAGES = "the table has different port usages for its variants"


def mapping_name(microarchitecture: str) -> str:
    return f"uops.info, {NAMES.get(microarchitecture, microarchitecture)}"


def choose_microarchitecture(source: Source, requested: str, available: list[str]) -> str | None:
    """The microarchitecture to read; None after noting that none, or an unknown one, was requested."""
    choice = available[0] if len(available) == 1 and not requested else requested
    if choice in available:
        return choice
    several = f"the file has port usages of {len(available)} microarchitectures"
    source.at().add(
        f"there is no microarchitecture {excerpt(choice)}" if choice else several,
        f"choose one (--microarchitecture in the shell): {', '.join(available)}",
    )
    return None


def is_usage(text: str, place: FilePlace) -> bool:
    """Whether a text is a sum of counted port sets, such as 2*p01+1*p23; notes a problem where not."""
    if _KINDS.fullmatch(text) and all(1 <= count <= COUNT_LIMIT for count, _ in _kinds(text)):
        return True
    place.add(f"{excerpt(text)} is no port usage", "e.g. 2*p01+1*p23 is expected")
    return False


def mapping_document(
    usages: Mapping[str, tuple[int, str]],
    place: FilePlace,
    dropped: Mapping[str, str],
    facts: Mapping[str, Any],
    features: Mapping[str, Features],
) -> Document:
    """The port mapping of a microarchitecture.

    Ports are all that occur, those of the integer core first: "0", "1", …, "A", or "FP0", …

    Args:
        usages: {scheme: (row, usage)}.
        place: The microarchitecture's column.
        dropped: {name without a scheme, or with an unusable entry: the reason}.
        facts: Added to the document for its preview.
        features: {scheme: CPU features}.
    """
    names = {port for _, text in usages.values() for _, ports in _kinds(text) for port in ports}
    ports = tuple(sorted(names, key=lambda port: (len(port), port)))
    if not 1 <= len(ports) <= MAX_PORTS:
        place.add(f"{len(ports)} ports", f"1 to {MAX_PORTS} are expected")
        return Document(facts=facts)
    bits = {port: bit for bit, port in enumerate(ports)}
    core = place.column
    entries = tuple(
        UsageEntry(row, core, scheme, _uops_in(text, bits)) for scheme, (row, text) in usages.items()
    )
    total = len(entries) + len(dropped)
    named = {"arch": core, "name": mapping_name(core), "instructions": total}
    return Document(
        usages=entries,
        partial=True,
        dropped=dropped,
        ports=ports,
        facts={**facts, **named},
        features=features,
    )


def _uops_in(text: str, bits: Mapping[str, int]) -> Uops:
    return uops_of((sum(1 << bits[port] for port in set(ports)), count) for count, ports in _kinds(text))


def _kinds(text: str) -> Iterator[tuple[int, list[str]]]:
    for count, file, digits in _KIND.findall(text):
        yield int(count), [file.removeprefix("p") + digit for digit in digits]


DIGEST = "uops.info instructions"
MEASURED = " measured"
"""Suffix of a microarchitecture in the name of a part: its inverse throughputs, instead of its ports."""

NO_PORTS = "it was measured, but has no port usage"
NO_RATE = "it has no measured inverse throughput"
_NAME_LIMIT = 20  # characters of a microarchitecture's name


@dataclass(frozen=True, slots=True)
class _Entry:
    """The entries of an instruction on one microarchitecture. `predicted`: by IACA."""

    row: int
    name: str
    title: str
    measured: list[Mapping[str, Any]]
    predicted: list[Mapping[str, Any]]


def reads_usages(source: Source) -> bool:
    """Whether the requested part is port usages, which is the default, not measurements."""
    return not source.part.endswith(MEASURED)


def read_digest(source: Source) -> Document:
    """Read the port mapping of the microarchitecture `source.part`."""
    beginning = _begin(source, source.part)
    if beginning is None:
        return Document(facts=_choices(source))
    core, entries, features = beginning
    usages: dict[str, tuple[int, str]] = {}
    titles: dict[str, str] = {}
    dropped: dict[str, str] = {}
    for entry in entries:
        texts = _usages(entry)
        text = texts.pop() if len(texts) == 1 else None
        if text is None:
            dropped[entry.title] = DIFFERENT_USAGES if texts else NO_PORTS
        elif entry.name not in usages:
            if not text or is_usage(text, source.at(core, entry.row)):
                usages[entry.name], titles[entry.name] = (entry.row, text), entry.title
        elif usages[entry.name][1] != text:
            dropped[entry.title] = f"{entry.name} has the µops of {titles[entry.name]}"
    if source.problems:
        return Document(facts=_choices(source))
    return mapping_document(usages, source.at(core), dropped, _choices(source), features)


def read_measured_digest(source: Source) -> Document:
    """Read the inverse throughputs measured on the microarchitecture `source.part`.

    IACA's answers become annotations, µops a counter, and the range of latencies a note.
    """
    beginning = _begin(source, source.part.removesuffix(MEASURED))
    if beginning is None:
        return Document(facts=_choices(source))
    core, entries, features = beginning
    experiments: dict[str, ExperimentEntry] = {}
    dropped: dict[str, str] = {}
    for entry in entries:
        rates = [row["t"] for row in entry.measured if _is_rate(row.get("t"))]
        if not rates:
            dropped[entry.title] = NO_RATE
        elif entry.name in experiments:
            dropped[entry.title] = f"{entry.name} was measured in another form before"
        else:
            experiments[entry.name] = _experiment(entry, core, min(rates))
    if not experiments:
        source.at(core).add(f"no measurement of {core}", "choose another microarchitecture")
    facts = {**_choices(source), "arch": core, "name": f"{mapping_name(core)}, measured"}
    document = partial_document(source.problems, facts, dropped, experiments=experiments.values())
    return replace(document, features=features)


def _begin(source: Source, requested: str) -> tuple[str, list[_Entry], dict[str, Features]] | None:
    """(microarchitecture, its instructions, {name: features}); None after noting problems."""
    lines = source.data.get("instructions")
    if not isinstance(lines, list) or len(lines) > ENTRY_LIMIT or not all(map(_is_line, lines)):
        source.at().add("this digest is damaged", "upload instructions.xml of uops.info again")
        return None
    microarchitecture = choose_microarchitecture(source, requested, _microarchitectures(source))
    if microarchitecture is None:
        return None
    entries = list(_entries(lines, microarchitecture))
    features = {line[1]: Features(printable_text(line[3]), printable_text(line[4])) for line in lines}
    return microarchitecture, entries, {entry.name: features[entry.name] for entry in entries}


def _is_line(line: object) -> bool:
    kinds = (int, str, str, str, str, dict)
    if not isinstance(line, list) or list(map(type, line)) != list(kinds):
        return False
    named = 0 < len(line[1]) <= NAME_LENGTH and line[1].isprintable() and line[2].isprintable()
    return named and all(
        isinstance(measurements, list) and all(isinstance(measurement, dict) for measurement in measurements)
        for measurements in line[5].values()
    )


def _entries(lines: list[Any], core: str) -> Iterator[_Entry]:
    for row, name, title, _, _, by_name in lines:
        listed = by_name.get(core, ())
        measured = [entry for entry in listed if "iaca" not in entry]
        if measured:
            yield _Entry(row, name, title or name, measured, [entry for entry in listed if "iaca" in entry])


def _microarchitectures(source: Source) -> list[str]:
    """The microarchitectures with measurements, most instructions first."""
    counts: Counter[str] = Counter()
    lines = source.data.get("instructions")
    for line in lines if isinstance(lines, list) else ():
        if _is_line(line):
            counts.update(name for name, entries in line[5].items() if any("iaca" not in e for e in entries))
    return [name for name, _ in counts.most_common(100) if name.isprintable() and len(name) <= _NAME_LIMIT]


def _choices(source: Source) -> dict[str, Any]:
    microarchitectures = _microarchitectures(source)
    return {"microarchitectures": [*microarchitectures, *(name + MEASURED for name in microarchitectures)]}


def _usages(entry: _Entry) -> set[str]:
    """The distinct port usages of an instruction; "" where it needs no µop."""
    usages = {str(measurement["p"]) for measurement in entry.measured if "p" in measurement}
    return usages or {"" for measurement in entry.measured if measurement.get("u") == 0}


def _is_rate(value: object) -> bool:
    low, high = CYCLES_RANGE
    return isinstance(value, float | int) and not isinstance(value, bool) and low <= value <= high


def _experiment(entry: _Entry, core: str, cycles: float) -> ExperimentEntry:
    paths = [row["l"] for row in entry.measured if isinstance(row.get("l"), list) and len(row["l"]) == 2]
    lowest = min((path[0] for path in paths), default=None)
    highest = max((path[1] for path in paths), default=None)
    note = "" if lowest is None else f"latency {lowest:g}" + (f" to {highest:g}" if highest != lowest else "")
    uops = next((row["u"] for row in entry.measured if isinstance(row.get("u"), int)), None)
    predicted = {
        f"IACA {row['iaca']}".strip()[:40]: float(row["t"])
        for row in entry.predicted
        if _is_rate(row.get("t"))
    }
    return ExperimentEntry(
        entry.row,
        core,
        ((entry.name, 1),),
        float(cycles),
        note=note,
        annotations=predicted,
        counters={} if uops is None else {"uops": float(uops)},
    )


MEASUREMENTS = "measurements"


def has_measurements(data: Any) -> bool:
    """Whether the first entry of a document is a list with measurements by microarchitecture."""
    first = next(iter(data.values()), None) if isinstance(data, dict) else None
    return isinstance(first, list) and any(
        isinstance(variant, dict) and isinstance(variant.get(MEASUREMENTS), dict) for variant in first
    )


def read_uops_info(source: Source) -> Document:
    """Read the port mapping of the microarchitecture `source.part`, or of the only one in the file."""
    if len(source.data) > ENTRY_LIMIT:
        source.at().add(f"{len(source.data)} schemes", f"at most {ENTRY_LIMIT} are read")
        return Document()
    cores = _cores_in(source.data)
    facts: dict[str, Any] = {"microarchitectures": cores}
    core = choose_microarchitecture(source, source.part, cores)
    if core is None:
        return Document(facts=facts)
    usages: dict[str, tuple[int, str]] = {}
    dropped: dict[str, str] = {}
    features = {}
    for row, (name, entries) in enumerate(source.data.items(), start=1):
        texts = {str(measured[core]) for measured in _measurements(entries) if core in measured}
        scheme = check_name(name, source.at("scheme", row)) if texts else None
        if scheme is None:
            continue
        if len(texts) > 1:
            dropped[scheme] = DIFFERENT_USAGES
        elif is_usage(text := texts.pop(), source.at(core, row)):
            usages[scheme] = row, text
            features[scheme] = _features(entries)
    return mapping_document(usages, source.at(core), dropped, facts, features)


def _features(entries: object) -> Features:
    """Extension and category, which all variants of a scheme have in common."""
    first = next((row for row in entries if isinstance(row, dict)), {}) if isinstance(entries, list) else {}
    texts = (first.get("isa-set") or first.get("extension"), first.get("category"))
    return Features(*map(printable_text, texts))


def _cores_in(data: Mapping[str, Any]) -> list[str]:
    """The microarchitectures with port usages, most schemes first."""
    scheme_counts: Counter[str] = Counter()
    for entries in data.values():
        for measured in _measurements(entries):
            scheme_counts.update(key for key in measured if key.isprintable() and len(key) <= 20)
    return [key for key, _ in scheme_counts.most_common(100)]


def _measurements(entries: object) -> Iterator[Mapping[str, Any]]:
    for variant in entries if isinstance(entries, list) else ():
        if isinstance(variant, dict) and isinstance(variant.get(MEASUREMENTS), dict):
            yield variant[MEASUREMENTS]
