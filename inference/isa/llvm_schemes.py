"""LLVM's names of instructions: those of schemes, and the schemes of `ADD64rr` or `ADD64rr RBX RBX RBP`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from inference.isa import llvm_mc
from inference.isa.facets import ToolSide
from inference.isa.llvm_mc import LlvmInstruction
from inference.isa.scheme import Scheme
from inference.isa.targets import code_target, target_of

_NO_REGISTER = "%noreg"


def tool_side(isa: str) -> ToolSide:
    """What other tools take of an instruction set. Raises `LookupError` where there is nothing."""
    tools = code_target(isa).tools
    if tools is None:
        raise LookupError(f"no machine code of {isa} can be made here")
    return tools


def llvm_opcodes(isa: str, texts: Sequence[str]) -> tuple[dict[str, str], str]:
    """({scheme text: opcode}, which llvm-mc said so); schemes that it does not know are missing.

    One call for all. Raises `AssemblerError` where llvm-mc is not installed or fails.
    """
    tools = tool_side(isa)
    codes = tools.instances(texts)
    named = llvm_mc.instructions_of(list(codes.values()), tools.triple, tools.cpu, tools.features)
    pairs = zip(codes, named.instructions, strict=True)
    return {text: found.opcode for text, found in pairs if found is not None}, named.told_by


def llvm_instructions(isa: str, texts: Sequence[str]) -> tuple[dict[str, str], str]:
    """({scheme text: an instance as llvm-exegesis writes it}, which llvm-mc said so).

    `ADD64rm RAX RAX RSI i_0x1 %noreg i_0x40 %noreg`. One call for all; schemes that llvm-mc does not know are
    missing. Raises `AssemblerError` where it is not installed or fails.
    """
    tools = tool_side(isa)
    codes, probes = tools.instances(texts), tools.register_probes()
    named = llvm_mc.instructions_of(
        [*codes.values(), *probes.values()], tools.triple, tools.cpu, tools.features
    )
    asked, known = named.instructions[: len(codes)], named.instructions[len(codes) :]
    names = {
        found.operands[0][1]: name for name, found in zip(probes, known, strict=True) if found is not None
    }
    names |= {name: name for name in names.values()} | dict.fromkeys(("0", ""), _NO_REGISTER)
    lines = {text: _line(found, names) for text, found in zip(codes, asked, strict=True)}
    return {text: line for text, line in lines.items() if line is not None}, named.told_by


def _line(found: LlvmInstruction | None, names: Mapping[str, str]) -> str | None:
    if found is None:
        return None
    words = [found.opcode]
    for kind, value in found.operands:
        if kind == "Reg" and value in names:
            words.append(names[value])
        elif kind == "Imm":
            words.append(f"i_{int(value) % (1 << 64):#x}")
        else:
            return None
    return " ".join(words)


_SAME = ("_REV", "_alt", "_Int")
"""Behind an opcode: another encoding, or another view by the compiler, of the same instruction."""
_IMMEDIATE = "i_"
_NONE = "%noreg"
_MEMORY = 5
"""Operands of an address of x86-64: base, scale, index, displacement, segment."""


@dataclass(frozen=True)
class LlvmScheme:
    """A scheme with an instance as LLVM has it: `words` are those of `ADD64rr RBX RBX RBP`, or the opcode."""

    scheme: Scheme
    words: tuple[str, ...]

    @property
    def immediates(self) -> list[str]:
        """Those of the instance, without what belongs to an address."""
        return [word for word in _operands(self.words) if word.startswith(_IMMEDIATE)]

    @cached_property
    def registers(self) -> dict[int, int]:
        """{operand of LLVM: explicit operand of the scheme}, both from 0, of those that are registers."""
        found: dict[int, int] = {}
        numbers: dict[str, int] = {}
        kinds = [one.kind for one in self.scheme.operands if not one.implicit]
        fixed = [bool(one.registers) for one in self.scheme.operands if not one.implicit]
        free = iter([n for n, kind in enumerate(kinds) if kind == "register" and not fixed[n]])
        for place, word in enumerate(_operands(self.words)):
            if word.startswith(_IMMEDIATE) or word in (_NONE, ""):
                continue
            if word not in numbers:
                number = next(free, None)
                if number is None:
                    return {}
                numbers[word] = number
            found[place] = numbers[word]
        return found

    @staticmethod
    def operands_of(words: Sequence[str]) -> list[str]:
        """The operands of an instance in LLVM's order; an address is one, ""."""
        return _operands(words)


class LlvmSchemes:
    """The schemes of an instruction set by LLVM's opcodes, and which llvm-mc named them."""

    def __init__(self, listed: Sequence[LlvmScheme], told_by: str) -> None:
        self.told_by = told_by
        self._by_opcode: dict[str, list[LlvmScheme]] = {}
        for one in listed:
            self._by_opcode.setdefault(one.words[0], []).append(one)
        self._alike: dict[str, str] = {}
        for opcode in self._by_opcode:
            self._alike.setdefault(_plain(opcode), opcode)

    def knows(self, opcode: str) -> bool:
        """Whether any scheme has this opcode, or one that differs in its encoding alone."""
        return bool(self._named(opcode))

    def find(self, words: Sequence[str]) -> LlvmScheme | str:
        """The scheme of an instruction, the plainest of several that LLVM does not tell apart; else why not.

        `words`: an opcode, and the operands where they are known. Of conditions and the like, which are
        immediates of one opcode, they say which is meant.
        """
        candidates = self._named(words[0])
        if not candidates:
            return "no scheme here has this opcode of LLVM"
        if same := [one for one in candidates if one.words == tuple(words)]:
            return min(same, key=_plainness)
        if len({one.scheme.mnemonic for one in candidates}) == 1:
            return min(candidates, key=_plainness)
        immediates = [word for word in _operands(words) if word.startswith(_IMMEDIATE)]
        exact = [one for one in candidates if immediates and one.immediates == immediates]
        if not exact:
            return "this opcode of LLVM stands for several schemes: which is meant, no operand says"
        return min(exact, key=_plainness)

    def _named(self, opcode: str) -> list[LlvmScheme]:
        return self._by_opcode.get(opcode) or self._by_opcode.get(self._alike.get(_plain(opcode), ""), [])


@cache
def llvm_schemes(isa: str) -> LlvmSchemes:
    """Those of an instruction set. Some seconds. Raises `AssemblerError` where there is no llvm-mc."""
    known = {scheme.text: scheme for scheme in target_of(isa).schemes.schemes()}
    named = llvm_instructions if tool_side(isa).register_probes() else llvm_opcodes
    found, told_by = named(isa, list(known))
    listed = [LlvmScheme(known[text], tuple(line.split())) for text, line in found.items()]
    return LlvmSchemes(listed, told_by)


def _operands(words: Sequence[str]) -> list[str]:
    """What stands behind the opcode; of an address the first word stays, as "", and the others go."""
    found: list[str] = []
    rest = list(words[1:])
    while rest:
        if len(rest) >= _MEMORY and _is_address(rest[:_MEMORY]):
            found.append("")
            rest = rest[_MEMORY:]
        else:
            found.append(rest.pop(0))
    return found


def _is_address(words: Sequence[str]) -> bool:
    base, scale, index, displacement, _ = words
    numbers = scale in ("i_0x1", "i_0x2", "i_0x4", "i_0x8") and displacement.startswith(_IMMEDIATE)
    return numbers and not base.startswith(_IMMEDIATE) and not index.startswith(_IMMEDIATE)


def _plain(opcode: str) -> str:
    for end in _SAME:
        opcode = opcode.replace(end, "")
    return opcode


def _plainness(one: LlvmScheme) -> tuple[bool, bool, bool, str]:
    """Without decorations and prefixes, with any number rather than one, offered for inference."""
    scheme = one.scheme
    decorated = "{" in scheme.text or not scheme.text.startswith(scheme.mnemonic)
    fixed = any(operand.name.startswith("0x") for operand in scheme.operands)
    return decorated, fixed, bool(scheme.exclusion), scheme.text
