"""LLVM's names of schemes, and the schemes of `ADD64rr` or `ADD64rr RBX RBX RBP`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from inference.isa import llvm_mc
from inference.isa.facets import ForeignNames, LlvmMeaning, LlvmSide
from inference.isa.llvm_mc import LlvmInstruction, LlvmNames
from inference.isa.scheme import Scheme
from inference.isa.targets import code_target, target_of

_NO_REGISTER = "%noreg"


def llvm_side(isa: str) -> LlvmSide:
    """The LLVM facet of an instruction set. Raises `LookupError` where there is none."""
    tools = code_target(isa).tools
    if tools is None:
        raise LookupError(f"machine code of {isa} cannot be generated")
    return tools


def llvm_opcodes(isa: str, texts: Sequence[str]) -> tuple[dict[str, str], str]:
    """({scheme text: opcode}, the version of llvm-mc), without schemes that it does not know.

    One call for all. Raises `AssemblerError` where llvm-mc is missing or fails.
    """
    tools = llvm_side(isa)
    codes = tools.instances(texts)
    names = _name(tools, list(codes.values()))
    pairs = zip(codes, names.instructions, strict=True)
    return {text: parsed.opcode for text, parsed in pairs if parsed is not None}, names.tool_version


def without_modes(isa: str, texts: Iterable[str]) -> list[str]:
    """The schemes of one time in LLVM's models: those of one mode share their opcode with other modes."""
    scheme_of = target_of(isa).schemes.scheme_of
    schemes = {text: scheme_of(text) for text in texts}
    return [text for text, scheme in schemes.items() if scheme is None or not scheme.mode]


def has_llvm_instances(isa: str) -> bool:
    """Whether instances of schemes can be named: `llvm_instructions` knows the names of registers."""
    tools = code_target(isa).tools
    return tools is not None and bool(tools.register_probes())


def llvm_instructions(isa: str, texts: Sequence[str]) -> tuple[dict[str, str], str]:
    """({scheme text: an instance in llvm-exegesis's syntax}, the version of llvm-mc).

    Unknown schemes are left out.

    `ADD64rm RAX RAX RSI i_0x1 %noreg i_0x40 %noreg`. One call for all. Raises `AssemblerError` where llvm-mc
    is missing or fails.
    """
    tools = llvm_side(isa)
    codes, probes = tools.instances(texts), tools.register_probes()
    result = _name(tools, [*codes.values(), *probes.values()])
    instances, probed = result.instructions[: len(codes)], result.instructions[len(codes) :]
    names = {
        parsed.operands[0][1]: name for name, parsed in zip(probes, probed, strict=True) if parsed is not None
    }
    names |= {name: name for name in names.values()} | dict.fromkeys(("0", ""), _NO_REGISTER)
    lines = {text: _line(parsed, names) for text, parsed in zip(codes, instances, strict=True)}
    return {text: line for text, line in lines.items() if line is not None}, result.tool_version


def _name(tools: LlvmSide, codes: Sequence[bytes]) -> LlvmNames:
    return llvm_mc.instructions_of(codes, tools.triple, tools.cpu, tools.features, marker=tools.marker)


def _line(instruction: LlvmInstruction | None, names: Mapping[str, str]) -> str | None:
    if instruction is None:
        return None
    words = [instruction.opcode]
    for kind, value in instruction.operands:
        if kind == "Reg" and value in names:
            words.append(names[value])
        elif kind == "Imm":
            words.append(f"i_{int(value) % (1 << 64):#x}")
        else:
            return None
    return " ".join(words)


_VARIANT_SUFFIXES = ("_REV", "_alt", "_Int")
"""Suffixes of opcodes for another encoding, or another view by the compiler, of the same instruction."""

_IMMEDIATE = "i_"
_NONE = "%noreg"
_ADDRESS_OPERANDS = 5
"""Operands of an address of x86-64: base, scale, index, displacement, segment."""


@dataclass(frozen=True)
class LlvmScheme:
    """A scheme with an instance in LLVM's terms: `words` of `ADD64rr RBX RBX RBP`, or only the opcode."""

    scheme: Scheme
    words: tuple[str, ...]

    def has_name(self, opcode: str) -> bool:
        """Whether LLVM's opcode is the mnemonic, as that of `addi`; `mv` and `li` are other names."""
        return self.scheme.mnemonic.replace(".", "_").upper() == opcode

    @property
    def is_masked(self) -> bool:
        """Whether a register with a mask is an operand of it beside those that can be chosen."""
        return any(operand.name == "v0.t" for operand in self.scheme.operands)

    @property
    def immediates(self) -> list[str]:
        """The immediates of the instance, without those of an address."""
        return [word for word in _operands(self.words) if word.startswith(_IMMEDIATE)]

    @cached_property
    def registers(self) -> dict[int, int]:
        """{index of LLVM's operand: index of the scheme's explicit operand} of the registers, both from 0."""
        operand_numbers: dict[int, int] = {}
        numbers: dict[str, int] = {}
        kinds = [operand.kind for operand in self.scheme.operands if not operand.implicit]
        is_fixed = [bool(operand.registers) for operand in self.scheme.operands if not operand.implicit]
        free_operands = iter([n for n, kind in enumerate(kinds) if kind == "register" and not is_fixed[n]])
        for place, word in enumerate(_operands(self.words)):
            if word.startswith(_IMMEDIATE) or word in (_NONE, ""):
                continue
            if word not in numbers:
                number = next(free_operands, None)
                if number is None:
                    return {}
                numbers[word] = number
            operand_numbers[place] = numbers[word]
        return operand_numbers

    @staticmethod
    def operands_of(words: Sequence[str]) -> list[str]:
        """The operands of an instance in LLVM's order; an address is one, ""."""
        return _operands(words)


class LlvmSchemes:
    """The schemes of an instruction set by LLVM's opcodes, and the version of llvm-mc that named them."""

    def __init__(self, schemes: Sequence[LlvmScheme], tool_version: str, names: ForeignNames) -> None:
        self.tool_version = tool_version
        self._names = names
        self._by_opcode: dict[str, list[LlvmScheme]] = {}
        for llvm_scheme in schemes:
            self._by_opcode.setdefault(llvm_scheme.words[0], []).append(llvm_scheme)
        self._by_plain: dict[str, str] = {}
        for opcode in self._by_opcode:
            self._by_plain.setdefault(_without_variant(opcode), opcode)

    def knows(self, opcode: str) -> bool:
        """Whether a scheme has this opcode, or one that differs only in its encoding."""
        return bool(self._schemes_of_opcode(self._names.llvm_meaning(opcode, "").opcode))

    def find(self, words: Sequence[str], setting: str = "") -> LlvmScheme | str:
        """The scheme of an instruction, the plainest of several that LLVM does not distinguish.

        Where there is none, the reason.

        Args:
            words: An opcode, and the operands where known. Operands distinguish conditions and the like,
                which are immediates of one opcode.
            setting: The `config` of a benchmark, which says the mode of vectors.
        """
        meaning = self._names.llvm_meaning(words[0], setting)
        opcode_candidates = self._schemes_of_opcode(meaning.opcode)
        candidates = [candidate for candidate in opcode_candidates if _is_meant(candidate, meaning)]
        if not candidates:
            return _reason(opcode_candidates, meaning)
        if exact_matches := [candidate for candidate in candidates if candidate.words == tuple(words)]:
            return min(exact_matches, key=_plainness)
        if len({candidate.scheme.mnemonic for candidate in candidates}) == 1:
            return min(candidates, key=_plainness)
        if named := [candidate for candidate in candidates if candidate.has_name(meaning.opcode)]:
            return min(named, key=_plainness)
        immediates = [word for word in _operands(words) if word.startswith(_IMMEDIATE)]
        exact = [candidate for candidate in candidates if immediates and candidate.immediates == immediates]
        if not exact:
            return "this opcode of LLVM stands for several schemes: which is meant, no operand says"
        return min(exact, key=_plainness)

    def _schemes_of_opcode(self, opcode: str) -> list[LlvmScheme]:
        base_opcode = self._by_plain.get(_without_variant(opcode), "")
        return self._by_opcode.get(opcode) or self._by_opcode.get(base_opcode, [])


def _is_meant(candidate: LlvmScheme, meaning: LlvmMeaning) -> bool:
    """Whether a scheme with the opcode is in the mode, and with a mask where the meaning has one."""
    scheme = candidate.scheme
    return not scheme.mode or (scheme.mode, candidate.is_masked) == (meaning.mode, meaning.is_masked)


def _reason(candidates: Sequence[LlvmScheme], meaning: LlvmMeaning) -> str:
    """Why none of the schemes with an opcode is meant."""
    if not candidates:
        return "no scheme here has this opcode of LLVM"
    if not meaning.mode:
        return "its time depends on a mode that the file does not say"
    return f"no scheme here is this instruction in the mode {meaning.mode}"


@cache
def llvm_schemes(isa: str) -> LlvmSchemes:
    """The schemes of an instruction set by opcode; takes seconds. Raises `AssemblerError` without llvm-mc."""
    schemes = {scheme.text: scheme for scheme in target_of(isa).schemes.schemes()}
    namer = llvm_instructions if has_llvm_instances(isa) else llvm_opcodes
    lines, tool_version = namer(isa, list(schemes))
    llvm_schemes_of_set = [LlvmScheme(schemes[text], tuple(line.split())) for text, line in lines.items()]
    return LlvmSchemes(llvm_schemes_of_set, tool_version, target_of(isa).names)


def _operands(words: Sequence[str]) -> list[str]:
    """The words behind the opcode, with "" in place of the words of an address."""
    operands: list[str] = []
    remaining = list(words[1:])
    while remaining:
        if len(remaining) >= _ADDRESS_OPERANDS and _is_address(remaining[:_ADDRESS_OPERANDS]):
            operands.append("")
            remaining = remaining[_ADDRESS_OPERANDS:]
        else:
            operands.append(remaining.pop(0))
    return operands


def _is_address(words: Sequence[str]) -> bool:
    base, scale, index, displacement, _ = words
    numbers = scale in ("i_0x1", "i_0x2", "i_0x4", "i_0x8") and displacement.startswith(_IMMEDIATE)
    return numbers and not base.startswith(_IMMEDIATE) and not index.startswith(_IMMEDIATE)


def _without_variant(opcode: str) -> str:
    for end in _VARIANT_SUFFIXES:
        opcode = opcode.replace(end, "")
    return opcode


def _plainness(candidate: LlvmScheme) -> tuple[bool, bool, bool, str]:
    """Sort key: no decorations and prefixes, any immediate rather than a fixed one, in the default set."""
    scheme = candidate.scheme
    decorated = "{" in scheme.text or not scheme.text.startswith(scheme.mnemonic)
    fixed = any(operand.name.startswith("0x") for operand in scheme.operands)
    return decorated, fixed, bool(scheme.exclusion), scheme.text
