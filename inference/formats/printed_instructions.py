"""Schemes of x86 instructions as tables print them: `ADD r64, [m64]`, `VADDPS xmm1, xmm1, xmm2`.

Operands are classes, not registers of a program. A number behind a class (`r1_32`, `xmm2`) tells registers
apart; without one, every operand of the class is the same register.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from inference.formats.document import PairEntry
from inference.formats.measured_rows import LARGEST_OF_SOURCES, pairs_of_sources
from inference.isa.names import SchemeNames
from inference.isa.scheme import TIMED_BY_VALUES, Scheme
from inference.isa.targets import target_of

MAX_LENGTH = 120
"""Characters of an instruction; longer texts are none."""

NO_SCHEME = "the instruction set has no such scheme"
_TOKEN = re.compile(r"(?:\[[^\]]{0,60}\]|<[^>]{0,20}>|[^,\s\[{]+)(?: ?\{[kz]\}){0,2}|\{[kz]\}")
_PREFIXES = frozenset({"lock", "rep", "repe", "repne", "{evex}"})
_SAME_MNEMONIC = {
    "aeskeygen": "aeskeygenassist",
    "vaeskeygen": "vaeskeygenassist",
    "vptestps": "vtestps",
    "vptestpd": "vtestpd",
}
_MOVD = re.compile(r"(?:\{evex\} )?v?movd")
_MOVE = re.compile(r"v?mov(?:[au]p[sd]|dq[au]\d{0,2}|q)?")
_STRING = re.compile(r"(?:lods|stos|scas)([bwdq])")
_ACCUMULATORS = {"b": "al", "w": "ax", "d": "eax", "q": "rax"}
_IGNORED = frozenset({"{rex}", "{vex}"})
"""Words that say which encoding was measured, where both have one scheme."""

_SHORT_ADDRESS = "asp"

_GENERAL = re.compile(r"r(?:([12])_)?(8|16|32|64)(?:l|<)?")
_VECTOR = re.compile(r"([xyz])mm?_?(\d?)((?: ?\{[kz]\}){0,2})")
_OTHER = re.compile(r"(mm|k)_?\d?((?: ?\{[kz]\}){0,2})")
_MEMORY = re.compile(r"\[?m(?:em)?(8|16|32|64|80|128|256|512)(?:\+(\d+))?\]?((?: ?\{[kz]\}){0,2})")
_INDEXED = re.compile(r"\[([xyz])mm?(?:32|64)\]((?: ?\{[kz]\}){0,2})")
_SHIFT = re.compile(r"ro[lr]|rc[lr]|s[ah][lr]")
_ADDRESS = re.compile(r"\[(r(?:64|32)?)?(\+r(?:64|32)?)?(\*8)?(\+?disp(?:8|32))?\]")
_NAMES = (
    (_GENERAL, r"r\2"),
    (_VECTOR, r"\1mm\3"),
    (_OTHER, r"\1\2"),
    (_MEMORY, r"mem[\1]\3"),
    (re.compile("imm8_0"), "0x0"),
    (re.compile(r"imm?(8|16|32|64)(?:_0)?"), r"imm\1"),
    (re.compile(r"0x0?[0-9a-f]{5,8}"), "imm32"),
    (re.compile(r"[0-9]|[0-9a-f]{2}h"), "imm8"),
    (re.compile(r"<(xmm0)>"), r"\1"),
    (re.compile("st"), "st0"),
    (re.compile(r"st\(i\)"), "st"),
    (re.compile(r"[re]?[abcd]x|[abcd][lh]|[cdefgs]s"), r"\g<0>"),
)
"""Operands, and what scheme texts or manuals call them."""
_HALVES = re.compile(r"(?:ps|dd|qd)$")
"""Endings of gathers and scatters whose elements have 32 bits."""


_SEVERAL = re.compile(r"\+(?![^\[]{0,60}\])|pair$|^\d+x ?[a-z]|\.\.|[a-z]\d,[a-z]+\d [a-z]+ ")
"""Only in texts of several instructions: a plus outside of brackets, `LS pair`, `4xADDPS`, `xmm1..`."""


class UnmatchedInstructionError(Exception):
    """A text is no instruction with a scheme; the message says why."""


class SeveralInstructionsError(UnmatchedInstructionError):
    """A text is several instructions."""


@dataclass(frozen=True, slots=True)
class PrintedInstruction:
    """An instruction with a scheme.

    Attributes:
        scheme: Its scheme.
        operands: The operands as printed, in lower case.
        values: What the row is special in: the values of a division, as printed, or prefixes.
    """

    scheme: Scheme
    operands: tuple[str, ...]
    values: str = ""

    @property
    def displacement(self) -> int:
        """Bytes that are added to the address, which is aligned otherwise."""
        matches = (_MEMORY.fullmatch(_join_words(operand)) for operand in self.operands)
        return next((int(match[2] or 0) for match in matches if match), 0)

    @property
    def has_single_source(self) -> bool:
        """Whether several sources are one register."""
        explicit = [operand for operand in self.scheme.operands if not operand.implicit]
        sources = [
            _register(printed)
            for printed, operand in zip(self.operands, explicit, strict=False)
            if operand.kind == "register" and ("R" in operand.access or self.is_move)
        ]
        return len(sources) > len(set(sources)) == 1

    @property
    def is_move(self) -> bool:
        """Whether it moves a whole register."""
        return bool(_MOVE.fullmatch(self.scheme.mnemonic))

    def chained_pairs(self, isa: str, cycles: float) -> tuple[PairEntry, ...]:
        """The latencies that a chain of copies of this instruction shows; () where it shows none.

        With several sources in the register of the destination, the largest of their latencies is known: an
        upper bound of each. The register of a loaded value is that of its address, too.

        Args:
            isa: Instruction set of the scheme.
            cycles: Per copy.
        """
        explicit = [operand for operand in self.scheme.operands if not operand.implicit]
        written = ["W" in operand.access and operand.kind == "register" for operand in explicit]
        is_general = bool(explicit) and explicit[0].name.startswith("GPR")
        if not written or not written[0] or any(written[1:]) or (self.scheme.memory and not is_general):
            return ()
        maker = target_of(isa).chains
        links = [] if maker is None else maker.links_of(self.scheme.text)
        sources = [link.source for link in links if link.destination == "1" and self._is_chained(link.source)]
        ends = {(link.source, link.destination) for link in links}
        if {("1", "flags"), ("flags", "1")} <= ends:  # the chain may lead through the flags
            return tuple(PairEntry(source, "1", at_most=cycles, why=LARGEST_OF_SOURCES) for source in sources)
        return pairs_of_sources(sources, cycles, cycles)

    def _is_chained(self, source: str) -> bool:
        """Whether a source, as in a chain's link, is in the register of the destination."""
        number, _, part = source.partition(" ")
        if not number.isdecimal() or int(number) > len(self.operands) or part == "data":
            return False
        return bool(part) or _register(self.operands[int(number) - 1]) == _register(self.operands[0])


def _is_register(operand: str) -> bool:
    return any(kind.fullmatch(operand) for kind in (_GENERAL, _VECTOR, _OTHER))


def _register(operand: str) -> str:
    """The register of an operand, whatever its part: `v2` for `xmm2` and `ymm2{k}`, `r` for `r32`."""
    name = operand.partition("{")[0].strip()
    if general := _GENERAL.fullmatch(name):
        return f"r{general[1] or ''}"
    vector = _VECTOR.fullmatch(name)
    return f"v{vector[2]}" if vector else name


def _join_words(operand: str) -> str:
    return operand.replace(" ", "")


@cache
def _names(isa: str) -> tuple[SchemeNames, Mapping[str, Scheme]]:
    schemes = {scheme.text: scheme for scheme in target_of(isa).schemes.schemes()}
    return SchemeNames(schemes), schemes


def scheme_named(isa: str, mnemonic: str, operands: Iterable[str]) -> Scheme | None:
    """The scheme with operands in the style of manuals or of scheme texts; None where there is none."""
    names, schemes = _names(isa)
    text = names.resolve(f"{mnemonic} {', '.join(operands)}".strip())
    return None if text is None else schemes[text]


class InstructionReader:
    """Reads the instructions of one table, in its order.

    Args:
        isa: Instruction set of the schemes.
    """

    def __init__(self, isa: str) -> None:
        self._isa = isa
        self._rows: dict[str, list[PrintedInstruction]] = {}

    def rows_of(self, name: str) -> Iterable[PrintedInstruction]:
        """The instructions that were read with this mnemonic, as `{evex} vmovd`, the latest first."""
        return reversed(self._rows.get(name, []))

    def read(self, text: str) -> PrintedInstruction:
        """The scheme of a printed instruction.

        Args:
            text: For example `SUB r1_32, r2_32`, `{EVEX} VADDPS xmm, xmm, xmm` or `DIV r32 64/32b (full)`;
                with values alone, `DIVPS (x/2.0f)`, it has the operands of the latest one of its mnemonic.

        Raises:
            UnmatchedInstructionError: It has no scheme, or is several instructions.
        """
        if len(text) > MAX_LENGTH:
            raise UnmatchedInstructionError("it is too long for an instruction")
        printed = text.lower()
        if _SEVERAL.search(printed):
            raise SeveralInstructionsError("several instructions: it is not told which waits for which")
        words = [word for word in printed.replace("}", "} ").split() if word not in _IGNORED]
        head: list[str] = []
        while words and words[0] in _PREFIXES:
            head.append(words.pop(0))
        short = words[:1] == [_SHORT_ADDRESS]
        words = words[short:]
        if words[-2:] == ["0x66", "nop"]:
            words = ["nop", "prefixes"]
        if not words or not words[0].isalnum():
            raise UnmatchedInstructionError("it is no instruction")
        mnemonic = _SAME_MNEMONIC.get(words[0], words[0])
        tokens = [match[0] for match in _TOKEN.finditer(" ".join(words[1:]))]
        count = next((n for n, token in enumerate(tokens) if _name(token, mnemonic) is None), len(tokens))
        values = " ".join(tokens[count:])
        name = " ".join((*head, mnemonic))
        instruction = self._instruction(name, tuple(tokens[:count]), values)
        if instruction is None and values:
            latest = next(iter(self.rows_of(name)), None)
            instruction = self._instruction(name, () if latest is None else latest.operands, values)
        if instruction is None:
            raise UnmatchedInstructionError(NO_SCHEME)
        if values and not _may_have_values(instruction.scheme):
            raise UnmatchedInstructionError(f"{values!r} is no operand")
        self._rows.setdefault(name, []).append(instruction)
        return replace(instruction, values="addresses of 32 bits") if short else instruction

    def _instruction(self, name: str, printed: tuple[str, ...], values: str) -> PrintedInstruction | None:
        """The scheme with these operands, or with those that the table leaves out."""
        for operands in _spellings(name, printed):
            names = [_name(token, name.rpartition(" ")[2]) or "" for token in operands]
            head = name.replace("movd", "movq") if "r64" in names and _MOVD.fullmatch(name) else name
            if (scheme := scheme_named(self._isa, head, names)) is not None:
                return PrintedInstruction(scheme, operands, values)
            plain = head.removeprefix("{evex} ")
            scheme = None if plain == head else scheme_named(self._isa, plain, names)
            if scheme is not None and scheme.encoding == "EVEX":  # it has no other one
                return PrintedInstruction(scheme, operands, values)
        return None


def _spellings(name: str, printed: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Operands that a text may mean, the printed ones first.

    Tables leave out the first source where it is the destination, and the accumulator of string instructions;
    some repeat the source of an instruction that has only one.
    """
    yield printed
    if printed and _is_register(printed[0]):
        if len(printed) > 2 and len(set(printed)) == 1:
            yield printed[1:]
        yield (printed[0], *printed)
    if string := _STRING.fullmatch(name):
        yield (_ACCUMULATORS[string[1]],)


def _may_have_values(scheme: Scheme) -> bool:
    return scheme.category in TIMED_BY_VALUES or scheme.mnemonic in ("cpuid", "imul", "mul", "nop")


def _name(token: str, mnemonic: str) -> str | None:
    """An operand as scheme texts or manuals write it; None for what is no operand."""
    operand = _join_words(token)
    if operand == "1" and _SHIFT.fullmatch(mnemonic):
        return "0x1"
    if operand == "[mem]":
        return "mem[32]" if mnemonic.endswith("mxcsr") else "mem[8]"
    if match := _INDEXED.fullmatch(operand):
        return f"mem[{32 if _HALVES.search(mnemonic) else 64},{match[1]}mm]{match[2]}"
    if mnemonic == "lea" and (match := _ADDRESS.fullmatch(operand)):
        return _address(*match.groups())
    matches = ((pattern.fullmatch(operand), name) for pattern, name in _NAMES)
    return next((match.expand(name) for match, name in matches if match), None)


def _address(base: str | None, index: str | None, scale: str | None, displacement: str | None) -> str | None:
    """The shape of a sum, in the terms of scheme texts."""
    terms = ["b"] if base else []
    if index:
        terms.append("s*i" if scale else "i")
    if displacement:
        terms.append("d8" if displacement.endswith("8") else "d")
    shape = "+".join(terms)
    if index and base:
        shape = shape.replace("+d8", "+d").replace(
            "+d", "+d8"
        )  # the only displacement that such schemes have
    return None if not shape or (scale and not index) else "addr" if shape == "b+d" else f"addr[{shape}]"
