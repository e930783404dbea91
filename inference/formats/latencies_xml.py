"""Measured latencies as XML like uops.info's, which `uops_info_xml` reads again; see docs/formats.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from inference.core.latency import IdiomKind
from inference.core.protocols import Json
from inference.formats.exported import ExportedLatencies, ExportedScheme
from inference.formats.exported_core import ExportedCore
from inference.formats.provenance import Provenance
from inference.formats.uops_info_xml_writing import (
    write_facts,
    write_instruction,
    write_uops_info_xml,
)
from inference.formats.xml_lines import XmlLines
from inference.isa.uops_info import XmlInstruction
from inference.isa.uops_info_writing import numbered_element

WHOLE = 0.05
"""Cycles from a whole number up to which that is written: uops.info has whole numbers, and tools expect
them."""

_PARTS = {"address": "_addr", "base": "_addr", "index": "_addr_index", "data": "_mem"}
_ONE_REGISTER = frozenset({IdiomKind.BREAKING, IdiomKind.ZEROING, IdiomKind.QUICKER})
_OLD_VALUE = frozenset({IdiomKind.FALSE_DEPENDENCY, IdiomKind.PARTIAL_REGISTER})

Numbered = dict[tuple[int, int], dict[str, str]]


def write_latencies_xml(
    architecture: str, schemes: Sequence[ExportedLatencies], provenance: Provenance
) -> str:
    """The document. Schemes of which no latency and no bound is known are left out."""
    by_extension: dict[str, list[tuple[ExportedLatencies, XmlInstruction, Sequence[Mapping[str, str]]]]]
    by_extension = defaultdict(list)
    for scheme in schemes:
        names = (_operand(pair[end]) for pair in scheme.pairs for end in ("source", "destination"))
        made, numbers = numbered_element(scheme.text, scheme.mnemonic, scheme.operands, names)
        if latencies := _latencies(scheme, numbers):
            listed = [_attributes(*ends, cycles) for ends, cycles in latencies.items()]
            by_extension[scheme.extension].append((scheme, made, listed))
    xml = XmlLines()
    with xml.inside("root", {}):
        with xml.inside("provenance", {}):
            write_facts(xml, provenance)
        for extension, found in by_extension.items():
            with xml.inside("extension", {"name": extension}):
                for written, element, attributes in found:
                    write_instruction(xml, written, element, architecture, {}, attributes)
    return xml.text()


def write_core_xml(core: ExportedCore) -> str:
    """Ports and latencies of a core model in one document.

    Raises `ExchangeError` where the notation has no place for the ports or counts.
    """

    def of_scheme(scheme: ExportedScheme) -> tuple[XmlInstruction, Sequence[Mapping[str, str]]]:
        pairs = _pairs(core, scheme.text)
        names = [_operand(pair[end]) for pair in pairs for end in ("source", "destination")]
        made, numbers = numbered_element(scheme.text, scheme.mnemonic, scheme.operands, names)
        told = (scheme.text, scheme.mnemonic, scheme.extension, scheme.category, scheme.operands)
        found = _latencies(ExportedLatencies(*told, pairs, _idioms(core, scheme)), numbers)
        return made, [_attributes(*ends, cycles) for ends, cycles in found.items()]

    return write_uops_info_xml(core.mapping, of_scheme)


def _pairs(core: ExportedCore, text: str) -> list[Json]:
    """As `PairLatency` makes them: what was not measured by itself is a bound."""
    bases = core.model.bases.get(text, {})
    return [
        {
            "source": ends[0],
            "destination": ends[1],
            "least": None if ends in bases else cycles,
            "most": cycles,
            "at_most": cycles if ends in bases else None,
        }
        for ends, cycles in core.model.latencies.get(text, {}).items()
    ]


def _idioms(core: ExportedCore, scheme: ExportedScheme) -> list[Json]:
    """What waits for nothing with one register, of the first operand."""
    if scheme.text not in core.model.free or not scheme.shown or scheme.shown[0]["kind"] != "register":
        return []
    return [{"kind": IdiomKind.ZEROING, "destination": "1", "latency": None}]


def _attributes(start: int, target: int, cycles: Mapping[str, str]) -> dict[str, str]:
    return {"start_op": str(start), "target_op": str(target), **cycles}


def _latencies(scheme: ExportedLatencies, numbers: Mapping[str, int]) -> Numbered:
    """Attributes by (start, target): the parts of a memory operand stand in one element."""
    found: Numbered = defaultdict(dict)
    for pair in scheme.pairs:
        start, target = numbers[_operand(pair["source"])], numbers[_operand(pair["destination"])]
        if cycles := _cycles(pair, _PARTS.get(pair["source"].partition(" ")[2], "")):
            found[start, target] |= cycles
    for idiom in scheme.idioms:
        target = idiom["destination"]
        if idiom["kind"] in _ONE_REGISTER:
            for source in _alike(scheme, target):
                found[numbers[source], numbers[target]]["cycles_same_reg"] = _number(idiom["latency"] or 0)
        elif idiom["kind"] in _OLD_VALUE and idiom["latency"] is not None:
            found[numbers[target], numbers[target]]["cycles"] = _number(idiom["latency"])
    return found


def _operand(place: str) -> str:
    """The operand that a latency goes from or to, whichever part of it."""
    return place.partition(" ")[0]


def _cycles(pair: Json, suffix: str) -> dict[str, str]:
    """The attributes of a pair; none where its latency is not known, or it does not depend."""
    if pair["least"] is not None:
        least, most = _number(pair["least"]), _number(pair["most"])
        if least == most:
            return {f"cycles{suffix}": least}
        return {f"min_cycles{suffix}": least, f"max_cycles{suffix}": most}
    if pair["at_most"] is None:
        return {}
    return {f"cycles{suffix}": _number(pair["at_most"]), f"cycles{suffix}_is_upper_bound": "1"}


def _alike(scheme: ExportedLatencies, target: str) -> Iterator[str]:
    """The operands that are read and can be the same register as the destination."""
    shown = [operand for operand in scheme.operands if not operand["implicit"]]
    name = shown[int(target) - 1]["name"]
    for number, operand in enumerate(shown, start=1):
        if operand["name"] == name and "R" in operand["access"]:
            yield str(number)


def _number(cycles: float) -> str:
    """Cycles in two decimals at most; none are less than none."""
    whole = round(cycles)
    return f"{max(0, whole)}" if abs(cycles - whole) <= WHOLE else f"{max(0.0, round(cycles, 2)):g}"
