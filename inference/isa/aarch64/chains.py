"""Chains of AArch64 from a source operand through a scheme to a destination, and back.

As on x86-64 (`isa/x86/chains`), with other connectors: sign extensions between general-purpose registers, AND
and negation (of the floating-point units) between vector registers, since moves may be eliminated. An address
is restored: two exclusive ORs of its register with the loaded value cancel. Between classes of registers,
flags and memory only sums with the way back are known. Chains are loop bodies in the frame of experiments,
except that x0, which may be an index, starts with zero. All lines are assembled in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from inference.agent.protocol import Frame
from inference.isa import llvm_mc
from inference.isa.aarch64 import assembling, by_text, instruction_set
from inference.isa.aarch64.assembling import CPU, FEATURES, TRIPLE, obstacle
from inference.isa.aarch64.link_ends import (
    ADDRESS,
    BASE,
    DATA,
    FLAGS,
    INDEX,
    MEMORY,
    AArch64LinkEnd,
    EndValues,
    bank_in_words,
    is_source,
    is_target,
    link_ends,
    values_of,
    with_value,
)
from inference.isa.chains import (
    ChainLink,
    DependencyChain,
    NoChainError,
    PairChains,
)
from inference.isa.document import OperandForm
from inference.isa.scheme import ONLY_IN_CHAINS

REPEATED = (1, 3)
"""Numbers of connectors in a row: a chain that throughput limits does not grow with them."""

_SCRATCH, _CONSTANT, LOAD_BASE, STORE_BASE = 16, 17, 19, 23
"""Numbers of registers with a fixed use in all chains."""

_GENERAL, _VECTORS = range(14), range(30)  # numbers of registers that links may use
_LAST_VECTOR = 29
_CONSTANTS = {"general": (14, 15), "vector": (30, 31)}
"""Registers for zero and for a value; no operand uses them."""

EXTEND = ChainLink("sxtw GPR[64]:W, GPR[32]:R", "2", "1")
EOR_FIRST, EOR_SECOND = (ChainLink("eor GPR[64]:W, GPR[64]:R, GPR[64]:R", name, "1") for name in "23")
AND = ChainLink("and VEC[16B]:W, VEC[16B]:R, VEC[16B]:R", "2", "1")
_NEGATE = ChainLink("fneg VEC[2D]:W, VEC[2D]:R", "2", "1")
_VECTOR_STEPS = ((AND, "and v{0}.16b, v{1}.16b, v{1}.16b"), (_NEGATE, "fneg v{0}.2d, v{1}.2d"))
_AND_GENERAL = ChainLink("and GPR[64]:W, GPR[64]:R, GPR[64]:R", "2", "1")
_ORR_GENERAL = ChainLink("orr GPR[64]:W, GPR[64]:R, GPR[64]:R", "2", "1")
_ORR = ChainLink("orr VEC[16B]:W, VEC[16B]:R, VEC[16B]:R", "2", "1")
_RESTORING = {
    # bank: an AND with zero and an OR with the value, and their links
    "general": ("and x{0}, x{1}, x{2}", "orr x{0}, x{1}, x{2}", [_AND_GENERAL, _ORR_GENERAL]),
    "vector": ("and v{0}.16b, v{1}.16b, v{2}.16b", "orr v{0}.16b, v{1}.16b, v{2}.16b", [AND, _ORR]),
}
FROM_VECTOR = ChainLink("fmov GPR[64]:W, FPR[64]:R", "2", "1")
_TO_VECTOR = ChainLink("fmov FPR[64]:W, GPR[64]:R", "2", "1")
_FROM_FLAGS = ChainLink("cset GPR[64]:W, COND", FLAGS, "1")
_TO_FLAGS = ChainLink("cmp GPR[64]:R, IMM[12]:R", "1", FLAGS)
_MOVES = {
    # bank and bits: suffix of the mnemonic, its register, and what its text calls it
    **{("general", bits): (suffix, "w", "GPR[32]") for bits, suffix in ((8, "b"), (16, "h"), (32, ""))},
    ("general", 64): ("", "x", "GPR[64]"),
    **{("vector", 8 << k): ("", letter, f"FPR[{8 << k}]") for k, letter in enumerate("bhsdq")},
}


@dataclass(frozen=True, slots=True)
class _ChainText:
    lines: tuple[str, ...]
    links: tuple[ChainLink, ...]


_Steps = tuple[list[str], list[ChainLink]]
_Way = Callable[[dict[str, int]], Iterator[_Steps]]


def frame() -> Frame:
    default = assembling.frame()
    return replace(default, registers={**default.registers, "x0": 0})


def links_of(text: str) -> tuple[ChainLink, ...]:
    """The pairs of source and destination operands of a scheme; () for an unknown one."""
    scheme = by_text().get(text)
    if scheme is None:
        return ()
    ends = list(link_ends(scheme))
    return tuple(
        ChainLink(text, source.name, target.name)
        for source in ends
        if is_source(source)
        for target in ends
        if is_target(target)
    )


def connectors() -> tuple[ChainLink, ...]:
    """The links that close chains within a class: their own latencies are measured first."""
    restoring = (_AND_GENERAL, _ORR_GENERAL, _ORR)
    return (EXTEND, EOR_FIRST, EOR_SECOND, AND, _NEGATE, *restoring)


def chains_of_pairs(links: Iterable[ChainLink]) -> list[PairChains]:
    """The chains for pairs of operands of `links_of`, in order. Raises `AssemblerError`."""
    drafts: list[tuple[ChainLink, list[_ChainText], bool, str]] = []
    for link in links:
        texts: list[_ChainText] = []
        try:
            for values in values_of(by_text()[link.scheme]) or (None,):
                chain_texts, isolated, why = Linker(link, values).texts()
                texts += chain_texts
            drafts.append((link, texts, isolated, why))
        except NoChainError as error:
            drafts.append((link, [], False, str(error)))
    codes = _assembled({line for _, texts, _, _ in drafts for text in texts for line in text.lines})
    return [_pair(link, texts, codes, isolated=isolated, why=why) for link, texts, isolated, why in drafts]


def _pair(
    link: ChainLink, texts: Sequence[_ChainText], codes: dict[str, bytes | str], *, isolated: bool, why: str
) -> PairChains:
    chains = []
    for text in texts:
        line_codes = [codes[line] for line in text.lines]
        refused = next((line_code for line_code in line_codes if isinstance(line_code, str)), None)
        if refused is not None:
            why = f"llvm-mc does not know it: {refused}"
            continue
        code = b"".join(line_code for line_code in line_codes if isinstance(line_code, bytes))
        chains.append(DependencyChain(code, text.links, loop=True, listing=text.lines))
    classes = tuple(line_code.kind for line_code in values_of(by_text()[link.scheme])) if chains else ()
    return PairChains(link, tuple(chains), isolated and bool(chains), why, classes)


def _assembled(lines: set[str]) -> dict[str, bytes | str]:
    """{line: its four bytes, or llvm-mc's error}."""
    ordered = sorted(lines)
    if not ordered:
        return {}
    done = llvm_mc.assemble(ordered, TRIPLE, CPU, FEATURES)
    refused: dict[str, bytes | str] = {ordered[number]: why for number, why in done.refused.items()}
    if refused:
        ordered = [line for line in ordered if line not in refused]
        done = llvm_mc.assemble(ordered, TRIPLE, CPU, FEATURES)
    if len(done.code) != 4 * len(ordered):
        raise llvm_mc.AssemblerError(f"llvm-mc made {len(done.code)} bytes of {len(ordered)} instructions")
    return refused | {line: done.code[4 * k : 4 * k + 4] for k, line in enumerate(ordered)}


class Linker:
    """Chains through one link of a scheme: alone, and closed by each connector that fits its two ends."""

    def __init__(self, link: ChainLink, values: EndValues | None) -> None:
        self._link = link if values is None else replace(link, values=values.kind.name)
        self._values = {} if values is None else values.patterns
        self._scheme = by_text()[link.scheme]
        self._ends = list(link_ends(self._scheme))
        self._source = next(end for end in self._ends if is_source(end) and end.name == link.source)
        self._target = next(end for end in self._ends if is_target(end) and end.name == link.destination)
        reason = obstacle(link.scheme)
        if reason and not reason.startswith(ONLY_IN_CHAINS):
            raise NoChainError(reason)
        stores = any(end.bank == MEMORY and "W" in end.operand.access for end in self._ends)
        self._base = STORE_BASE if stores else LOAD_BASE

    def texts(self) -> tuple[list[_ChainText], bool, str]:
        """The chains, whether they isolate the pair, and if not, why."""
        source, target = self._source, self._target
        if source.bank == target.bank == FLAGS:
            return self._direct(), True, ""
        if source.is_in_address and target.name == BASE:
            chains = self._direct() if source.name.endswith(ADDRESS) else []
            return [*chains, *self._closed(self._to_address)], True, ""
        if source.bank == target.bank == "general":
            return_path = self._to_address if source.is_in_address else self._within_general
            return [*self._direct(), *self._closed(return_path)], True, ""
        if source.bank == target.bank == "vector":
            return [*self._direct(), *self._closed(self._within_vectors)], True, ""
        why = f"from {bank_in_words(source)} to {bank_in_words(target)}: known only in sum with the way back"
        return self._closed(self._between_classes), False, why

    def _direct(self) -> list[_ChainText]:
        """The scheme alone: its destination is its source."""
        source, target = self._source, self._target
        if source.name in self._values:
            return []  # what it leaves there is another value
        same = source.position == target.position and source.name == target.name
        moves = source.name.endswith(ADDRESS) and target.name == BASE
        if not (same or moves or source.bank == FLAGS):
            if source.is_in_address or target.name == BASE or "R" in target.operand.access:
                return []
            if self._form(source).span != self._form(target).span:
                return []
        registers = self.registers(shared=True)
        return [_ChainText((*self.initialization(registers), self.line(registers)), (self._link,))]

    def _closed(self, path: _Way) -> list[_ChainText]:
        registers = self.registers(shared=False)
        if self._source.name in self._values:
            path = self._restored
        instance = [*self.initialization(registers), self.line(registers)]
        return [_ChainText((*instance, *lines), (self._link, *links)) for lines, links in path(registers)]

    # Registers, by (position of the operand, name of the part of an address or "").

    def _form(self, end: AArch64LinkEnd) -> OperandForm:
        return instruction_set().forms[end.operand.name]

    def registers(self, *, shared: bool) -> dict[str, int]:
        """{name of an operand: its register, of a list the first one}."""
        free = {"general": list(_GENERAL), "vector": list(_VECTORS)}
        registers: dict[str, int] = {}
        order = [self._source, self._target, *self._ends]
        for end in order:
            if end.name in registers or end.bank in {FLAGS, MEMORY}:
                continue
            if end.name == BASE or end.name.endswith(ADDRESS):
                registers[end.name] = self._base
            elif shared and end is self._target and self._source.name in registers:
                registers[end.name] = registers[self._source.name]
            elif end.name.endswith(INDEX):
                registers[end.name] = free["general"].pop(0)
            else:
                form = self._form(end)
                registers[end.name] = _take_registers(free[end.bank], form.span, form.registers_below)
        return registers

    def line(self, registers: dict[str, int]) -> str:
        operands = []
        for number, operand in enumerate(self._scheme.operands):
            if operand.implicit:
                continue
            form = instruction_set().forms[operand.name]
            name = str(number + 1)
            numbers = [registers.get(name, 0) + k for k in range(form.span)]
            base, index = registers.get(f"{name} {ADDRESS}", 0), registers.get(f"{name} {INDEX}", 0)
            fields = {"memory": f"x{base}", "base": f"x{base}", "offset": 0, "near": 0}
            fields |= {"index": f"x{index}", "index32": f"w{index}"}
            operands.append(form.assembly.format(*numbers, **fields))
        return f"{self._scheme.mnemonic} {', '.join(operands)}".rstrip()

    def initialization(self, registers: dict[str, int]) -> Iterator[str]:
        """Lines that overwrite read-write operands other than the link's source."""
        for end in self._ends:
            if end.name in self._values and end.name != self._source.name:
                yield from with_value(end.bank, registers[end.name], self._values[end.name], _SCRATCH)
            if end.name.endswith(INDEX) and end.name != self._source.name:
                yield f"mov x{registers[end.name]}, #0"
            if end.name in {self._source.name, BASE} or end.operand.access != "RW":
                continue
            if end.bank == FLAGS:
                yield f"cmp x{_CONSTANT}, #0"
            elif end.bank == "general" and registers[end.name] != registers.get(self._source.name):
                yield f"mov x{registers[end.name]}, #16"
            elif end.bank == "vector" and registers[end.name] != registers.get(self._source.name):
                yield f"movi v{registers[end.name]}.2d, #0"

    # Ways back from the destination to the source.

    def _within_general(self, registers: dict[str, int]) -> Iterator[_Steps]:
        source, target = registers[self._source.name], registers[self._target.name]
        for times in REPEATED:
            order = (target, *[source] * (times - 1))
            yield [f"sxtw x{source}, w{of}" for of in order], [EXTEND] * times

    def _within_vectors(self, registers: dict[str, int]) -> Iterator[_Steps]:
        source, target = registers[self._source.name], registers[self._target.name]
        for link, line in _VECTOR_STEPS:
            for times in REPEATED:
                order = (target, *[source] * (times - 1))
                yield [line.format(source, of) for of in order], [link] * times

    def _restored(self, registers: dict[str, int]) -> Iterator[_Steps]:
        """An AND with zero and an OR with the source's value; destination and source are in one bank."""
        bank, value = self._source.bank, self._values[self._source.name]
        source, target = registers[self._source.name], registers[self._target.name]
        cleared, filled, links = _RESTORING[bank]
        zero, full = _CONSTANTS[bank]
        constants = [*with_value(bank, zero, 0, _SCRATCH), *with_value(bank, full, value, _SCRATCH)]
        for times in REPEATED:
            order = (target, *[source] * (times - 1))
            steps = [(cleared.format(source, of, zero), filled.format(source, source, full)) for of in order]
            yield [*constants, *(line for both in steps for line in both)], links * times

    def _to_address(self, registers: dict[str, int]) -> Iterator[_Steps]:
        is_own_base = registers[self._source.name] == registers[self._target.name]
        for times in REPEATED[:1] if is_own_base else REPEATED:
            yield self._through_address(registers, registers[self._target.name], times)

    def _through_address(self, registers: dict[str, int], of: int, times: int) -> _Steps:
        address = registers[self._source.name]
        if of == address:  # the base that moves: from itself to itself
            return [f"sxtw x{_SCRATCH}, w{of}"] + [f"eor x{of}, x{of}, x{_SCRATCH}"] * 2, [
                *(EXTEND, EOR_SECOND, EOR_FIRST)
            ]
        line = f"eor x{address}, x{address}, x{of}"
        return [line] * (2 * times), [EOR_SECOND, *[EOR_FIRST] * (2 * times - 1)]

    def _between_classes(self, registers: dict[str, int]) -> Iterator[_Steps]:
        banks = {self._source.bank, self._target.bank}
        if MEMORY in banks and FLAGS not in banks and not self._source.is_in_address:
            yield self._through_memory(registers)
            return
        to_scratch, first = self._to_scratch(registers)
        from_scratch, second = self._from_scratch(registers)
        yield [*to_scratch, *from_scratch], [*first, *second]

    def _through_memory(self, registers: dict[str, int]) -> _Steps:
        """A store of the loaded value, or a load of the stored value, at the operand's part of the memory."""
        stores = self._target.bank == MEMORY
        register = self._source if stores else self._target
        return self._move("ldr" if stores else "str", register.bank, registers[register.name], register)

    def _move(self, mnemonic: str, bank: str, number: int, register: AArch64LinkEnd) -> _Steps:
        memory = next(end for end in self._ends if end.bank == MEMORY)
        parts = [end for end in self._ends if end.position is not None and not end.is_in_address]
        parts = [end for end in parts if end.bank in {"general", "vector"}]
        width = memory.operand.width // max(len(parts), self._form(register).span)
        if (bank, width) not in _MOVES or not self._has_base:
            raise NoChainError(f"no instruction moves {width} bits between that memory and registers")
        suffix, letter, name = _MOVES[bank, width]
        offset = width // 8 * (parts.index(register) if register in parts else 0)
        line = f"{mnemonic}{suffix} {letter}{number}, [x{self._base}, #{offset}]"
        if mnemonic == "str":
            return [line], [ChainLink(f"str{suffix} {name}:R, MEM[{width}]:W", "1", f"2 {DATA}")]
        return [line], [ChainLink(f"ldr{suffix} {name}:W, MEM[{width}]:R", f"2 {DATA}", "1")]

    @property
    def _has_base(self) -> bool:
        return any(operand.name.endswith(ADDRESS) for operand in self._ends)

    def _to_scratch(self, registers: dict[str, int]) -> _Steps:
        target = self._target
        if target.bank == "vector":
            return [f"fmov x{_SCRATCH}, d{registers[target.name]}"], [FROM_VECTOR]
        if target.bank == FLAGS:
            return [f"cset x{_SCRATCH}, lo"], [_FROM_FLAGS]
        if target.bank == MEMORY:
            stored = next(end for end in self._ends if end.position is not None and not end.is_in_address)
            if stored.bank != "general":
                lines, links = self._move("ldr", "vector", _LAST_VECTOR, stored)
                return [*lines, f"fmov x{_SCRATCH}, d{_LAST_VECTOR}"], [*links, FROM_VECTOR]
            return self._move("ldr", "general", _SCRATCH, stored)
        return [f"sxtw x{_SCRATCH}, w{registers[target.name]}"], [EXTEND]

    def _from_scratch(self, registers: dict[str, int]) -> _Steps:
        source = self._source
        if source.is_in_address:
            return self._through_address(registers, _SCRATCH, 1)
        if source.bank == "vector":
            return [f"fmov d{registers[source.name]}, x{_SCRATCH}"], [_TO_VECTOR]
        if source.bank == FLAGS:
            return [f"cmp x{_SCRATCH}, #1365"], [_TO_FLAGS]
        if source.bank == MEMORY:
            raise NoChainError("nothing that it writes can be stored where it loads")
        return [f"sxtw x{registers[source.name]}, w{_SCRATCH}"], [EXTEND]


def _take_registers(free: list[int], span: int, below: int) -> int:
    """The first of `span` free consecutive registers, all of which are then taken."""
    for first in free:
        candidates = range(first, first + span)
        if all(number in free and number < below for number in candidates):
            free[:] = [number for number in free if number not in candidates]
            return first
    raise NoChainError("there are not enough registers")
