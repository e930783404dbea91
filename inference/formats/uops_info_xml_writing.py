"""A port mapping as XML like uops.info's, which `uops_info_xml` reads again; see docs/formats.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from inference.core.mapping import Uops, ports_in
from inference.formats.errors import ExchangeError
from inference.formats.exported import ExportedLatencies, ExportedMapping, ExportedScheme
from inference.formats.json_fields import COUNT_LIMIT
from inference.formats.provenance import Provenance
from inference.formats.xml_lines import XmlLines
from inference.isa.uops_info import XmlInstruction
from inference.isa.uops_info_writing import element

ARCHITECTURE_LENGTH = 20
"""Characters that the reader takes for the name of a microarchitecture."""

_DIGITS = "0123456789ABCDEF"
_FILES = ("p", "FP")


LatencyElements = Callable[[ExportedScheme], tuple[XmlInstruction, Sequence[Mapping[str, str]]]]
"""The element of a scheme with all operands that latencies refer to, and the attributes of each latency."""


def write_uops_info_xml(mapping: ExportedMapping, elements: LatencyElements | None = None) -> str:
    """The document, with `latencies` where they are given.

    Raises `ExchangeError` where the notation has no place for the ports or counts.
    """
    of_scheme = elements or _without_latencies
    codes = port_codes(mapping.value.ports, (scheme.uops for scheme in mapping.schemes))
    xml = XmlLines()
    limits = {"r_max": mapping.value.r_max, "issue_width": mapping.value.issue_width}
    with xml.inside("root", {}):
        told = {name: "" if rate is None else f"{rate:g}" for name, rate in limits.items()}
        with xml.inside("provenance", told):
            write_facts(xml, mapping.provenance)
            for name, code in zip(mapping.value.ports, codes, strict=True):
                xml.leaf("port", {"name": name, "written": code})
        for extension in dict.fromkeys(scheme.extension for scheme in mapping.schemes):
            with xml.inside("extension", {"name": extension}):
                for scheme in mapping.schemes:
                    if scheme.extension == extension:
                        made, latencies = of_scheme(scheme)
                        measured = _measurement(mapping, scheme, codes)
                        write_instruction(xml, scheme, made, mapping.name, measured, latencies)
    return xml.text()


def write_facts(xml: XmlLines, provenance: Provenance) -> None:
    """What is known of the origin, an element each."""
    for line in provenance.lines():
        label, _, text = line.partition(": ")
        xml.leaf("fact", {"label": label}, text)


def _without_latencies(scheme: ExportedScheme) -> tuple[XmlInstruction, Sequence[Mapping[str, str]]]:
    return element(scheme.text, scheme.mnemonic, scheme.operands), ()


def write_instruction(
    xml: XmlLines,
    scheme: ExportedScheme | ExportedLatencies,
    made: XmlInstruction,
    architecture: str,
    measured: Mapping[str, str],
    latencies: Sequence[Mapping[str, str]],
) -> None:
    """An instruction with its operands, and what was measured of it on an architecture."""
    given = {"category": scheme.category, "extension": scheme.extension, "isa-set": scheme.extension}
    with xml.inside("instruction", {**made.attributes, **given, "scheme": scheme.text}):
        for index, operand in enumerate(made.operands, start=1):
            xml.leaf("operand", {"idx": str(index), **operand.attributes}, operand.text)
        with xml.inside("architecture", {"name": architecture[:ARCHITECTURE_LENGTH].strip()}):
            if not latencies:
                xml.leaf("measurement", measured)
                return
            with xml.inside("measurement", measured):
                for latency in latencies:
                    xml.leaf("latency", latency)


def _measurement(mapping: ExportedMapping, scheme: ExportedScheme, codes: tuple[str, ...]) -> dict[str, str]:
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
    if scheme.evidence.conflicts:
        measured["conflicts"] = "; ".join(scheme.evidence.conflicts)
    return measured


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
