"""Ways back from the destination of a link to its source, through connectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from iced_x86 import Code, Instruction, MemoryOperand

from inference.isa.chains import ChainLink, NoChainError
from inference.isa.x86.chains.connectors import (
    AND_SAME,
    EXTEND,
    FLAG_COPIES,
    FROM_MASK,
    FROM_MMX,
    FROM_VECTOR,
    LEGACY_AND,
    LEGACY_MOVES,
    LEGACY_OR,
    LEGACY_SHUFFLE,
    LOADS,
    MASK_OR,
    MASK_TO_VECTOR,
    MASKS,
    MMX_SHUFFLE,
    OR_SAME,
    TO_MASK,
    TO_MMX,
    TO_VECTOR,
    VECTOR_MOVES,
    VECTOR_TO_MASK,
    VECTORS,
    XOR_SAME,
    XOR_SOURCE,
    VectorConnectors,
    assemble,
    mask_shift,
    mmx_shuffle,
    register_of,
    shuffle,
    sign_extension,
)
from inference.isa.x86.chains.initialization import SCRATCH
from inference.isa.x86.holes import GPR8, GPR32, GPR64, MMX, XMM, YMM, ZMM, Hole
from inference.isa.x86.holes import MASK as MASK_HOLE
from inference.isa.x86.link_ends import ADDRESS, DATA, FLAGS, MASK, MEMORY, LinkEnd
from inference.isa.x86.register_choices import RegisterChoice

REPEATED = (1, 3)
"""Numbers of connectors in a row: a chain that throughput limits does not grow with them."""

_MOVES_OUT = {
    MASK: (Code.VEX_KMOVW_R32_KR, GPR32, MASK_HOLE, FROM_MASK),
    "mmx": (Code.MOVQ_RM64_MM, GPR64, MMX, FROM_MMX),
}
_MOVES_IN = {
    MASK: (Code.VEX_KMOVW_KR_R32, MASK_HOLE, GPR32, TO_MASK),
    "mmx": (Code.MOVQ_MM_RM64, MMX, GPR64, TO_MMX),
}
"""By bank: the move from a general-purpose register; `_MOVES_OUT`: to one."""

_HOLES = {hole.width: hole for hole in (XMM, YMM, ZMM)}


@dataclass(frozen=True, slots=True)
class Families:
    """The register of each operand: `source` and `target` are the link's, `base` addresses memory.

    `zero` and `value` are in the source's bank, and restore its value; None where it may contain anything.
    """

    source: int
    target: int
    base: int
    other_families: dict[RegisterChoice, int]
    zero: int | None = None
    value: int | None = None


Links = tuple[ChainLink, ...]
Steps = tuple[list[Instruction], Links]
"""Instructions from the destination towards the source, and their links."""

ReturnPath = Iterator[Steps]


@dataclass(frozen=True, slots=True)
class ReturnPaths:
    """Ways from `target` to `source` with these `families`. `legacy`: by legacy SSE.

    Raises `NoChainError`.
    """

    source: LinkEnd
    target: LinkEnd
    families: Families
    legacy: bool

    def within_class(self) -> ReturnPath:
        """Source and target are registers of one bank."""
        if self.source.bank == "general":
            return self._within_general()
        if self.source.bank == MASK:
            return self._within_masks()
        if self.source.bank == "mmx":
            return self._within_mmx()
        return self._within_legacy() if self.legacy else self._within_vectors()

    def to_address(self) -> ReturnPath:
        """Two exclusive ORs of the base with the loaded value, which cancel: it stays the same address."""
        for times in REPEATED:
            yield self._through_address(self.families.target, times)

    def between_classes(self) -> ReturnPath:
        """A return path between register classes: only the sum of both latencies is known."""
        banks = self.source.bank, self.target.bank
        if set(banks) == {"vector", MEMORY}:
            yield self._vector_in_memory()
        elif banks == ("vector", MASK) and not self.source.name.endswith(ADDRESS):
            move = assemble(
                Code.EVEX_VPMOVM2D_XMM_KR, (XMM, self.families.source), (MASK_HOLE, self.families.target)
            )
            yield self._restore_source([move], (MASK_TO_VECTOR,))
        elif banks == (MASK, "vector"):
            of = (XMM, self.families.target)
            move = assemble(
                Code.EVEX_VPTESTMD_KR_K1_XMM_XMMM128B32, (MASK_HOLE, self.families.source), of, of
            )
            yield self._restore_source([move], (VECTOR_TO_MASK,))
        else:
            to_general, first = self._to_general()
            from_general, second = self._from_general()
            yield [*to_general, *from_general], (*first, *second)

    # Within a class of registers.

    def _within_general(self) -> ReturnPath:
        source, target = self.families.source, self.families.target
        first, link = sign_extension(source, target, self.target)
        if self.families.value is not None:
            is_in_place = source == target and self.target.width >= GPR32.width
            first_steps: Steps = ([], ()) if is_in_place else ([first], (link,))
            for times in REPEATED:
                repeated, links = self._general_value(source)
                yield [*first_steps[0], *repeated * times], (*first_steps[1], *links * times)
            return
        repeated, latency = [assemble(EXTEND[32][0], (GPR64, source), (GPR32, source))], EXTEND[32][1]
        for times in REPEATED:
            yield [first, *repeated * (times - 1)], (link, *(latency,) * (times - 1))

    def _general_value(self, family: int) -> Steps:
        zero, value = self._constants()
        instructions = [
            assemble(Code.AND_RM64_R64, (GPR64, family), (GPR64, zero)),
            assemble(Code.OR_RM64_R64, (GPR64, family), (GPR64, value)),
        ]
        return instructions, (AND_SAME, OR_SAME)

    def _within_vectors(self) -> ReturnPath:
        source, target, hole = self.families.source, self.families.target, _HOLES[self.source.width]
        for pair in VECTORS[hole.width]:
            if self.families.value is not None:
                for times in REPEATED:
                    steps = [
                        self._vector_value(pair, hole, source, of) for of in (target, *[source] * (times - 1))
                    ]
                    code = [instruction for step in steps for instruction in step]
                    yield code, (pair.and_link, pair.or_link) * times
                continue
            for times in REPEATED:
                order = (target, *[source] * (times - 1))
                step_code = [assemble(pair.and_code, (hole, source), (hole, of), (hole, of)) for of in order]
                yield step_code, (pair.and_link,) * times

    def _vector_value(self, connector: VectorConnectors, hole: Hole, to: int, of: int) -> list[Instruction]:
        zero, value = self._constants()
        return [
            assemble(connector.and_code, (hole, to), (hole, of), (hole, zero)),
            assemble(connector.or_code, (hole, to), (hole, to), (hole, value)),
        ]

    def _constants(self) -> tuple[int, int]:
        zero, value = self.families.zero, self.families.value
        assert zero is not None
        assert value is not None
        return zero, value

    def _within_legacy(self) -> ReturnPath:
        source, target = self.families.source, self.families.target
        if self.families.value is None:
            for times in REPEATED:
                steps = [shuffle(source, of) for of in (target, *[source] * (times - 1))]
                yield steps, (LEGACY_SHUFFLE,) * times
            return
        for times in REPEATED:
            value, links = self._legacy_value(source)
            yield [shuffle(source, target), *value * times], (LEGACY_SHUFFLE, *links * times)

    def _legacy_value(self, family: int) -> Steps:
        zero, value = self._constants()
        instructions = [
            assemble(Code.ANDPS_XMM_XMMM128, (XMM, family), (XMM, zero)),
            assemble(Code.ORPS_XMM_XMMM128, (XMM, family), (XMM, value)),
        ]
        return instructions, (LEGACY_AND, LEGACY_OR)

    def _within_mmx(self) -> ReturnPath:
        source, target = self.families.source, self.families.target
        for times in REPEATED:
            order = (target, *[source] * (times - 1))
            yield [mmx_shuffle(source, of) for of in order], (MMX_SHUFFLE,) * times

    def _within_masks(self) -> ReturnPath:
        source, target = self.families.source, self.families.target
        if self.families.value is not None:
            for times in REPEATED:
                order = (target, *[source] * (times - 1))
                yield [self._mask_value(of) for of in order], (MASK_OR,) * times
            return
        for times in REPEATED:
            order = (target, *[source] * (times - 1))
            yield [_masks_anded(source, of) for of in order], (MASKS[0],) * times
            yield [mask_shift(source, of) for of in order], (MASKS[1],) * times

    def _mask_value(self, of: int) -> Instruction:
        """Sets all bits of the source mask."""
        value = self.families.value
        assert value is not None
        hole = MASK_HOLE
        return assemble(Code.VEX_KORW_KR_KR_KR, (hole, self.families.source), (hole, of), (hole, value))

    # Between classes.

    def _restore_source(self, instructions: list[Instruction], links: Links) -> Steps:
        """The steps, which end in the source, followed by those that restore its value."""
        if self.families.value is None:
            return instructions, links
        source = self.families.source
        if self.source.bank == MASK:
            return [*instructions, self._mask_value(source)], (*links, MASK_OR)
        if self.source.bank == "general":
            restoring, added = self._general_value(source)
        elif self.legacy:
            restoring, added = self._legacy_value(source)
        else:
            pair, hole = VECTORS[self.source.width][0], _HOLES[self.source.width]
            restoring, added = self._vector_value(pair, hole, source, source), (pair.and_link, pair.or_link)
        return [*instructions, *restoring], (*links, *added)

    def _through_address(self, of: int, times: int) -> Steps:
        pair = [assemble(Code.XOR_RM64_R64, (GPR64, self.families.source), (GPR64, of))] * 2
        return pair * times, (XOR_SOURCE, *(XOR_SAME,) * (2 * times - 1))

    def _vector_in_memory(self) -> Steps:
        """A store or load of a vector register in the width of the memory operand."""
        stores = self.target.bank == "vector"
        memory = self.source if stores else self.target
        vector = self.families.target if stores else self.families.source
        moves = LEGACY_MOVES if self.legacy else VECTOR_MOVES
        if memory.width not in moves:
            raise NoChainError(
                f"no instruction moves {memory.width} bits between memory and vector registers"
            )
        store, load, hole, mnemonic = moves[memory.width]
        address, register = MemoryOperand(register_of(GPR64, self.families.base)), register_of(hole, vector)
        if not stores:
            move = Instruction.create_reg_mem(load, register, address)
            link = ChainLink(f"{mnemonic} {hole.name}:W, MEM[{memory.width}]:R", f"2 {DATA}", "1")
            return self._restore_source([move], (link,))
        move = Instruction.create_mem_reg(store, address, register)
        link = ChainLink(f"{mnemonic} MEM[{memory.width}]:W, {hole.name}:R", "2", f"1 {DATA}")
        if self.families.value is None:
            return [move], (link,)
        if self.legacy:
            restoring, added = self._legacy_value(vector)
        else:
            pair = VECTORS[hole.width][0]
            restoring, added = self._vector_value(pair, hole, vector, vector), (pair.and_link, pair.or_link)
        return [*restoring, move], (*added, link)

    def _to_general(self) -> Steps:
        """Steps that bring the target's value into the scratch register, and their links."""
        target, families = self.target, self.families
        if target.bank == "general":
            move, link = sign_extension(SCRATCH, families.target, target)
            return [move], (link,)
        if target.bank == "vector":
            code, text = FROM_VECTOR[self.legacy]
            move = assemble(code, (GPR64, SCRATCH), (XMM, families.target))
            return [move], (ChainLink(text, "2", "1"),)
        if target.bank in _MOVES_OUT:
            code, to, of, link = _MOVES_OUT[target.bank]
            return [assemble(code, (to, SCRATCH), (of, families.target))], (link,)
        if target.bank == FLAGS:
            return _copied_flag(target)
        # Of what is wider, its first part: a store serves loads of a part as well.
        code, hole, text = LOADS[min(target.width, GPR64.width)]
        load = Instruction.create_reg_mem(
            code, register_of(hole, SCRATCH), MemoryOperand(register_of(GPR64, families.base))
        )
        return [load], (ChainLink(text, f"2 {DATA}", "1"),)

    def _from_general(self) -> Steps:
        """Moves `SCRATCH` to the source."""
        source, families = self.source, self.families
        if source.name.endswith(ADDRESS):
            return self._through_address(SCRATCH, 1)
        if source.bank == "general":
            move = assemble(EXTEND[32][0], (GPR64, families.source), (GPR32, SCRATCH))
            return self._restore_source([move], (EXTEND[32][1],))
        if source.bank == "vector":
            code, text = TO_VECTOR[self.legacy]
            move = assemble(code, (XMM, families.source), (GPR64, SCRATCH))
            return self._restore_source([move], (ChainLink(text, "2", "1"),))
        if source.bank in _MOVES_IN:
            code, to, of, link = _MOVES_IN[source.bank]
            return self._restore_source([assemble(code, (to, families.source), (of, SCRATCH))], (link,))
        if source.bank == FLAGS:
            move = assemble(Code.TEST_RM32_R32, (GPR32, SCRATCH), (GPR32, SCRATCH))
            return [move], (ChainLink("test GPR[32]:R, GPR[32]:R", "1", FLAGS),)
        if source.width > GPR64.width:
            raise NoChainError("what it loads is wider than a general-purpose register")
        restoring, added = ([], ()) if families.value is None else self._general_value(SCRATCH)
        store = Instruction.create_mem_reg(
            Code.MOV_RM64_R64, MemoryOperand(register_of(GPR64, families.base)), register_of(GPR64, SCRATCH)
        )
        return [*restoring, store], (*added, ChainLink("mov MEM[64]:W, GPR[64]:R", "2", f"1 {DATA}"))


def _masks_anded(to: int, of: int) -> Instruction:
    return assemble(Code.VEX_KANDW_KR_KR_KR, (MASK_HOLE, to), (MASK_HOLE, of), (MASK_HOLE, of))


def _copied_flag(target: LinkEnd) -> Steps:
    flag = next((name for name in FLAG_COPIES if name in target.operand.registers), None)
    if flag is None:
        raise NoChainError("it writes no flag that an instruction copies to a register")
    code, mnemonic = FLAG_COPIES[flag]
    copied = assemble(code, (GPR8, SCRATCH))
    extended = assemble(Code.MOVZX_R32_RM8, (GPR32, SCRATCH), (GPR8, SCRATCH))
    links = (
        ChainLink(f"{mnemonic} GPR[8]:W", FLAGS, "1"),
        ChainLink("movzx GPR[32]:W, GPR[8]:R", "2", "1"),
    )
    return [copied, extended], links
