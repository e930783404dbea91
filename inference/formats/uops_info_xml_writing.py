"""Port mappings, and core models with latencies, as XML like uops.info's; see docs/formats.md.

Mappings are read again by `uops_info_xml`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from inference.core.latency import IdiomKind
from inference.core.mapping import Uops, ports_in
from inference.core.protocols import Json
from inference.formats.exports import ExportedCore, ExportedLatencies, ExportedMapping, ExportedScheme
from inference.formats.json_fields import COUNT_LIMIT
from inference.formats.problems import ExchangeError
from inference.formats.provenance import Provenance
from inference.formats.quoting import XmlLines
from inference.isa.uops_info import XmlInstruction, element, numbered_element

ARCHITECTURE_LENGTH = 20
"""Characters that the reader accepts in the name of a microarchitecture."""

_DIGITS = "0123456789ABCDEF"
_FILES = ("p", "FP")


LatencyElements = Callable[[ExportedScheme], tuple[XmlInstruction, Sequence[Mapping[str, str]]]]
"""Scheme → (its element with all operands that latencies refer to, attributes of each latency)."""


def write_uops_info_xml(mapping: ExportedMapping, elements: LatencyElements | None = None) -> str:
    """A port mapping as XML like uops.info's.

    Args:
        mapping: The mapping.
        elements: Elements with latencies; None writes none.

    Raises:
        ExchangeError: More ports or µops than the notation can express.
    """
    of_scheme = elements or _without_latencies
    codes = port_codes(mapping.value.ports, (scheme.uops for scheme in mapping.schemes))
    xml = XmlLines()
    limits = {"r_max": mapping.value.r_max, "issue_width": mapping.value.issue_width}
    with xml.inside("root", {}):
        limit_texts = {name: "" if rate is None else f"{rate:g}" for name, rate in limits.items()}
        with xml.inside("provenance", limit_texts):
            write_facts(xml, mapping.provenance)
            for name, code in zip(mapping.value.ports, codes, strict=True):
                xml.leaf("port", {"name": name, "written": code})
        for extension in dict.fromkeys(scheme.extension for scheme in mapping.schemes):
            with xml.inside("extension", {"name": extension}):
                for scheme in mapping.schemes:
                    if scheme.extension == extension:
                        element, latencies = of_scheme(scheme)
                        measured = _measurement(mapping, scheme, codes)
                        write_instruction(xml, scheme, element, mapping.name, measured, latencies)
    return xml.text()


def write_facts(xml: XmlLines, provenance: Provenance) -> None:
    """Write the provenance, an element per fact."""
    for line in provenance.lines():
        label, _, text = line.partition(": ")
        xml.leaf("fact", {"label": label}, text)


def _without_latencies(scheme: ExportedScheme) -> tuple[XmlInstruction, Sequence[Mapping[str, str]]]:
    return element(scheme.text, scheme.mnemonic, scheme.operands), ()


def write_instruction(
    xml: XmlLines,
    scheme: ExportedScheme | ExportedLatencies,
    element: XmlInstruction,
    architecture: str,
    measured: Mapping[str, str],
    latencies: Sequence[Mapping[str, str]],
) -> None:
    """Write an instruction with its operands, and its measurement on an architecture."""
    common = {"category": scheme.category, "extension": scheme.extension, "isa-set": scheme.extension}
    with xml.inside("instruction", {**element.attributes, **common, "scheme": scheme.text}):
        for index, operand in enumerate(element.operands, start=1):
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
        letters = [codes[bit] for bit in ports_in(mask)]
        kinds.append(f"{count}*{letters[0][:-1]}{''.join(sorted(code[-1] for code in letters))}")
    return "+".join(kinds)


def port_codes(ports: tuple[str, ...], usages: Iterable[Uops]) -> tuple[str, ...]:
    """A code for every port, `p0` to `pF` or `FP0` to `FPF`.

    Ports that are called so, or just by the digit, keep it where no µop can use ports of both files; all are
    numbered otherwise. Raises `ExchangeError` for more ports than there are codes.
    """
    port_names = [name if name[:-1] in _FILES else f"p{name}" for name in ports]
    named = all(code[-1] in _DIGITS and code[:-1] in _FILES for code in port_names) and len(
        set(port_names)
    ) == len(port_names)
    masks = {mask for uops in usages for mask, _ in uops}
    if named and all(len({port_names[bit][:-1] for bit in ports_in(mask)}) == 1 for mask in masks):
        return tuple(port_names)
    if len(ports) > len(_DIGITS):
        raise ExchangeError(
            f"{len(ports)} ports cannot be written in uops.info's notation, which has {len(_DIGITS)}: export "
            "JSON instead"
        )
    return tuple(f"p{digit}" for digit in _DIGITS[: len(ports)])


INTEGER_TOLERANCE = 0.05
"""Cycles within which a number is written as an integer: uops.info has integers, and tools expect them."""

_PARTS = {"address": "_addr", "base": "_addr", "index": "_addr_index", "data": "_mem"}
_SAME_REGISTER_IDIOMS = frozenset({IdiomKind.BREAKING, IdiomKind.ZEROING, IdiomKind.QUICKER})
_OLD_VALUE_IDIOMS = frozenset({IdiomKind.FALSE_DEPENDENCY, IdiomKind.PARTIAL_REGISTER})

Numbered = dict[tuple[int, int], dict[str, str]]


def write_latencies_xml(
    architecture: str, schemes: Sequence[ExportedLatencies], provenance: Provenance
) -> str:
    """A latency set as XML. Schemes without any latency or bound are left out."""
    by_extension: dict[str, list[tuple[ExportedLatencies, XmlInstruction, Sequence[Mapping[str, str]]]]]
    by_extension = defaultdict(list)
    for scheme in schemes:
        names = (_operand(pair[end]) for pair in scheme.pairs for end in ("source", "destination"))
        numbered, numbers = numbered_element(scheme.text, scheme.mnemonic, scheme.operands, names)
        if latencies := _latencies(scheme, numbers):
            listed = [_attributes(*ends, cycles) for ends, cycles in latencies.items()]
            by_extension[scheme.extension].append((scheme, numbered, listed))
    xml = XmlLines()
    with xml.inside("root", {}):
        with xml.inside("provenance", {}):
            write_facts(xml, provenance)
        for extension, rows in by_extension.items():
            with xml.inside("extension", {"name": extension}):
                for written, element, attributes in rows:
                    write_instruction(xml, written, element, architecture, {}, attributes)
    return xml.text()


def write_core_xml(core: ExportedCore) -> str:
    """A core model as XML, with ports and latencies.

    Raises `ExchangeError` for more ports or µops than the notation can express.
    """

    def of_scheme(scheme: ExportedScheme) -> tuple[XmlInstruction, Sequence[Mapping[str, str]]]:
        pairs = _pairs(core, scheme.text)
        names = [_operand(pair[end]) for pair in pairs for end in ("source", "destination")]
        numbered, numbers = numbered_element(scheme.text, scheme.mnemonic, scheme.operands, names)
        fields = (scheme.text, scheme.mnemonic, scheme.extension, scheme.category, scheme.operands)
        latencies = _latencies(ExportedLatencies(*fields, pairs, _idioms(core, scheme)), numbers)
        return numbered, [_attributes(*ends, cycles) for ends, cycles in latencies.items()]

    return write_uops_info_xml(core.mapping, of_scheme)


def _pairs(core: ExportedCore, text: str) -> list[Json]:
    """Latencies in the JSON of `PairLatency`; those not measured in isolation are upper bounds."""
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
    """The zeroing idiom of a scheme that waits for nothing when its registers are the same; [] for others."""
    kinds = [operand["kind"] for operand in scheme.explicit_operands]
    if scheme.text not in core.model.free or kinds[:1] != ["register"]:
        return []
    return [{"kind": IdiomKind.ZEROING, "destination": "1", "latency": None}]


def _attributes(start: int, target: int, cycles: Mapping[str, str]) -> dict[str, str]:
    return {"start_op": str(start), "target_op": str(target), **cycles}


def _latencies(scheme: ExportedLatencies, numbers: Mapping[str, int]) -> Numbered:
    """{(start, target): attributes}; the parts of a memory operand share an element."""
    cells: Numbered = defaultdict(dict)
    for pair in scheme.pairs:
        start, target = numbers[_operand(pair["source"])], numbers[_operand(pair["destination"])]
        if cycles := _cycles(pair, _PARTS.get(pair["source"].partition(" ")[2], "")):
            cells[start, target] |= cycles
    for idiom in scheme.idioms:
        target = idiom["destination"]
        if idiom["kind"] in _SAME_REGISTER_IDIOMS:
            for source in _same_register_operands(scheme, target):
                cells[numbers[source], numbers[target]]["cycles_same_reg"] = _number(idiom["latency"] or 0)
        elif idiom["kind"] in _OLD_VALUE_IDIOMS and idiom["latency"] is not None:
            cells[numbers[target], numbers[target]]["cycles"] = _number(idiom["latency"])
    return cells


def _operand(place: str) -> str:
    """The operand in a name such as `1 address`, without its part."""
    return place.partition(" ")[0]


def _cycles(pair: Json, suffix: str) -> dict[str, str]:
    """The attributes of a pair; {} where its latency is unknown, or there is no dependence."""
    if pair["least"] is not None:
        lowest, highest = _number(pair["least"]), _number(pair["most"])
        if lowest == highest:
            return {f"cycles{suffix}": lowest}
        return {f"min_cycles{suffix}": lowest, f"max_cycles{suffix}": highest}
    if pair["at_most"] is None:
        return {}
    return {f"cycles{suffix}": _number(pair["at_most"]), f"cycles{suffix}_is_upper_bound": "1"}


def _same_register_operands(scheme: ExportedLatencies, target: str) -> Iterator[str]:
    """Numbers of the operands that are read and can be the same register as the destination."""
    operands = [operand for operand in scheme.operands if not operand["implicit"]]
    name = operands[int(target) - 1]["name"]
    for number, operand in enumerate(operands, start=1):
        if operand["name"] == name and "R" in operand["access"]:
            yield str(number)


def _number(cycles: float) -> str:
    """Cycles with at most two decimals; negative numbers become 0."""
    nearest = round(cycles)
    is_integer = abs(cycles - nearest) <= INTEGER_TOLERANCE
    return f"{max(0, nearest)}" if is_integer else f"{max(0.0, round(cycles, 2)):g}"
