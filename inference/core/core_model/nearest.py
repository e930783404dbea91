"""Blocks predicted by a core model; undescribed schemes can be replaced by the nearest described ones.

The nearest is, in this order: the same mnemonic with operands of other widths; another condition (`cmovb` for
`cmove`); the form with or without VEX (`paddd` for `vpaddd`); the form with a register in place of memory,
with a load or a store beside it; the form with a register in place of an immediate. Of several, one with
the same form of address is taken, then the closest in width. A different operation is never used, nor one
that moves the base of its address for one that does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log2

from inference.core.core_model.bounds import predict_core
from inference.core.core_model.dependences import WRITTEN_BASE
from inference.core.core_model.model import CoreModel, OperandLatencies
from inference.core.core_model.prediction import (
    Assumptions,
    BoundKind,
    CodeShape,
    CorePrediction,
    SchemeSubstitution,
    shape_of,
)
from inference.core.mapping import PortMapping, Uops, uops_of
from inference.isa.blocks import Block, accesses_of
from inference.isa.dependences import InstructionAccesses
from inference.isa.scheme import Operand, Scheme
from inference.isa.targets import target_of

Describe = Callable[[str], Scheme | None]  # the scheme of a text, None where there is none

_CONDITIONAL = re.compile(r"(cmov|set|j)(?:n?[abeglopsz]|n?[abgl]e|n?[cp]|p[eo])")
_BY_ELEMENT = re.compile(
    r"((?:add|sub|mul|min|max|and|andn|or|xor|fn?m(?:add|sub)(?:132|213|231))(?=[ps][sd])|movs(?=[sd])"
    r"|p(?:add|sub)(?=[bwdq])|p(?:and|andn|or|xor))(?:[ps]?[sd]|[bwdq])?"
)
"""Vector operations that take as long for other types of elements."""
_VECTOR_MOVE = re.compile(r"mov[au]p[sd]|movdq[au](?:8|16|32|64)?|lddqu")
_ADDRESS = re.compile(r"MEM\[\d++,([^][]*+)\]")  # where schemes tell forms of addresses apart
_STEPS = ("inc", "dec")
_LOADS = ("mov GPR[64]:W, MEM[64]:R", "mov GPR[32]:W, MEM[32]:R")
_VECTOR_LOADS = {
    128: ("movaps XMM:W, MEM[128]:R", "vmovaps XMM:W, MEM[128]:R", "movdqa XMM:W, MEM[128]:R"),
    256: ("vmovaps YMM:W, MEM[256]:R", "vmovdqa YMM:W, MEM[256]:R"),
    512: ("vmovaps ZMM:W, MEM[512]:R", "vmovdqa64 ZMM:W, MEM[512]:R"),
}
_STORES = ("mov MEM[64]:W, GPR[64]:R", "mov MEM[32]:W, GPR[32]:R")
_FULL_WRITE_BITS = 32  # of a register, from which on a write preserves nothing of the old value
_BASIS = "as the nearest scheme"
_OTHER_ENCODING = 2  # the rank of the form with or without VEX
_WITH_MEMORY = 3  # of a form with registers in place of memory
_WITH_CONSTANT = 4  # of an operand in place of a constant
_OTHER_ELEMENTS = 5  # added to the rank of an operation with other elements


@dataclass(frozen=True, slots=True)
class _Match:
    rank: int
    differs: str
    other_address: bool
    apart: float
    scheme: Scheme

    @property
    def with_memory(self) -> bool:
        return self.rank % _OTHER_ELEMENTS == _WITH_MEMORY


class CoreModelBlocks:
    def __init__(self, model: CoreModel, assumed: Assumptions) -> None:
        self._assumed = assumed
        self._model = model
        self._nearest: NearestSchemes | None = None

    @property
    def model(self) -> CoreModel:
        """The model, extended by the substitutions so far."""
        return self._model if self._nearest is None else self._nearest.model

    def predict(self, block: Block) -> CorePrediction:
        """All bounds of a block, and what the model lacks."""
        accesses = accesses_of(block, equal_start=self._assumed.alike)
        shape, without = shape_of(block, in_loop=self._assumed.in_loop), self._assumed.without
        if not self._assumed.nearest:
            return predict_core(accesses, shape, self._model, without)
        if self._nearest is None:  # all blocks of a core model are of its instruction set
            self._nearest = NearestSchemes(self._model, target_of(block.isa).schemes.scheme_of)
        return self._nearest.predict(accesses, shape, without)


class NearestSchemes:
    """A core model that is extended by the nearest schemes when undescribed ones are met.

    Ports come from the nearest scheme with ports; latencies, and the idioms that were measured with them,
    from the nearest one with latencies.
    """

    def __init__(self, model: CoreModel, describe: Describe) -> None:
        self.model = model
        self._describe = describe
        self._schemes: dict[str, tuple[SchemeSubstitution, ...]] = {}
        described = () if model.mapping is None else {*model.mapping.usage, *model.moves}
        timed = {*model.latencies, *model.free, *model.portless, *model.moves}
        self._with_ports, self._with_latencies = (
            _ByOperation(describe, described),
            _ByOperation(describe, timed),
        )

    def predict(
        self, block: Sequence[InstructionAccesses], shape: CodeShape, without: Iterable[BoundKind] = ()
    ) -> CorePrediction:
        """As `predict_core`; the prediction lists the substitutions of the block."""
        texts = [instruction.scheme for instruction in block if instruction.scheme is not None]
        substitutions = self.substitutions(texts)
        return replace(predict_core(block, shape, self.model, tuple(without)), substitutions=substitutions)

    def substitutions(self, texts: Iterable[str]) -> tuple[SchemeSubstitution, ...]:
        """The substitutions of schemes, by which `model` is extended."""
        unique = tuple(dict.fromkeys(texts))
        self._extend([text for text in unique if text not in self._schemes])
        return tuple(scheme for text in unique for scheme in self._schemes[text])

    def _extend(self, texts: Sequence[str]) -> None:
        """Extend the model for schemes that have not been looked up before."""
        for text in texts:
            scheme = self._describe(text)
            if scheme is None:
                self._schemes[text] = ()
                continue
            ports = None if self._has_ports(text) else self._with_ports.nearest(scheme)
            # Idioms were looked for with latencies.
            is_known = text in self.model.latencies or self._is_idiom(text)
            latencies = None if is_known else self._with_latencies.nearest(scheme)
            self._schemes[text] = tuple(self._nearest_schemes(scheme, ports, latencies))
            if ports is not None:
                self.model = _with_ports(self.model, scheme, ports)
            if latencies is not None:
                self.model = _with_latencies(self.model, scheme, latencies)

    def _has_ports(self, text: str) -> bool:
        """Whether ports, or the time that it takes alone, are known, or cannot be without a mapping."""
        model = self.model
        is_described = model.mapping is None or text in model.mapping.usage
        return is_described or text in model.moves or text in model.alone

    def _nearest_schemes(
        self, scheme: Scheme, ports: _Match | None, latencies: _Match | None
    ) -> Iterator[SchemeSubstitution]:
        parts: dict[_Match, list[str]] = {}
        if ports is not None:
            parts[ports] = ["ports"]
        if latencies is not None:
            is_idiom = _shares_idioms(scheme, latencies) and self._is_idiom(latencies.scheme.text)
            parts.setdefault(latencies, []).extend(["latencies", *(["idioms"] if is_idiom else [])])
        for match, names in parts.items():
            yield SchemeSubstitution(scheme.text, match.scheme.text, match.differs, tuple(names))

    def _is_idiom(self, text: str) -> bool:
        return text in self.model.free | self.model.portless | self.model.moves


class _ByOperation:
    """Schemes that can substitute others, by their operation; read on the first use."""

    def __init__(self, describe: Describe, texts: Iterable[str]) -> None:
        self._describe = describe
        self._texts = texts
        self._by_root: dict[str, list[Scheme]] | None = None

    def nearest(self, scheme: Scheme) -> _Match | None:
        if self._by_root is None:
            self._by_root = {}
            for text in sorted(self._texts):
                if (description := self._describe(text)) is not None:
                    self._by_root.setdefault(_root(description), []).append(description)
        return _best(scheme, self._by_root.get(_root(scheme), ()))


def nearest_scheme(scheme: Scheme, candidates: Iterable[Scheme]) -> Scheme | None:
    """The one of these schemes that can substitute a scheme, None where there is none."""
    match = _best(scheme, (candidate for candidate in candidates if _root(candidate) == _root(scheme)))
    return None if match is None else match.scheme


def _best(scheme: Scheme, candidates: Iterable[Scheme]) -> _Match | None:
    matches = [match for candidate in candidates if (match := _match(scheme, candidate)) is not None]
    return min(
        matches,
        key=lambda match: (match.rank, match.other_address, match.apart, match.scheme.text),
        default=None,
    )


def _root(scheme: Scheme) -> str:
    """The operation of a mnemonic, without condition, encoding and type of elements."""
    mnemonic = scheme.mnemonic
    conditional = _CONDITIONAL.fullmatch(mnemonic)
    if conditional is not None:
        return conditional[1]
    if mnemonic in _STEPS:
        return "add"
    operation = _without_encoding(scheme)
    if "vector" not in map(_kind, scheme.operands):
        return operation
    if _VECTOR_MOVE.fullmatch(operation):
        return "vector move"
    by_element = _BY_ELEMENT.fullmatch(operation)
    return operation if by_element is None else f"vector {by_element[1]}"


def _without_encoding(scheme: Scheme) -> str:
    return scheme.mnemonic.removeprefix("v") if scheme.encoding != "legacy" else scheme.mnemonic


def _match(scheme: Scheme, near: Scheme) -> _Match | None:
    """The difference of a known scheme, None where it is too large."""
    moves_base, near_moves_base = (
        WRITTEN_BASE in {part.name for part in row.operands} for row in (scheme, near)
    )
    mine, theirs = _visible_operands(scheme), _visible_operands(near)
    difference = _difference(scheme, near, [*map(_kind, mine)], [*map(_kind, theirs)])
    if difference is None or moves_base != near_moves_base:
        return None
    rank, differs = difference
    width_distance = sum(_width_distance(a, b) for a, b in zip(mine, theirs, strict=False))
    other_address = _ADDRESS.findall(scheme.text) != _ADDRESS.findall(near.text)
    differs = differs or ("other width" if width_distance else "other form")
    return _Match(rank, differs, other_address, width_distance, near)


def _difference(
    scheme: Scheme, near: Scheme, kinds: Sequence[str], near_kinds: Sequence[str]
) -> tuple[int, str] | None:
    """(rank, text) of two schemes with operands of these kinds; "" where only widths differ."""
    elements, extra, text = _element_difference(scheme, near)
    is_same = elements or scheme.mnemonic == near.mnemonic
    shape = _shape_difference(scheme, near, kinds, near_kinds, is_same=is_same)
    if shape is None or not elements:
        return shape
    return shape[0] + extra, ", ".join(filter(None, (shape[1], text)))


def _shape_difference(
    scheme: Scheme, near: Scheme, kinds: Sequence[str], near_kinds: Sequence[str], *, is_same: bool
) -> tuple[int, str] | None:
    """(penalty, description) of a difference in operands, condition or encoding; None if too different.

    `is_same`: whether both have the same operation.
    """
    differs = (scheme.encoding == "legacy") != (near.encoding == "legacy")
    shorter, longer = sorted((kinds, near_kinds), key=len)
    pairs = {(a, b) for a, b in zip(kinds, near_kinds, strict=False) if a != b}
    if kinds == near_kinds:
        other = (_OTHER_ENCODING, "other encoding") if differs else (1, "other condition")
        return (0, "") if is_same else other
    if scheme.mnemonic in _STEPS and near_kinds == [*kinds, "immediate"]:
        return _WITH_CONSTANT, "an immediate for the constant"
    if differs and longer[1:] == shorter:
        return _OTHER_ENCODING, "other encoding"
    if len(kinds) == len(near_kinds) and is_same and pairs <= {("memory", "general"), ("memory", "vector")}:
        return _WITH_MEMORY, "memory beside the form with registers"
    has_immediate = len(kinds) == len(near_kinds) and pairs == {("immediate", "general")}
    if scheme.mnemonic == near.mnemonic and has_immediate:
        return _WITH_CONSTANT, "register for the immediate"
    return None


def _element_difference(scheme: Scheme, near: Scheme) -> tuple[bool, int, str]:
    """(whether types of elements differ, what that adds to the rank, its name), of schemes of one root."""
    differs = _root(scheme).startswith("vector ") and _without_encoding(scheme) != _without_encoding(near)
    return (True, _OTHER_ELEMENTS, "other type of elements") if differs else (False, 0, "")


def _visible_operands(scheme: Scheme) -> list[Operand]:
    """The operands without implicit ones; legacy SSE has an implicit `xmm0` where VEX names a register."""
    return [operand for operand in scheme.operands if not operand.implicit or _kind(operand) == "vector"]


def _names(operands: Iterable[Operand]) -> list[str]:
    """Names of operands in latencies: their positions, and implicit ones by their registers."""
    return [operand.name if operand.implicit else str(place) for place, operand in enumerate(operands, 1)]


def _kind(operand: Operand) -> str:
    if operand.kind != "register":
        return operand.kind
    name = (operand.registers[0] if operand.registers else operand.name).lower()
    if name.startswith(("xmm", "ymm", "zmm")):
        return "vector"
    return name[:2] if name[:2] in ("mm", "st") or name[:1] == "k" else "general"


def _width_distance(first: Operand, second: Operand) -> float:
    """How far two operands are apart in width, in powers of two."""
    if not first.width or not second.width or first.kind == "immediate":
        return 0.0
    return abs(log2(first.width) - log2(second.width))


def _with_ports(model: CoreModel, scheme: Scheme, match: _Match) -> CoreModel:
    mapping = model.mapping
    assert mapping is not None, "ports are taken where there are some"
    usage = {**mapping.usage, scheme.text: _uops(scheme, match, model, mapping)}
    slots = {**mapping.slots, scheme.text: mapping.slots_of(match.scheme.text)}
    ports = PortMapping(mapping.ports, usage, mapping.r_max, mapping.issue_width, slots)
    return replace(model, mapping=ports)


def _with_latencies(model: CoreModel, scheme: Scheme, match: _Match) -> CoreModel:
    """The model with the scheme's latencies, and idioms where these do not depend on the schemes'
    difference.
    """
    text, near, load = scheme.text, match.scheme.text, _load_latency(model)
    latencies = dict(_rename_operands(scheme, match, model.latencies.get(near, {}), load))
    extended = replace(
        model,
        latencies={**model.latencies, text: latencies},
        bases={**model.bases, text: dict.fromkeys(latencies, _BASIS)},
    )
    if near in model.by_immediate:
        immediates = {
            immediate: dict(_rename_operands(scheme, match, pairs, load))
            for immediate, pairs in model.by_immediate[near].items()
        }
        extended = replace(extended, by_immediate={**model.by_immediate, text: immediates})
    if not _shares_idioms(scheme, match):
        return extended
    if near in model.false_dependences:
        false_dependences = {**model.false_dependences, text: model.false_dependences[near]}
        extended = replace(extended, false_dependences=false_dependences)
    return replace(
        extended,
        free=_with_member(model.free, text, near),
        portless=_with_member(model.portless, text, near),
        moves=_with_member(model.moves, text, near),
    )


def _shares_idioms(scheme: Scheme, match: _Match) -> bool:
    return match.rank <= _OTHER_ENCODING and scheme.width >= _FULL_WRITE_BITS


def _with_member(members: frozenset[str], text: str, near: str) -> frozenset[str]:
    return members | {text} if near in members else members


def _uops(scheme: Scheme, match: _Match, model: CoreModel, mapping: PortMapping) -> Uops:
    near = match.scheme.text
    near_uops = () if near in model.moves else mapping.usage.get(near, ())
    if not match.with_memory:
        return near_uops
    added: list[Uops] = []
    for operand in _visible_operands(scheme):
        if operand.kind == "memory" and "R" in operand.access:
            loads = _VECTOR_LOADS.get(operand.width, _LOADS)
            added.append(_first_known_uops(loads, mapping) or _first_known_uops(_LOADS, mapping))
        if operand.kind == "memory" and "W" in operand.access:
            added.append(_first_known_uops(_STORES, mapping))
    return uops_of(uop for uops in (near_uops, *added) for uop in uops)


def _first_known_uops(texts: Sequence[str], mapping: PortMapping) -> Uops:
    return next((mapping.usage[text] for text in texts if text in mapping.usage), ())


def _load_latency(model: CoreModel) -> float:
    latencies = (model.latencies.get(text, {}).get(("2 address", "1")) for text in _LOADS)
    return next((cycles for cycles in latencies if cycles is not None), model.memory.load)


def _rename_operands(
    scheme: Scheme, match: _Match, latencies: OperandLatencies, load: float
) -> Iterator[tuple[tuple[str, str], float | None]]:
    mine, theirs = _visible_operands(scheme), _visible_operands(match.scheme)
    names = _names(mine)
    # VEX has the destination beside the first source.
    moved = 0 if match.rank == _WITH_CONSTANT else len(mine) - len(theirs)
    sources = {
        name: names[place + moved]
        for place, name in enumerate(_names(theirs))
        if 0 <= place + moved < len(names)
    }
    stored = {name for name, member in zip(names, mine, strict=True) if member.kind == "memory"}
    in_memory = stored if match.with_memory else set()
    for (first, last), cycles in latencies.items():
        operand, space, part = first.partition(" ")
        if operand not in sources and operand.isdecimal():
            continue
        source = f"{sources.get(operand, operand)}{space}{part}"
        target = f"{last} data" if last in in_memory else last
        if source in in_memory:
            yield (f"{source} address", target), None if cycles is None else cycles + load
            yield (f"{source} data", target), cycles
        else:
            yield (source, target), cycles
