"""Reads names of x86 schemes in different styles into one comparable form.

Five styles are understood:

- manuals': `add r64, imm8`;
- the scheme texts of this project, `add GPR[64]:RW, IMM[8]:R`, and the papers, `add ⟨GPR[64]⟩RW, ⟨IMM[8]⟩R`;
- PMEvo's: `ADD_((REG:RW:G:64)),_qword_ptr_[((MEM:64))_+_((MIMM:16))]`;
- iwho's, after uops.info: `add RW:GPR:64, qword ptr R:MEM(64)`, where sets of registers are spelt out;
- Palmed's, after Intel XED: `ADD_GPR64i64_MEM64i64`, each operand with the type of its elements.

Styles also differ in how they describe a scheme: iwho omits the `1` of a shift by one, writes `xmm0` where it
is implied, and gives each comparison predicate its own mnemonic. `variants` cover that.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from inference.isa import pmevo_aarch64 as aarch64_names

Key = tuple[str, tuple[str, ...]]
"""Prefixes and mnemonic, and the operands without their accesses; all in lower case."""

MAX_NAME = 400
"""Characters; longer names are no scheme names, and not read."""

MAX_OPERANDS = 8
"""More than any instruction has; it limits the number of variants of a name."""

_PREFIXES = frozenset({"lock", "rep", "repe", "repne", "repz", "repnz", "data16", "rex.w", "{evex}", "{vex}"})
"""Words before the mnemonic that belong to the head of a name."""

_SAME_PREFIX = {"repz": "repe", "repnz": "repne"}
"""Synonyms: the one on the right is kept."""

_SAME_REPEAT = {"rep": "repe", "repe": "rep"}
"""One prefix byte, whose name depends on whether the string instruction compares flags."""

_SAME_MNEMONIC = {"retfq": "rex.w retf", "movabs": "mov"}
"""Mnemonics of single styles, and what the others write."""

# Synonyms of condition codes: "setnae" is "setb".
_SAME_CONDITION = {
    "c": "b", "nae": "b", "nb": "ae", "nc": "ae", "z": "e", "nz": "ne", "na": "be", "nbe": "a",
    "pe": "p", "po": "np", "nge": "l", "nl": "ge", "ng": "le", "nle": "g",
}  # fmt: skip
_CONDITIONAL = re.compile(rf"(j|set|cmov)({'|'.join(_SAME_CONDITION)})")

# Names of the comparison predicates 0 to 31 of (v)cmp, which iwho makes part of the mnemonic.
_PREDICATES = (
    "eq", "lt", "le", "unord", "neq", "nlt", "nle", "ord", "eq_uq", "nge", "ngt", "false", "neq_oq", "ge",
    "gt", "true", "eq_os", "lt_oq", "le_oq", "unord_s", "neq_us", "nlt_uq", "nle_uq", "ord_s", "eq_us",
    "nge_uq", "ngt_uq", "false_os", "neq_os", "ge_oq", "gt_oq", "true_us",
)  # fmt: skip
_PREDICATE_NUMBER = {name: number for number, name in enumerate(_PREDICATES)}
_COMPARISON = re.compile(r"(v?cmp)(\w+?)(p[sdh]|s[sdh])")

# Bits of the memory operand behind "qword ptr".
_POINTER_WIDTH = {
    "byte": 8, "word": 16, "dword": 32, "qword": 64, "xmmword": 128, "ymmword": 256, "zmmword": 512,
}  # fmt: skip
_POINTER = "|".join(_POINTER_WIDTH)


@dataclass(frozen=True, slots=True)
class SchemeNameParts:
    """The parts of a scheme name: `head` is prefixes and mnemonic, `operands` are spelt as in scheme texts.

    `accesses` has one entry per operand, "" where the name does not say. Operands that are not `understood`
    are kept as written: they suffice to search for similar names, not to identify a scheme. `mark`: a name in
    this style belongs only to instruction sets with a scheme text that contains it.
    """

    head: str
    operands: tuple[str, ...]
    accesses: tuple[str, ...]
    understood: bool = True
    mark: str = ""

    @property
    def mnemonic(self) -> str:
        return self.head.rpartition(" ")[2]

    @property
    def key(self) -> Key:
        """The part of a name that is equal for all names of a scheme: it omits accesses."""
        return self.head, self.operands

    def variants(self) -> Iterator[Key]:
        """Possible keys of the same scheme, the most literal one first."""
        for head, operands in self._spellings():
            yield from ((head, choice) for choice in product(*map(_operand_variants, operands)))

    def _spellings(self) -> Iterator[Key]:
        """The keys under which other styles list the same instruction, the own one first."""
        yield self.key
        prefix, blank, mnemonic = self.head.rpartition(" ")
        if conditional := _CONDITIONAL.fullmatch(mnemonic):
            yield prefix + blank + conditional[1] + _SAME_CONDITION[conditional[2]], self.operands
        comparison = _COMPARISON.fullmatch(mnemonic)
        if comparison and comparison[2] in _PREDICATE_NUMBER:
            number = f"0x{_PREDICATE_NUMBER[comparison[2]]:x}"
            yield prefix + blank + comparison[1] + comparison[3], (*self.operands, number)
        if mnemonic in _SAME_MNEMONIC:
            yield prefix + blank + _SAME_MNEMONIC[mnemonic], self.operands
        if self.operands[-1:] == ("xmm0",):
            yield self.head, self.operands[:-1]
        if mnemonic == "xchg":
            yield self.head, self.operands[::-1]
        if prefix in _SAME_REPEAT:
            yield _SAME_REPEAT[prefix] + blank + mnemonic, self.operands
        if mnemonic.startswith("f") and self.operands[:1] == ("st0",):  # what x87 code leaves unsaid
            yield self.head, self.operands[1:]


def _operand_variants(operand: str) -> tuple[str, ...]:
    """What scheme texts may write for an operand, the most literal first."""
    if operand == "rel":
        return "rel[32]", "rel[8]"
    if operand == "mem[512]":  # a cache line, as uops.info sees prefetches
        return operand, "mem[8]"
    if operand in aarch64_names.CLASSES:
        return aarch64_names.CLASSES[operand]
    if operand in {"gpr[8a]", "gpr[8b]"}:
        return operand, "gpr[8]"
    if operand in _ABSOLUTE:
        return operand, _ABSOLUTE[operand]
    return (operand,)


def reduced(key: Key) -> Key:
    """The key without fixed operands: memory at a fixed register, the `1` of a shift by one."""
    head, operands = key
    return head, tuple(name for name in operands if name != "0x1" and not _FIXED_MEMORY.fullmatch(name))


_ABSOLUTE = {f"mem[{width}]": f"moffs[{width}]" for width in (8, 16, 32, 64)}
"""Memory operands that may be the absolute address of `mov`, which other styles do not distinguish."""

_FIXED_MEMORY = re.compile(r"mem\[\d+,r[^]]*\]")
"""Memory at a fixed register, as string instructions have: `mem[8,rdi]`."""


def squeezed(name: str) -> str:
    """The name without insignificant differences: case, blanks, typographic letters.

    >>> squeezed("ADD  GPR[64] , GPR[64]")
    'add gpr[64],gpr[64]'
    """
    text = unicodedata.normalize("NFKC", name[:MAX_NAME]).casefold()
    return _AROUND_PUNCTUATION.sub(r"\1", " ".join(text.split()))


_AROUND_PUNCTUATION = re.compile(r" ?([,:\[\]()+*⟨⟩<>]) ?")


def read(name: str) -> SchemeNameParts | None:
    """Take a name apart; None for an empty name or one longer than `MAX_NAME`. It never raises.

    >>> read("ADD_GPR64i64_MEM64i64").operands
    ('gpr[64]', 'mem[64]')
    """
    if not name or len(name) > MAX_NAME:
        return None
    normalized = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    if "((" in normalized or "_ptr_" in normalized:
        return _read_pmevo(normalized)
    if _PALMED.fullmatch(normalized):
        return _read_palmed(normalized)
    head, operand_text = _head(normalized)
    if not head:
        return None
    return _read_iwho(head, operand_text) if _IWHO.search(operand_text) else _read_text(head, operand_text)


def _head(plain: str) -> tuple[str, str]:
    """Prefixes and mnemonic, and the text of the operands behind them."""
    words = plain.split(" ")
    count = 0
    while count < len(words) - 1 and words[count] in _PREFIXES:
        count += 1
    prefixes = [_SAME_PREFIX.get(word, word) for word in words[:count] if word != "{vex}"]
    return " ".join((*prefixes, words[count])), " ".join(words[count + 1 :])


_COMMA_OUTSIDE = re.compile(r",(?![^\[]*\])")  # bounded: a scheme's name has at most 500 characters
"""A comma that is not in brackets."""


def _read_text(head: str, operand_text: str) -> SchemeNameParts | None:
    """Read a name in the style of scheme texts."""
    return _reading(head, _COMMA_OUTSIDE.split(operand_text) if operand_text else [], _text_operand)


def _reading(
    head: str, parts: Sequence[str], operand: Callable[[str], tuple[str, str] | None]
) -> SchemeNameParts | None:
    """Read a name part by part; None without a head.

    Args:
        head: Prefixes and mnemonic.
        parts: The operands as written; those beyond `MAX_OPERANDS` are dropped.
        operand: (operand, access) of a part; None for one that it does not understand, which is kept as is.
    """
    if not head:
        return None
    pairs = [(part, operand(part.strip())) for part in parts[:MAX_OPERANDS]]
    names = [pair or (part, "") for part, pair in pairs]
    understood = len(parts) <= MAX_OPERANDS and all(pair is not None for _, pair in pairs)
    return SchemeNameParts(
        head, tuple(name for name, _ in names), tuple(access for _, access in names), understood
    )


_MANUALS = re.compile(r"(r|m|imm|rel)(8|16|32|64|80|128|256|512)")
_CLASSES = {"r": "gpr", "m": "mem"}
"""{class of operands in manuals: in scheme texts}; the others are the same."""


def _text_operand(part: str) -> tuple[str, str] | None:
    """`⟨GPR[64]⟩RW`, `GPR[64]:RW` or `r64` as (operand, access)."""
    if part.startswith(("⟨", "<")):
        name, _, access = part[1:].replace(">", "⟩").partition("⟩")
    else:
        name, _, access = part.partition(":")
    access = access.strip(" :_{}")
    name = name.replace(" ", "")
    if manual := _MANUALS.fullmatch(name):
        name = f"{_CLASSES.get(manual[1], manual[1])}[{manual[2]}]"
    return (name, access) if name and access in {"", "r", "w", "rw"} else None


_PMEVO_POINTER = re.compile(rf"({_POINTER})_ptr_\[.*\]")
_PMEVO_HOLE = re.compile(r"\(\((?:reg:(rw|r|w):([gv]):(\d+)|imm:(\d+)|div:(\d+))\)\)")
"""A placeholder that PMEvo fills: a general or vector register with its access, an immediate, a divisor."""

# Terms of an address, as letters: base, index, scaled index, displacement (of 8 bits, or of any size).
_PMEVO_TERMS = {
    "((mem:64))": "B",
    "2*((div:64))": "S*I",
    "((div:64))": "I",
    "((imm:8))": "D8",
    "((mimm:16))": "D",
}
_PMEVO_COMMA = re.compile(r",_(?![^\[]*\])")  # bounded: a scheme's name has at most 500 characters
"""Like `_COMMA_OUTSIDE`; PMEvo writes an underscore for a blank."""

_VECTOR = {"64": "mm", "128": "xmm", "256": "ymm", "512": "zmm"}


def _read_pmevo(plain: str) -> SchemeNameParts | None:
    """Read a name in PMEvo's style, of x86 or AArch64."""
    is_aarch64 = plain.startswith("_")  # so begin PMEvo's names for AArch64
    mnemonic, _, operand_text = plain.replace(" ", "").lstrip("_").partition("_")
    if is_aarch64:
        parts = _PMEVO_COMMA.split(operand_text) if operand_text else []
        kinds = dict(zip(parts, aarch64_names.operands(mnemonic, parts), strict=True))
        reading = _reading(aarch64_names.SAME_MNEMONIC.get(mnemonic, mnemonic), parts, kinds.get)
        return None if reading is None else replace(reading, mark=aarch64_names.MARK)
    return _reading(mnemonic, operand_text.split(",_") if operand_text else [], _pmevo_operand)


def _pmevo_operand(part: str) -> tuple[str, str] | None:
    """(operand, access) of a placeholder, or of an address with or without the width of its memory."""
    if pointer := _PMEVO_POINTER.fullmatch(part):
        return f"mem[{_POINTER_WIDTH[pointer[1]]}]", ""
    if part.startswith("_[") and part.endswith("]"):
        return _pmevo_address(part[2:-1])
    hole = _PMEVO_HOLE.fullmatch(part)
    if hole is None:
        return None
    access, file, width, immediate, divisor = hole.groups()
    if immediate:
        return f"imm[{immediate}]", "r"
    if file == "v":
        return (_VECTOR[width], access) if width in _VECTOR else None
    # A "divisor" is a register that must not hold 0.
    return f"gpr[{width or divisor}]", access or "r"


def _pmevo_address(inside: str) -> tuple[str, str] | None:
    """The operand of an address that is computed but not accessed, by the shape of its sum."""
    parts = [_PMEVO_TERMS.get(term.strip("_")) for term in inside.split("+")]
    if None in parts:
        return None
    shape = "+".join(part for part in parts if part)
    if shape == "B+D":  # what every other memory operand of PMEvo looks like
        return "addr", ""
    if "B" not in parts and parts[-1] == "D8":  # without a base register there are always 32 bits
        shape = shape.removesuffix("8")
    return f"addr[{shape.lower()}]", ""


_IWHO = re.compile(
    rf"(?:^|, |(?:{_POINTER}) ptr )(?:rw|r|w):[a-z\[]|imm\(\d+\)|mem\(\d+\)|(?:^|, )sym$|^0x\w+$"
)
_IWHO_OPERAND = re.compile(rf"(?:({_POINTER}) ptr )?(rw|r|w):(.+)")
_IWHO_CLASS = re.compile(
    r"gpr:(\d+)|([xyz]mm)0\.\.\d+|(fpmm):64|(segment):16|mem\((\d+)\)|(?:\w\w:)?\[(r\w+)\]"
)
_IWHO_UNMARKED = re.compile(r"imm\((\d+)\)|(0x[0-9a-f]+)|(mem\(0\))|(sym)")

_LOW_CODES = frozenset({"al", "cl", "dl", "bl", "r8b", "r9b", "r10b", "r11b"})
"""Byte registers with a code of 0 to 3 in the three bits of an encoding: class `gpr[8a]`."""

_HIGH_CODES = frozenset({"spl", "bpl", "sil", "dil", "r12b", "r13b", "r14b", "r15b"})
"""Byte registers with a code of 4 to 7, where `ah` to `bh` are without a REX prefix: class `gpr[8b]`."""

_WITHOUT_REX = frozenset({"al", "cl", "dl", "bl"})
"""Low bytes that are encoded without a REX prefix."""

_REGISTER_SETS = {
    frozenset({"ah", "bh", "ch", "dh"}): "gpr[8h]",
    _WITHOUT_REX: "gpr[8]",
    _LOW_CODES: "gpr[8a]",
    _HIGH_CODES: "gpr[8b]",
    _LOW_CODES | _HIGH_CODES: "gpr[8]",
    frozenset({"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"}): "gpr[16]",
    frozenset({"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"}): "gpr[32]",
    frozenset({"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"}): "gpr[64]",
    frozenset({"ds", "es", "fs", "gs", "ss"}): "seg",
}


def register_class(names: frozenset[str]) -> str | None:
    """The operand name for a set of registers (in lower case), None for a set that no scheme has."""
    return _REGISTER_SETS.get(names)


def _read_iwho(head: str, operand_text: str) -> SchemeNameParts | None:
    """Read a name in iwho's style."""
    return _reading(head, operand_text.split(", "), _iwho_operand)


def _iwho_operand(part: str) -> tuple[str, str] | None:
    """(operand, access) of `qword ptr R:MEM(64)`, or of an operand without access such as `IMM(8)`."""
    if unmarked := _IWHO_UNMARKED.fullmatch(part):
        immediate, literal, address, _ = unmarked.groups()
        if immediate:
            return f"imm[{immediate}]", "r"
        return (literal or ("addr" if address else "rel")), ""
    match = _IWHO_OPERAND.fullmatch(part)
    if match is None:
        return None
    pointer, access, registers = match.groups()
    name = _iwho_name(registers, _POINTER_WIDTH.get(pointer, 0))
    return (name, access) if name else None


def _iwho_name(registers: str, width: int) -> str | None:
    """The operand for what iwho lists behind an access; `width` in bits, of memory at a fixed register."""
    if "," in registers:
        return register_class(frozenset(registers.split(",")))
    match = _IWHO_CLASS.fullmatch(registers)
    if match is None:
        return registers if registers.isalnum() else None  # a fixed register
    general, vector, mmx, segment, memory, fixed_base = match.groups()
    if general:
        return f"gpr[{general}]"
    if memory:
        return f"mem[{memory}]"
    if fixed_base:
        return f"mem[{width},{fixed_base}]"
    return vector or ("mm" if mmx else "seg" if segment else None)


_PALMED = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_PALMED_OPERAND = re.compile(
    r"(?:gpr(?P<gpr>8|16|32|64)(?:norex)?|vr(?P<vector>64|128|256)|(?P<memory>mem)64|(?P<address>addr)\d+"
    r"|imm(?=[iu](?P<imm>\d+))|(?P<fixed>[re]?[a-d]x|[a-d]l))[iuf](?P<element>\d+)(?:x(?P<lanes>\d+))?"
)


def _read_palmed(plain: str) -> SchemeNameParts | None:
    """Read a name in Palmed's style; in it, `cmpsd_xmm` is `cmpsd` on vectors, no string instruction."""
    mnemonic, *operands = plain.replace("_xmm_", "_", 1).split("_")
    return _reading(mnemonic, operands, _palmed_operand)


def _palmed_operand(part: str) -> tuple[str, str] | None:
    """The operand with an empty access, which these names lack."""
    if part == "one":
        return "0x1", ""
    match = _PALMED_OPERAND.fullmatch(part)
    if match is None:
        return None
    if match["memory"]:
        return f"mem[{int(match['element']) * int(match['lanes'] or 1)}]", ""
    if match["vector"]:
        return _VECTOR[match["vector"]], ""
    for kind in ("gpr", "imm"):
        if match[kind]:
            return f"{kind}[{match[kind]}]", ""
    return ("addr" if match["address"] else match["fixed"]), ""
