"""OSACA's machine models (YAML) as port mappings, or as latencies; see docs/formats.md.

An entry stands for every scheme that OSACA would look up in it: the first that fits, by the mnemonic with the
width suffix before the one without. Forms that OSACA composes (of a register form and a load) are not read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from inference.core.mapping import Uops, uops_of
from inference.formats.document import (
    ENTRY_LIMIT,
    Document,
    LatencyEntry,
    UsageEntry,
    note_nothing_imported,
    partial_document,
)
from inference.formats.doubts import VECTOR_REGISTERS as _VECTORS
from inference.formats.doubts import OddKind, memory_doubts
from inference.formats.exports import NO_EVIDENCE, ExportedScheme
from inference.formats.json_fields import COUNT_LIMIT, as_ports, printable_text
from inference.formats.osaca_yaml import ALONE, BOTTLENECK, OSACA_NAMES, SLOTS, forms_of
from inference.formats.problems import excerpt
from inference.formats.source import Signature, Source
from inference.formats.yaml_documents import (
    FaultyFieldError,
    YamlObject,
    facts_of_part,
    pairs_with_latency,
    read_yaml,
    register_pairs,
)
from inference.isa.scheme import Scheme
from inference.isa.targets import target_of

_PARTS = PORTS, LATENCIES = "ports", "latencies"
SIGNATURE = Signature(
    patterns=(
        re.compile(r"^instruction_forms:", re.MULTILINE),
        re.compile(r"^(?:osaca_version|arch_code|micro_architecture):", re.MULTILINE),
    )
)
_LIMITS = (BOTTLENECK, SLOTS)
"""Pseudo-ports of our own exports: limits outside the ports, whose shares they carry."""

_ALONE = re.compile(rf"{ALONE}\d+")
"""Pseudo-ports of our own exports for instructions whose ports were not found."""

_TOLERANCE = 1e-6  # by which cycles on ports may differ from a whole number, from rounding in files
Pressure = tuple[tuple[float, tuple[str, ...]], ...]
"""(cycles, ports) for each kind of µop."""


def reads_ports(source: Source) -> bool:
    """Whether the requested part is the ports, which is the default."""
    return source.part != LATENCIES


@dataclass(frozen=True, eq=False)
class _Form:
    """An entry of the model. `lacking`: why it has no port pressure, "" where it has."""

    line: int
    place: str
    names: tuple[str, ...]
    operands: tuple[YamlObject, ...]
    latency: float | None
    pressure: Pressure
    lacking: str

    @property
    def title(self) -> str:
        return f"{self.names[0]} {', '.join(map(_operand_text, self.operands))}".strip()


@dataclass(frozen=True)
class _Model:
    isa: str
    name: str
    ports: tuple[str, ...]
    forms: tuple[_Form, ...]
    doubts: tuple[OddKind, ...]

    @property
    def facts(self) -> dict[str, Any]:
        facts = {"isa": self.isa, "instructions": len(self.forms)}
        return {**facts, **({"arch": self.name, "name": self.name} if self.name else {})}


def read_osaca_ports(source: Source) -> Document:
    """Read the ports of every scheme that an entry stands for, and the limits in our own exports."""
    facts = facts_of_part(source, _PARTS)
    model = _read(source)
    if model is None:
        return Document(facts=facts)
    ports = tuple(port for port in model.ports if port not in _LIMITS and not _ALONE.fullmatch(port))
    bits = {port: 1 << bit for bit, port in enumerate(ports)}
    shares = {limit: _least_share(model.forms, limit) for limit in _LIMITS}
    dropped: dict[str, str] = {}
    usages = []
    for form, schemes in _schemes_by_form(model, dropped):
        uops = _uops(form, bits)
        if isinstance(uops, str):
            dropped[f"{form.title}, {form.place}"] = uops
            continue
        slots = _share(form, SLOTS)
        count = 1 if slots is None else max(round(slots / (shares[SLOTS] or slots)), 1)
        usages += [UsageEntry(form.line, form.place, fitting.scheme.text, uops, count) for fitting in schemes]
    if not usages:
        note_nothing_imported(dropped, source.problems)
    r_max, width = (None if share is None else round(1 / share, 3) for share in shares.values())
    return Document(
        usages=tuple(usages),
        partial=True,
        dropped=dropped,
        ports=ports,
        r_max=r_max,
        issue_width=width,
        facts={**facts, **model.facts},
        doubts=model.doubts,
    )


def read_osaca_latency(source: Source) -> Document:
    """Read each entry's latency as that between the registers of every scheme that it stands for."""
    facts = facts_of_part(source, _PARTS)
    model = _read(source)
    if model is None:
        return Document(facts=facts)
    dropped: dict[str, str] = {}
    latencies = []
    for form, schemes in _schemes_by_form(model, dropped):
        if form.latency is None:
            dropped[f"{form.title}, {form.place}"] = "it has no latency"
        for scheme_form in schemes:
            if form.latency is not None and (pairs := register_pairs(scheme_form.scheme)):
                entries = pairs_with_latency(pairs, form.latency)
                latencies.append(LatencyEntry(form.line, form.place, scheme_form.scheme.text, entries))
    facts |= model.facts
    return partial_document(source.problems, facts, dropped, latencies=latencies, doubts=model.doubts)


def _read(source: Source) -> _Model | None:
    """The model of a file; None, with problems noted, where that is not possible."""
    documents = read_yaml(source.text, source.problems)
    if source.problems:
        return None
    value = documents[0].value if len(documents) == 1 else None
    if not isinstance(value, YamlObject):
        right = "one YAML object with ports and instruction_forms is expected"
        source.at().add("this is no machine model", right)
        return None
    osaca_isa = str(value.get("isa", "")).lower()
    isa = next((isa for isa, name in OSACA_NAMES.items() if name == osaca_isa), "")
    if not isa:
        right = f"{' or '.join(OSACA_NAMES.values())} is expected"
        source.at("isa").add(f"the instruction set {excerpt(value.get('isa'))}", right)
    ports = as_ports(value.get("ports"), source.at("ports"))
    listed = value.get("instruction_forms")
    if not isinstance(listed, list) or len(listed) > ENTRY_LIMIT:
        right = f"a list of at most {ENTRY_LIMIT:,} forms is expected"
        source.at("instruction_forms").add(f"{excerpt(listed)} as instruction forms", right)
        return None
    port_names = frozenset(ports or ())
    forms = [_form(entry, f"form {number}", port_names, source) for number, entry in enumerate(listed, 1)]
    if source.problems or ports is None:
        return None
    name = printable_text(value.get("micro_architecture"))
    return _Model(isa, name, ports, tuple(form for form in forms if form is not None), memory_doubts(value))


def _form(value: object, place: str, ports: frozenset[str], source: Source) -> _Form | None:
    """An instruction form; None, with a problem noted, for a faulty one."""
    if not isinstance(value, YamlObject):
        source.at(place).add(f"{excerpt(value)} is no form", "an object with name and operands is expected")
        return None
    pressure = _pressure(value.get("port_pressure"), ports)
    lacking = pressure if isinstance(pressure, str) else ""
    try:
        return _Form(
            value.line,
            place,
            _names(value.get("name")),
            _operands(value.get("operands")),
            _cycles(value.get("latency"), "latency"),
            () if isinstance(pressure, str) else pressure,
            lacking,
        )
    except FaultyFieldError as fault:
        source.at(f"{place}, {fault.field}", value.line).add(str(fault), fault.right)
        return None


def _names(value: object) -> tuple[str, ...]:
    listed = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
    names = tuple(text.strip().lower()[:60] for text in listed)
    if names and all(name and name.isprintable() for name in names):
        return names
    right = "a mnemonic, or a list of some, is expected"
    raise FaultyFieldError(f"{excerpt(value)} is no mnemonic", right, "name")


def _operands(value: object) -> tuple[YamlObject, ...]:
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(operand, YamlObject) for operand in value):
        return tuple(value)
    raise FaultyFieldError(
        f"{excerpt(value)} as operands", "a list of objects with class is expected", "operands"
    )


def _cycles(value: object, field: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and _is_amount(value):
        return float(value)
    raise FaultyFieldError(
        f"{excerpt(value)} is no number of cycles", "a number from 0 on, or ~, is expected", field
    )


def _pressure(value: object, ports: frozenset[str]) -> Pressure | str:
    """(cycles, ports) pairs, or why there are none; ports of one character may be written as one text."""
    if value is None:
        return "it has no port pressure"
    shares = []
    for share in value if isinstance(value, list) else [None]:
        if not isinstance(share, list) or len(share) != 2 or not _is_amount(share[0]):
            return f"its port pressure is not [[cycles, [port, …]], …]: {excerpt(share)}"
        listed = [str(port) for port in (share[1] if isinstance(share[1], list) else str(share[1]))]
        unknown = [port for port in listed if port not in ports]
        if unknown or not listed:
            first_unknown = excerpt(unknown[0]) if unknown else "no port"
            return f"its port pressure names {first_unknown}, which is no port"
        shares.append((float(share[0]), tuple(listed)))
    return tuple(shares)


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _schemes_by_form(model: _Model, dropped: dict[str, str]) -> Iterator[tuple[_Form, list[SchemeForm]]]:
    """(entry, its schemes); entries without a scheme are added to `dropped`."""
    by_name: dict[str, list[_Form]] = {}
    for form in model.forms:
        for name in form.names:
            by_name.setdefault(name, []).append(form)
    meant: dict[_Form, list[SchemeForm]] = {form: [] for form in model.forms}
    assigned: set[str] = set()
    for scheme_form in scheme_forms(model.isa):
        first_fitting = _first_fitting_form(scheme_form, by_name)
        if first_fitting is not None and scheme_form.scheme.text not in assigned:
            assigned.add(scheme_form.scheme.text)
            meant[first_fitting].append(scheme_form)
    for form, schemes in meant.items():
        if schemes:
            yield form, schemes
        elif any(operand.get("mask") for operand in form.operands):
            dropped[f"{form.title}, {form.place}"] = "masked operands are not told apart"
        else:
            why = "no scheme has these operands, or another entry comes first"
            dropped[f"{form.title}, {form.place}"] = why


def _first_fitting_form(scheme_form: SchemeForm, by_name: Mapping[str, Sequence[_Form]]) -> _Form | None:
    for name in scheme_form.names:
        matches = [form for form in by_name.get(name, ()) if fits(form.operands, scheme_form.operands)]
        if matches:
            return min(matches, key=lambda form: is_indexed(form.operands))
    return None


def _share(form: _Form, limit: str) -> float | None:
    """Cycles of an instruction on the pseudo-port of a limit, None where there is none."""
    return next((cycles for cycles, ports in form.pressure if ports == (limit,) and cycles), None)


def _least_share(forms: Sequence[_Form], limit: str) -> float | None:
    return min((share for form in forms if (share := _share(form, limit)) is not None), default=None)


def _uops(form: _Form, bits: Mapping[str, int]) -> Uops | str:
    """The µops of an entry, or the reason why a port mapping cannot have them."""
    if form.lacking:
        return form.lacking
    uops = []
    for cycles, ports in form.pressure:
        count = round(cycles)
        if _ALONE.fullmatch(ports[0]):
            return f"its ports were not found; it takes {cycles:g} cycles alone"
        if ports[0] in _LIMITS or not cycles:
            continue
        if abs(cycles - count) > _TOLERANCE or not 1 <= count <= COUNT_LIMIT:
            return f"{cycles:g} cycles on {', '.join(ports)}: a port mapping has whole numbers of µops"
        uops.append((sum(bits[port] for port in set(ports)), count))
    return uops_of(uops)


Operands = Sequence[Mapping[str, Any]]
_ANY = ("*", None)
_NO_GENERAL = (*_VECTORS, "mm", "k", "st")
_PARTS_OF_BYTES = ("[8h]", "[8a]", "[8b]")
"""Byte registers that only some encodings can name, while OSACA's forms mean all."""


@dataclass(frozen=True)
class SchemeForm:
    """A scheme with the names that OSACA looks up, in its order, and the classes of its operands."""

    scheme: Scheme
    names: tuple[str, ...]
    operands: tuple[Mapping[str, str], ...]


@cache
def scheme_forms(isa: str) -> tuple[SchemeForm, ...]:
    """Forms of all schemes that an entry can stand for: those without prefixes and decorations."""
    forms = []
    for scheme in target_of(isa).schemes.schemes():
        if "{" in scheme.text or any(part in scheme.text for part in _PARTS_OF_BYTES):
            continue
        for form in forms_of(_export_scheme(scheme), 0.0, isa=isa):
            names = tuple(dict.fromkeys((form.suffixed, form.mnemonic, scheme.mnemonic)))
            forms.append(SchemeForm(scheme, names, tuple(map(_operand_entry, form.operands))))
    return tuple(forms)


def _export_scheme(scheme: Scheme) -> ExportedScheme:
    operands = [operand.as_json() for operand in scheme.operands]
    arguments = (scheme.text, scheme.mnemonic, operands, scheme.extension, scheme.category)
    return ExportedScheme(*arguments, (), 0.0, NO_EVIDENCE)


def _operand_entry(written: str) -> dict[str, str]:
    """`class: register, name: gpr` as an object."""
    parts = (part.partition(": ") for part in written.removeprefix("fixed ").split(", "))
    return {key: value.strip("'") for key, _, value in parts}


def fits(pattern: Operands, operands: Operands) -> bool:
    return len(pattern) == len(operands) and all(map(_fits_operand, pattern, operands))


def is_indexed(pattern: Operands) -> bool:
    """Whether an entry is for memory with an index register. Schemes do not distinguish these."""
    memory = [operand for operand in pattern if operand.get("class") == "memory"]
    return any(operand.get("index") not in (*_ANY, *_VECTORS) for operand in memory)


def _operand_text(operand: Mapping[str, Any]) -> str:
    """An operand of an entry, for messages."""
    kind = str(operand.get("class"))
    if kind == "register":
        shape = f".{operand['shape']}" if operand.get("shape") else ""
        return str(operand.get("name") or f"{operand.get('prefix', '')}{shape}" or kind)
    return {"memory": "mem", "immediate": "imm"}.get(kind, kind)[:20]


def _fits_operand(pattern: Mapping[str, Any], operand: Mapping[str, Any]) -> bool:
    """Whether an operand of a scheme is what a form's operand stands for, wildcards included."""
    kind = operand["class"]
    if pattern.get("class") != kind or pattern.get("mask"):
        return False
    if kind == "register":
        return _fits_register(pattern, operand)
    if kind == "memory":
        index = pattern.get("index")
        index_register = operand["index"] if operand["index"] in _VECTORS else None
        return (index if index in _VECTORS else None) == index_register and _fits_writeback(pattern, operand)
    if kind == "immediate":
        return pattern.get("imd") in ("int", *_ANY)
    return pattern.get("ccode") in _ANY


def _fits_register(pattern: Mapping[str, Any], operand: Mapping[str, Any]) -> bool:
    if "prefix" in operand:
        shape = pattern.get("shape") or "*"
        prefix_fits = pattern.get("prefix") in ("*", operand["prefix"])
        return prefix_fits and str(shape).lower() in ("*", operand.get("shape", "*"))
    name, meant = str(pattern.get("name", "*")).lower(), operand["name"]
    if name == "gpr":
        return meant not in _NO_GENERAL
    return name in ("*", meant)


def _fits_writeback(pattern: Mapping[str, Any], operand: Mapping[str, Any]) -> bool:
    for key in ("pre_indexed", "post_indexed"):
        required = pattern.get(key)
        if required not in _ANY and bool(required) != (operand.get(key, "false") == "true"):
            return False
    return True
