"""A port mapping as XML like uops.info's, which `uops_info_xml` reads again; see docs/formats.md."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from inference.core.mapping import Uops, ports_in
from inference.formats.exported import ExportedMapping, ExportedScheme
from inference.formats.json_fields import COUNT_LIMIT
from inference.isa.uops_info_writing import element
from inference.storage.errors import ExchangeError

ARCHITECTURE_LENGTH = 20
"""Characters that the reader takes for the name of a microarchitecture."""

_DIGITS = "0123456789ABCDEF"
_FILES = ("p", "FP")


def write_uops_info_xml(mapping: ExportedMapping) -> str:
    """The document; raises `ExchangeError` where the notation has no place for the ports or counts."""
    codes = port_codes(mapping.value.ports, (scheme.uops for scheme in mapping.schemes))
    out = io.StringIO()
    xml = XMLGenerator(out, encoding="utf-8")
    xml.startDocument()
    _open(xml, 0, "root", {})
    limits = {"r_max": mapping.value.r_max, "issue_width": mapping.value.issue_width}
    _open(xml, 1, "provenance", {name: "" if rate is None else f"{rate:g}" for name, rate in limits.items()})
    for line in mapping.provenance.lines():
        label, _, text = line.partition(": ")
        _leaf(xml, 2, "fact", {"label": label}, text)
    for name, code in zip(mapping.value.ports, codes, strict=True):
        _leaf(xml, 2, "port", {"name": name, "written": code})
    _close(xml, 1, "provenance")
    for extension in dict.fromkeys(scheme.extension for scheme in mapping.schemes):
        _open(xml, 1, "extension", {"name": extension})
        for scheme in mapping.schemes:
            if scheme.extension == extension:
                _instruction(xml, mapping, scheme, codes)
        _close(xml, 1, "extension")
    _close(xml, 0, "root")
    return out.getvalue()


def _instruction(
    xml: XMLGenerator, mapping: ExportedMapping, scheme: ExportedScheme, codes: tuple[str, ...]
) -> None:
    made = element(scheme.text, scheme.mnemonic, scheme.operands)
    given = {"category": scheme.category, "extension": scheme.extension, "isa-set": scheme.extension}
    _open(xml, 2, "instruction", {**made.attributes, **given, "scheme": scheme.text})
    for index, operand in enumerate(made.operands, start=1):
        _leaf(xml, 3, "operand", {"idx": str(index), **operand.attributes}, operand.text)
    _open(xml, 3, "architecture", {"name": mapping.name[:ARCHITECTURE_LENGTH].strip()})
    measured = {"uops": str(scheme.count), "TP_ports": f"{scheme.predicted:.2f}"}
    if mapping.value.issue_width is not None:
        measured["slots"] = str(scheme.slots)
    if scheme.hidden is not None:
        measured["hidden"] = str(scheme.hidden)
    if scheme.uops:
        measured["ports"] = usage_text(scheme, codes)
    if scheme.evidence.measured is not None:
        measured["TP_unrolled"] = f"{scheme.evidence.measured:.4g}"
    if scheme.evidence.witnesses:
        measured["witnesses"] = str(scheme.evidence.witnesses)
    _leaf(xml, 4, "measurement", measured)
    _close(xml, 3, "architecture")
    _close(xml, 2, "instruction")


def usage_text(scheme: ExportedScheme, codes: tuple[str, ...]) -> str:
    """`2*p01+1*p5`, as uops.info writes port usages; raises `ExchangeError` for too many of one kind."""
    kinds = []
    for mask, count in scheme.uops:
        if count > COUNT_LIMIT:
            raise ExchangeError(f"{scheme.text!r} has {count} µops of a kind, {COUNT_LIMIT} can be written")
        chosen = [codes[bit] for bit in ports_in(mask)]
        kinds.append(f"{count}*{chosen[0][:-1]}{''.join(sorted(code[-1] for code in chosen))}")
    return "+".join(kinds)


def port_codes(ports: tuple[str, ...], usages: Iterable[Uops]) -> tuple[str, ...]:
    """A code for every port, `p0` to `pF` or `FP0` to `FPF`.

    Ports that are called so, or just by the digit, keep it where no µop can use ports of both files; all are
    numbered otherwise. Raises `ExchangeError` for more ports than there are codes.
    """
    own = [name if name[:-1] in _FILES else f"p{name}" for name in ports]
    named = all(code[-1] in _DIGITS and code[:-1] in _FILES for code in own) and len(set(own)) == len(own)
    masks = {mask for uops in usages for mask, _ in uops}
    if named and all(len({own[bit][:-1] for bit in ports_in(mask)}) == 1 for mask in masks):
        return tuple(own)
    if len(ports) > len(_DIGITS):
        raise ExchangeError(
            f"{len(ports)} ports cannot be written in uops.info's notation, which has {len(_DIGITS)}: export "
            "JSON instead"
        )
    return tuple(f"p{digit}" for digit in _DIGITS[: len(ports)])


def _open(xml: XMLGenerator, depth: int, name: str, attributes: Mapping[str, str]) -> None:
    xml.ignorableWhitespace(" " * depth)
    xml.startElement(name, AttributesImpl({key: value for key, value in attributes.items() if value}))
    xml.ignorableWhitespace("\n")


def _close(xml: XMLGenerator, depth: int, name: str) -> None:
    xml.ignorableWhitespace(" " * depth)
    xml.endElement(name)
    xml.ignorableWhitespace("\n")


def _leaf(xml: XMLGenerator, depth: int, name: str, attributes: Mapping[str, str], text: str = "") -> None:
    xml.ignorableWhitespace(" " * depth)
    xml.startElement(name, AttributesImpl({key: value for key, value in attributes.items() if value}))
    xml.characters(text)
    xml.endElement(name)
    xml.ignorableWhitespace("\n")
