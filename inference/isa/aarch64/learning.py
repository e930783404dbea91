"""Learns the encodings of `schemes.json` from llvm-mc: what varies in the operands of A64.

An amount in a scheme (`lsl 3`, `uxtb 2`, the element of `ELEM[32,1]`) stands for all amounts of its kind that
no other scheme has: of `movi` with `lsl 8`, `lsl 16` and `lsl 24` each is its own, while `movz` with `lsl 16`
has all. `lsl 3` is 1 to 4 where a scheme with `lsl 12` exists: cores shift by so few bits faster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence

from inference.isa.aarch64 import DOCUMENT, STACK_POINTER, instruction_set
from inference.isa.aarch64.assembling import TRIPLE
from inference.isa.aarch64.decoding import A64_CODECS, CONDITIONS, byte_mask, floating, mask
from inference.isa.aarch64.spelling import is_wide
from inference.isa.document import OperandForm
from inference.isa.encodings import ZERO_REGISTER, LearntDocument
from inference.isa.scheme import Scheme
from inference.isa.words import learning
from inference.isa.words.learning import Slot, Template

BIT_FIELDS = {
    **dict.fromkeys(("bfxil", "sbfx", "ubfx"), "extraction"),
    **dict.fromkeys(("bfi", "sbfiz", "ubfiz"), "insertion"),
}
"""{mnemonic: codec of its two immediates}."""

_SHIFTED = re.compile(r"(lsl|lsr|asr|ror|msl|uxtb|uxth|uxtw|uxtx|sxtb|sxth|sxtw|sxtx) (\d+)")
_ELEMENT = re.compile(r"\[(\d+)\]$")
_PARTS_OF_ADDRESS = re.compile(r"#?\{([a-z]+)(32)?\}|#0")
_NUMBERED = re.compile(r"(?<=[ ,])\d+(?=[,\]:]|$)")

_POWERS = [1 << bit for bit in range(32)]
_SMALL_CODECS = [
    *(f"unsigned {bits}" for bits in range(1, 8)),
    *(f"difference {bits} {1 << bits}" for bits in range(3, 7)),
    *("left 64", "left 32"),
]
_SHIFT_CODECS = [
    "unsigned 6",
    "unsigned 5",
    "unsigned 2 16",
    "unsigned 1 16",
    "unsigned 2 8",
    "unsigned 1 8",
    "unsigned 1 8 8",
]
_FEW_BITS = "unsigned 3 1 0 4"
_OFFSETS = [
    *(
        f"{kind} {scale}"
        for scale in (1, 2, 4, 8, 16, 32)
        for kind in ("unsigned 12", "signed 9", "signed 7")
    ),
]
_DISTANCES = ["signed 14 4", "signed 19 4", "signed 26 4"]


def templates(schemes: Collection[Scheme], forms: Mapping[str, OperandForm]) -> dict[str, Template]:
    """{text of a scheme: its template}."""
    texts = {scheme.text for scheme in schemes}
    siblings: dict[str, set[str]] = {}
    for text in texts:
        siblings.setdefault(_NUMBERED.sub("*", text), set()).add(text)
    return {
        scheme.text: _template(scheme, forms, siblings[_NUMBERED.sub("*", scheme.text)]) for scheme in schemes
    }


def _template(scheme: Scheme, forms: Mapping[str, OperandForm], siblings: Collection[str]) -> Template:
    parts: list[str] = []
    slots: list[Slot] = []
    explicit = [operand for operand in scheme.operands if not operand.implicit]
    is_bit_field = scheme.mnemonic in BIT_FIELDS
    for place, operand in enumerate(explicit, start=1):
        if is_bit_field and place == len(explicit):
            continue  # together with the one before
        form = forms[operand.name]
        if is_bit_field and place == len(explicit) - 1:
            operand_slots = [_bit_field(f"{place},{place + 1}", scheme.mnemonic, scheme.width)]
            part = "{}"
        elif operand.kind == "memory":
            part, operand_slots = _memory(place, form, len(slots))
        elif form.bank:
            part, operand_slots = _register(place, form, len(slots), len(siblings) > 1)
        else:
            part, operand_slots = _other(place, operand.name, form, siblings)
        for slot in operand_slots:
            part = part.replace("{}", f"{{{len(slots)}}}", 1)
            slots.append(slot)
        parts.append(part)
    return Template(f"{scheme.mnemonic} {', '.join(parts)}".rstrip(), slots)


def _register(place: int, form: OperandForm, number: int, is_ambiguous: bool) -> tuple[str, list[Slot]]:
    """The slots of a register and its element; `number`: of slots before, so that registers differ."""
    slots = [Slot(f"{place}", *_numbers(form, number))]
    element = _ELEMENT.search(form.assembly)
    if element is None:
        return "{}", slots
    if is_ambiguous and element[1] == "0":
        return f"{{}}{element[0]}", slots  # another scheme has all others
    elements = 128 // form.width
    samples: dict[Hashable, str] = {value: f"[{value}]" for value in (int(element[1]), *range(elements))}
    codecs = [f"unsigned {bits}" for bits in range(elements.bit_length() - 1, 0, -1)]
    return "{}{}", [*slots, Slot(f"{place} element", samples, codecs, optional=True)]


def _numbers(form: OperandForm, number: int) -> tuple[dict[Hashable, str], list[str]]:
    assembly = _ELEMENT.sub("", form.assembly)
    highest = min(form.registers_below, 32)
    first = (3 + 6 * number) % 13

    def text(register: int) -> str:
        return assembly.format(*((register + k) % 32 for k in range(form.span)))

    if form.bank == "vector":
        return {register % highest: text(register % highest) for register in range(first, first + highest)}, [
            f"register {highest.bit_length() - 1}"
        ]
    samples: dict[Hashable, str] = {
        register % 31: text(register % 31) for register in range(first, first + 31)
    }
    letter = form.assembly[0]
    samples |= {ZERO_REGISTER: f"{letter}zr", STACK_POINTER: "sp" if letter == "x" else "wsp"}
    return samples, ["zero 5", "pointer 5"]


def _memory(place: int, form: OperandForm, number: int) -> tuple[str, list[Slot]]:
    """The slots of an address; `number`: of slots before."""
    if form.assembly.startswith("#"):
        return "{}", [Slot(f"{place} offset", _distances(), _DISTANCES)]
    slots: list[Slot] = []

    def replaced(match: re.Match[str]) -> str:
        if match[1] in {"memory", "base", "index"}:
            register = OperandForm(
                "register", 64, bank="general", assembly=f"{'w' if match[2] else 'x'}{{0}}"
            )
            part = "index" if match[1] == "index" else "base"
            slots.append(Slot(f"{place} {part}", *_numbers(register, number + len(slots))))
        else:
            slots.append(Slot(f"{place} offset", _offsets(), _OFFSETS))
        return "{}"

    return _PARTS_OF_ADDRESS.sub(replaced, form.assembly), slots


def _offsets() -> dict[Hashable, str]:
    values = [64, *range(260), *(sign * power for power in _POWERS[:16] for sign in (1, -1))]
    values += [-value for value in range(256)] + [multiple * 16 for multiple in range(4096)][::63]
    return {value: f"#{value}" for value in values}


def _distances() -> dict[Hashable, str]:
    values = [1024, *(4 * sign * power for power in _POWERS[:25] for sign in (1, -1)), 0, 68, -76, 4444]
    return {value: f"#{value}" for value in values}


def _other(place: int, name: str, form: OperandForm, siblings: Collection[str]) -> tuple[str, list[Slot]]:
    if shifted := _SHIFTED.fullmatch(name):
        word, amount = shifted[1], int(shifted[2])
        values = [amount, *range(64)]
        samples: dict[Hashable, str] = {value: f"{word} #{value}" for value in values}
        return "{}", [Slot(f"{place}", samples, _codecs_of_shift(word, amount, siblings), optional=True)]
    maker = _SAMPLES.get(name)
    if maker is None:
        return form.assembly, []
    samples, codecs = maker()
    return "{}", [Slot(f"{place}", samples, codecs)]


def _codecs_of_shift(word: str, amount: int, siblings: Collection[str]) -> list[str]:
    if word[1:3] == "xt":
        return [_FEW_BITS]
    if len(siblings) == 1:
        return _SHIFT_CODECS
    if all(text.endswith(("lsl 3", "lsl 12")) for text in siblings):
        return [_FEW_BITS] if amount == 3 else ["unsigned 6", "unsigned 5"]
    return []


def _bit_field(place: str, mnemonic: str, width: int) -> Slot:
    sizes = sorted({1, 2, 3, 5, 8, 9, 17, width // 2, width - 1, width})
    lows = sorted({0, 1, 2, 4, 7, 8, 16, 32, 61, width // 2 - 1, width - 1})
    pairs = [(3, 7), *((low, size) for low in lows for size in sizes if low < width and low + size <= width)]
    pairs += [(low, 2) for low in range(width - 1)]
    return Slot(
        place, {pair: f"#{pair[0]}, #{pair[1]}" for pair in pairs}, [f"{BIT_FIELDS[mnemonic]} {width}"]
    )


_Samples = tuple[dict[Hashable, str], list[str]]


def _number(values: Iterator[int] | Collection[int], codecs: list[str]) -> Callable[[], _Samples]:
    return lambda: ({value: f"#{value}" for value in values}, codecs)


def _wide(bits: int, first: int) -> Callable[[], _Samples]:
    values = [first, *(power for power in _POWERS[:bits]), 0, (1 << bits) - 1, 5, 77]
    return _number(values, [f"unsigned {bits}"])


def _constants(width: int, first: int) -> Callable[[], _Samples]:
    codec = mask(width)
    values = (codec.decode(field) for field in range(1 << codec.bits))
    constants = [value for value in values if value is not None and not is_wide(value, width)][::7]
    return _number([first, *constants], [f"mask {width}"])


def _floats() -> _Samples:
    codec = floating()
    values = [20.0, *(codec.decode(field) for field in range(256))]
    return {value: f"#{value!r}" for value in values}, ["floating"]


def _byte_masks() -> _Samples:
    codec = byte_mask()
    values = [0xFF00FF00FF00FF00, *(codec.decode(field) for field in range(256))]
    return {value: f"#{value:#x}" for value in values}, ["bytes"]


def _conditions() -> _Samples:
    return {number: CONDITIONS[number] for number in (3, *range(16))}, ["condition", "condition 1"]


def _system_registers() -> _Samples:
    values = [0x5E02, *_POWERS[:15], 0x7FFF]
    return {
        value: f"S{2 + (value >> 14)}_{value >> 11 & 7}_C{value >> 7 & 15}_C{value >> 3 & 15}_{value & 7}"
        for value in values
    }, ["unsigned 15"]


def _pages() -> _Samples:
    values = [4096, *(4096 * sign * power for power in _POWERS[:20] for sign in (1, -1)), 0]
    return {value: f"#{value}" for value in values}, ["signed 21 4096"]


def _addresses() -> _Samples:
    values = [1024, *(sign * power for power in _POWERS[:20] for sign in (1, -1)), 0, 77]
    return {value: f"#{value}" for value in values}, ["signed 21"]


_SAMPLES: Mapping[str, Callable[[], _Samples]] = {
    "IMM[12]": _wide(12, 1365),
    "IMM[16]": _wide(16, 0x6C07),
    "IMM[8]": _wide(8, 0x53),
    "IMM[nzcv]": _wide(4, 4),
    **{f"IMM[{bits}]": _number([3, *range(128)], _SMALL_CODECS) for bits in (3, 4, 5, 6)},
    "IMM[mask,64]": _constants(64, 0xFF00FF00FF00FF),
    "IMM[mask,32]": _constants(32, 0xFF00FF),
    "IMM[float]": _floats,
    "IMM[bytes]": _byte_masks,
    "IMM[7]": _number([6, *range(128)], ["unsigned 7"]),
    "IMM[prefetch]": _number(range(32), ["unsigned 5"]),
    "IMM[rotation]": _number([90, 0, 180, 270], ["unsigned 2 90", "unsigned 1 180 90"]),
    "COND": _conditions,
    "sysreg": _system_registers,
    "ADDR[pc]": _addresses,
    "ADDR[pc,page]": _pages,
    **{f"REL[{bits}]": lambda: (_distances(), _DISTANCES) for bits in (28, 21, 16)},
}


_CPU = "generic"
_FEATURES = ",".join(
    f"+{feature}"
    for feature in (
        *("v8.5a", "crypto", "sha3", "sm4", "fullfp16", "fp16fml", "dotprod", "lse", "rdm", "rcpc"),
        *("jsconv", "complxnum", "i8mm", "bf16", "mte"),
    )
)
"""All that the document has forms of."""


def learn_document() -> LearntDocument:
    """The document with the encodings that llvm-mc uses. Raises `AssemblerError`."""
    instructions = instruction_set()
    forms = [*instructions.schemes, *(extra.form for extra in instructions.further)]
    return learning.learn_document(DOCUMENT, templates(forms, instructions.forms), _assemble, A64_CODECS)


def _assemble(lines: Sequence[str]) -> list[int | None]:
    return learning.assembled_words(lines, TRIPLE, _CPU, _FEATURES)
