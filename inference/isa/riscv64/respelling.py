"""Pseudo-instructions of RISC-V's assembly as the instructions that they stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from inference.isa.riscv64.spelling import CSRS, OTHER_OPERAND, WRITTEN_OPERANDS, vtype_number
from inference.isa.riscv64.vector.respelling import EXPANSIONS as VECTOR_EXPANSIONS

Statement = tuple[str, Sequence[str]]
"""Mnemonic and operands, as they are written."""

_Expansion = Callable[[Sequence[str]], Sequence[Statement] | None]

_PLACE = re.compile(r"\{(\d)")
_IN_PARENTHESES = re.compile(r"([^()]*)\((\w+)\)")
_ALL_ACCESSES = "iorw"
_LOW_BITS, _MEDIUM_BITS = 12, 32


def integer(text: str) -> int | None:
    """A written number; None for another text.

    >>> integer("-0x10"), integer("010"), integer("%lo(x)")
    (-16, 8, None)
    """
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    digits = match[2].lower()
    base = 16 if digits.startswith("0x") else 2 if digits.startswith("0b") else 8 if digits[0] == "0" else 10
    value = int(digits, base)
    return -value if match[1] == "-" else value


_INTEGER = re.compile(r"([+-]?)(0x[0-9a-f]{1,16}|0b[01]{1,64}|0[0-7]{0,22}|[1-9]\d{0,19})", re.IGNORECASE)


def respelled(mnemonic: str, operands: Sequence[str]) -> list[Statement]:
    """The instructions of a statement: itself where it is no pseudo-instruction."""
    expansion = _EXPANSIONS.get(mnemonic)
    statements = expansion(operands) if expansion is not None else None
    return [(mnemonic, operands)] if statements is None else list(statements)


def is_pseudo_instruction(mnemonic: str) -> bool:
    return mnemonic in _EXPANSIONS


def full_operands(mnemonic: str, operands: Sequence[str]) -> Sequence[str]:
    """The operands of a compressed instruction as they are without compression.

    >>> full_operands("c.add", ["a0", "a1"])
    ['a0', 'a0', 'a1']
    """
    written, _, unwritten = WRITTEN_OPERANDS[mnemonic].partition(" | ")
    parts = written.split(", ") if written else []
    if len(parts) != len(operands):
        return operands
    by_place = {
        int(match[1]): text
        for part, text in zip(parts, operands, strict=True)
        if (match := _PLACE.match(part)) is not None
    }
    for place, other in OTHER_OPERAND.findall(unwritten):
        if place.isdecimal():
            codec, _, number = other.rpartition(" ")
            fixed = number if other == "fixed 0" else f"x{number}"  # an immediate, or a register
            by_place[int(place)] = fixed if codec else by_place[int(number)]
    return [by_place[place] for place in sorted(by_place)]


def _pattern(*statements: str) -> _Expansion:
    """An expansion with `{0}`, `{1}` … for the operands, of which there must be exactly as many."""
    count = len({number for text in statements for number in re.findall(r"\{(\d)\}", text)})

    def expand(operands: Sequence[str]) -> list[Statement] | None:
        if len(operands) != count:
            return None
        return [_statement(text.format(*operands)) for text in statements]

    return expand


def _statement(text: str) -> Statement:
    mnemonic, _, operands = text.partition(" ")
    return mnemonic, operands.split(", ") if operands else []


def _jump_and_link(operands: Sequence[str]) -> list[Statement] | None:
    return [("jal", ["ra", *operands])] if len(operands) == 1 else None


def _jump_register(mnemonic: str) -> _Expansion:
    """`jalr` and `jr` with the register alone, with `offset(register)`, or with both apart."""

    def expand(operands: Sequence[str]) -> list[Statement] | None:
        *before, last = operands or [""]
        target = [last, "0"]
        if match := _IN_PARENTHESES.fullmatch(last):
            target = [match[2], match[1] or "0"]
        elif before and integer(last) is not None:
            target = [before.pop(), last]
        linked = ["ra"] if mnemonic == "jalr" and not before else []
        return [(mnemonic, [*linked, *before, *target])]

    return expand


def _with_immediate(mnemonic: str) -> _Expansion:
    """`add a0, a0, 1`, which is `addi`."""

    def expand(operands: Sequence[str]) -> list[Statement] | None:
        return [(mnemonic, operands)] if integer((*operands, *"xxx")[2]) is not None else None

    return expand


def _csr_write(name: str) -> _Expansion:
    """`csrw fcsr, a0` and, as GNU's disassembler prints `csrwi`, `csrw fcsr, 3`."""

    def expand(operands: Sequence[str]) -> list[Statement] | None:
        if len(operands) != 2:
            return None
        suffix = "" if integer(operands[1]) is None else "i"
        return [(f"csrr{name}{suffix}", ["zero", *operands])]

    return expand


def _load_immediate(operands: Sequence[str]) -> list[Statement] | None:
    """`li` of a number of more than 12 bits: `lui` and `addiw`."""
    value = integer(operands[1]) if len(operands) == 2 else None
    if value is None or -(1 << _LOW_BITS - 1) <= value < 1 << _LOW_BITS - 1:
        return None
    register = operands[0]
    value = (value + (1 << 63)) % (1 << 64) - (1 << 63)
    return list(_load_constant(register, value))


def _load_constant(register: str, value: int) -> Iterator[Statement]:
    """The upper bits of a number, shifted left, and the lowest 12 ones added."""
    low = (value + (1 << _LOW_BITS - 1)) % (1 << _LOW_BITS) - (1 << _LOW_BITS - 1)
    if -(1 << _MEDIUM_BITS - 1) <= value < 1 << _MEDIUM_BITS - 1:
        upper = (value - low >> _LOW_BITS) % (1 << 20)
        if upper:
            yield "lui", [register, str(upper)]
        if low or not upper:
            yield ("addiw", [register, register, str(low)]) if upper else ("li", [register, str(low)])
        return
    upper = value - low
    shift = (upper & -upper).bit_length() - 1
    yield from _load_constant(register, upper >> shift)
    yield "slli", [register, register, str(shift)]
    if low:
        yield "addi", [register, register, str(low)]


def _set_vector_type(mnemonic: str) -> _Expansion:
    """`vsetvli` and `vsetivli` with a mode in words, `e32, m1, ta, ma`."""

    def expand(operands: Sequence[str]) -> list[Statement] | None:
        number = vtype_number(", ".join(operands[2:]).lower())
        return None if number is None else [(mnemonic, [*operands[:2], str(number)])]

    return expand


_READ = {name: f"csrrs {{0}}, {name}, zero" for name in CSRS.values()}

_EXPANSIONS: Mapping[str, _Expansion] = {
    "move": _pattern("mv {0}, {1}"),
    "mv": lambda operands: [("li", [operands[0], "0"])] if operands[1:] in (["zero"], ["x0"]) else None,
    "sext.w": _pattern("addiw {0}, {1}, 0"),
    "zext.b": _pattern("andi {0}, {1}, 255"),
    "zext.w": _pattern("add.uw {0}, {1}, zero"),
    "not": _pattern("xori {0}, {1}, -1"),
    "neg": _pattern("sub {0}, zero, {1}"),
    "negw": _pattern("subw {0}, zero, {1}"),
    "seqz": _pattern("sltiu {0}, {1}, 1"),
    "snez": _pattern("sltu {0}, zero, {1}"),
    "sltz": _pattern("slt {0}, {1}, zero"),
    "sgtz": _pattern("slt {0}, zero, {1}"),
    "sgt": _pattern("slt {0}, {2}, {1}"),
    "sgtu": _pattern("sltu {0}, {2}, {1}"),
    **{f"{name}z": _pattern(f"{name} {{0}}, zero, {{1}}") for name in ("beq", "bne", "bge", "blt")},
    "blez": _pattern("bge zero, {0}, {1}"),
    "bgtz": _pattern("blt zero, {0}, {1}"),
    "bgt": _pattern("blt {1}, {0}, {2}"),
    "bgtu": _pattern("bltu {1}, {0}, {2}"),
    "ble": _pattern("bge {1}, {0}, {2}"),
    "bleu": _pattern("bgeu {1}, {0}, {2}"),
    "jal": _jump_and_link,
    "jalr": _jump_register("jalr"),
    "jr": _jump_register("jr"),
    "fence": lambda operands: None if operands else [("fence", [_ALL_ACCESSES] * 2)],
    "call": _pattern("auipc ra, %pcrel_hi({0})", "jalr ra, ra, %pcrel_lo({0})"),
    "tail": _pattern("auipc t1, %pcrel_hi({0})", "jr t1, %pcrel_lo({0})"),
    **{
        name: _pattern("auipc {0}, %pcrel_hi({1})", "addi {0}, {0}, %pcrel_lo({1})") for name in ("la", "lla")
    },
    "li": _load_immediate,
    **{name: _with_immediate(f"{name}i") for name in ("add", "and", "or", "xor", "sll", "srl", "sra", "slt")},
    **{
        name: _with_immediate(immediate)
        for name, immediate in (("sltu", "sltiu"), ("addw", "addiw"), ("sllw", "slliw"), ("srlw", "srliw"))
    },
    "sraw": _with_immediate("sraiw"),
    "ror": _with_immediate("rori"),
    "rorw": _with_immediate("roriw"),
    **{name: _set_vector_type(name) for name in ("vsetvli", "vsetivli")},
    **{
        f"f{name}.{letter}": _pattern(f"f{other}.{letter} {{0}}, {{2}}, {{1}}")
        for name, other in (("gt", "lt"), ("ge", "le"))
        for letter in "sdh"
    },
    "fmv.x.s": _pattern("fmv.x.w {0}, {1}"),
    "fmv.s.x": _pattern("fmv.w.x {0}, {1}"),
    "csrr": _pattern("csrrs {0}, {1}, zero"),
    **{f"csrr{name}": _with_immediate(f"csrr{name}i") for name in "wsc"},
    **{f"csr{name}": _csr_write(name) for name in "wsc"},
    **{f"csr{name}i": _pattern(f"csrr{name}i zero, {{0}}, {{1}}") for name in "wsc"},
    **{f"rd{name}": _pattern(_READ[name]) for name in ("cycle", "time", "instret")},
    **{f"fr{name[1:]}": _pattern(_READ[name]) for name in ("fflags", "frm", "fcsr")},
    **{f"fs{name[1:]}": _pattern(f"csrrw zero, {name}, {{0}}") for name in ("fflags", "frm", "fcsr")},
    **VECTOR_EXPANSIONS,
}
"""{mnemonic: its expansion, None where the operands are those of an instruction}."""
