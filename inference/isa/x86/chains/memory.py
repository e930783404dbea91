"""Chains through memory: from an address to what is loaded, and from what is stored to what is loaded.

All memory holds the same number, which is what every register starts with, so that a loaded address leads to
memory again, whatever is added to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from iced_x86 import Code, Instruction, MemoryOperand, Register

from inference.isa.chains import (
    BEHIND_POP,
    BLOCKED,
    FORESEEN,
    HALVES_IN_TURN,
    LINES_IN_TURN,
    ONE_LINE,
    ONE_WORD,
    OTHER_PAGE,
    POP_AND_LOAD,
    POPS,
    PUSHES,
    THREE_AND_ONE,
    ChainLink,
    DependencyChain,
    MemoryChain,
)
from inference.isa.dependences import PAGE_BYTES
from inference.isa.x86.chains.connectors import (
    EXTEND,
    LOADS,
    VECTOR_MOVES,
    VECTORS,
    XOR_SAME,
    XOR_SOURCE,
    assembled,
    register_of,
)
from inference.isa.x86.chains.making import encoded
from inference.isa.x86.chains.renaming import SAME, STORES, renaming_chains
from inference.isa.x86.chains.store_lines import store_chains
from inference.isa.x86.choosing import LINE
from inference.isa.x86.holes import GPR32, GPR64, XMM, YMM
from inference.isa.x86.instances import ADDRESS_OF_CODE

OTHER = "another base"
_VALUE, _BASE, _OTHER_BASE, _INDEX, _CHASED = 0, 6, 7, 1, 3
_BETWEEN = (1, 10)
_FAR = 0x0012_3450
_RIP_TARGET = ADDRESS_OF_CODE + 0x10_0000
_ALIGNED = 16
"""Bytes of a copy that addresses its memory relative to itself, so that each copy's is aligned alike."""

_ADDRESSES = {
    "[base]": MemoryOperand(Register.RBX),
    "[base + disp8]": MemoryOperand(Register.RBX, displ=8, displ_size=1),
    "[base + disp32]": MemoryOperand(Register.RBX, displ=_FAR, displ_size=8),
    "[base + index]": MemoryOperand(Register.RBX, Register.RCX, 1),
    "[base + index*8]": MemoryOperand(Register.RBX, Register.RCX, 8),
    "[base + index*8 + disp32]": MemoryOperand(Register.RBX, Register.RCX, 8, _FAR, 8),
    "[index*8 + disp32]": MemoryOperand(index=Register.RBX, scale=8, displ=_FAR, displ_size=8),
}
"""The chain goes through rbx."""

_GENERAL_PAIRS = (
    # bits stored, bits loaded, bytes from the one to the other
    *((width, width, 0) for width in (64, 32, 16, 8)),
    *((64, 32, 0), (64, 16, 0), (64, 8, 0), (64, 32, 4), (64, 8, 7), (32, 16, 2)),
    *((32, 64, 0), (16, 64, 0), (8, 64, 0), (8, 32, 0)),
    *((64, 64, 4), (64, 64, 1), (32, 32, 2)),
)
_STORED_TO = {
    ONE_LINE: (0, 8),
    HALVES_IN_TURN: (0, LINE // 2),
    LINES_IN_TURN: (0, LINE),
    THREE_AND_ONE: (0, 8, 16, LINE),
}
"""Bytes behind an aligned address that stores go to, one after the other."""
_VECTOR_PAIRS = (
    *((128, 128, 0), (256, 256, 0), (256, 128, 0), (256, 128, 16), (128, 256, 0), (128, 128, 8)),
    (512, 512, 0),
)


def memory_chains() -> tuple[MemoryChain, ...]:
    """All of them; those of vectors need AVX2 or, of 512 bits, AVX-512."""
    return (
        *(*_loads(), *_forwarded(), *_addressed(), *_through_the_stack(), *_vectors(), *_unchained()),
        *(*renaming_chains(), *store_chains()),
    )


def _loads() -> Iterator[MemoryChain]:
    """From an address to what is loaded from there."""
    for words, address in _ADDRESSES.items():
        load = Instruction.create_reg_mem(Code.MOV_R64_RM64, Register.RBX, address)
        link = ChainLink("mov GPR[64]:W, MEM[64]:R", f"2 address {words}", "1")
        yield MemoryChain(0, 64, "general", words, DependencyChain(encoded([load]), (link,)))
    base = _ADDRESSES["[base]"]
    for width, (code, hole, text) in LOADS.items():
        if width == GPR64.width:
            continue
        load = Instruction.create_reg_mem(code, register_of(hole, _VALUE), base)
        back = [assembled(Code.XOR_RM64_R64, (GPR64, _CHASED), (GPR64, _VALUE))] * 2
        links = ChainLink(text, "2 address", "1"), XOR_SOURCE, XOR_SAME
        yield MemoryChain(0, width, "general", "[base]", DependencyChain(encoded([load, *back]), links))
    for width, (_, code, hole, mnemonic) in VECTOR_MOVES.items():
        if width > YMM.width:
            continue
        load = Instruction.create_reg_mem(code, register_of(hole, _VALUE), base)
        down = assembled(Code.VEX_VMOVQ_RM64_XMM, (GPR64, _VALUE), (XMM, _VALUE))
        back = [assembled(Code.XOR_RM64_R64, (GPR64, _CHASED), (GPR64, _VALUE))] * 2
        through = (
            ChainLink(f"{mnemonic} {hole.name}:W, MEM[{width}]:R", "2 address", "1"),
            *(ChainLink("vmovq GPR[64]:W, XMM:R", "2", "1"), XOR_SOURCE, XOR_SAME),
        )
        chain = DependencyChain(encoded([load, down, *back]), through)
        yield MemoryChain(0, width, "vector", "[base]", chain, isolated=False)


def _forwarded() -> Iterator[MemoryChain]:
    """From what is stored to what is loaded by the same register, both widths and the distance varied."""
    for stored, loaded, offset in _GENERAL_PAIRS:
        yield from _chains(stored, loaded, offset, SAME, MemoryOperand(Register.RSI), _at(offset))


def _addressed() -> Iterator[MemoryChain]:
    """Of one width, to the same place in other ways."""
    other = MemoryOperand(Register.RDI)
    indexed = MemoryOperand(Register.RSI, Register.RCX, 1)
    relative = MemoryOperand(Register.RIP, displ=_RIP_TARGET, displ_size=8)
    for width in (64, 32):
        yield from _chains(width, width, 0, OTHER, MemoryOperand(Register.RSI), other)
        yield from _chains(width, width, 0, "base and index", indexed, indexed)
        yield from _chains(width, width, 0, "base and displacement", _at(64), _at(64))
        yield from _chains(width, width, 0, "instruction pointer", relative, relative)


def _through_the_stack() -> Iterator[MemoryChain]:
    slot = MemoryOperand(Register.RSP, displ=8, displ_size=1)
    yield from _chains(64, 64, 0, "stack pointer", slot, slot)
    for between in _BETWEEN:
        push = Instruction.create_reg(Code.PUSH_R64, Register.RAX)
        pop = Instruction.create_reg(Code.POP_R64, Register.RAX)
        yield _chain(64, 64, 0, "push and pop", [push, pop], between)


def _at(offset: int) -> MemoryOperand:
    return MemoryOperand(Register.RSI, displ=offset, displ_size=1 if offset else 0)


def _chains(
    stored: int, loaded: int, offset: int, address: str, there: MemoryOperand, here: MemoryOperand
) -> Iterator[MemoryChain]:
    code, hole = STORES[stored]
    store = Instruction.create_mem_reg(code, there, register_of(hole, _VALUE))
    load_code, load_hole, _ = LOADS[loaded]
    load = Instruction.create_reg_mem(load_code, register_of(load_hole, _VALUE), here)
    for between in _BETWEEN:
        yield _chain(stored, loaded, offset, address, [store, load], between)


def _chain(
    stored: int, loaded: int, offset: int, address: str, through: list[Instruction], between: int
) -> MemoryChain:
    again, link = EXTEND[32]
    steps = [assembled(again, (GPR64, _VALUE), (GPR32, _VALUE))] * between
    links = (_link(stored, loaded, offset, address, "general"), *(link,) * between)
    code = encoded([*through, *steps])
    code += b"\x90" * (-len(code) % _ALIGNED)
    chain = DependencyChain(code, links)
    return MemoryChain(stored, loaded, "general", address, chain, offset, between)


def _vectors() -> Iterator[MemoryChain]:
    for stored, loaded, offset in _VECTOR_PAIRS:
        store_code, _, store_hole, _ = VECTOR_MOVES[stored]
        _, load_code, load_hole, _ = VECTOR_MOVES[loaded]
        store = Instruction.create_mem_reg(
            store_code, MemoryOperand(Register.RSI), register_of(store_hole, _VALUE)
        )
        load = Instruction.create_reg_mem(load_code, register_of(load_hole, _VALUE), _at(offset))
        hole = load_hole
        again = VECTORS[hole.width][0]
        step = assembled(again.leads, *((hole, _VALUE),) * 3)
        for between in _BETWEEN:
            links = (
                _link(stored, loaded, offset, SAME, "vector"),
                *(again.lead,) * between,
            )
            chain = DependencyChain(encoded([store, load, *[step] * between]), links)
            yield MemoryChain(stored, loaded, "vector", SAME, chain, offset, between)


def _unchained() -> Iterator[MemoryChain]:
    """For throughput: loads and stores alone, and loads that cannot have what was stored."""
    code, hole = STORES[64]
    for lines, offsets in _STORED_TO.items():
        stores = [
            Instruction.create_mem_reg(code, _at(offset), register_of(hole, _VALUE)) for offset in offsets
        ]
        chain = DependencyChain(encoded(stores), (), loop=True, instances=len(stores))
        yield MemoryChain(64, 0, "general", lines, chain)
    load_code, load_hole, _ = LOADS[64]
    loads = [
        Instruction.create_reg_mem(load_code, register_of(load_hole, number), _at(0)) for number in range(4)
    ]
    chain = DependencyChain(encoded(loads), (), loop=True, instances=len(loads))
    yield MemoryChain(0, 64, "general", ONE_WORD, chain)
    store_code, store_hole = STORES[8]
    store = Instruction.create_mem_reg(store_code, _at(0), register_of(store_hole, _VALUE))
    yield MemoryChain(8, 64, "general", BLOCKED, DependencyChain(encoded([store, loads[-1]]), (), loop=True))
    store = Instruction.create_mem_reg(code, _at(0), register_of(hole, _VALUE))
    far = MemoryOperand(Register.RDI, displ=PAGE_BYTES, displ_size=8)
    aliased = Instruction.create_reg_mem(load_code, register_of(load_hole, _CHASED), far)
    chain = DependencyChain(encoded([store, aliased]), (), loop=True)
    yield MemoryChain(64, 64, "general", OTHER_PAGE, chain)
    chasing = Instruction.create_reg_mem(
        load_code, register_of(load_hole, _CHASED), MemoryOperand(Register.RBX)
    )
    chain = DependencyChain(encoded([store, chasing]), (), loop=True)
    yield MemoryChain(64, 64, "general", FORESEEN, chain)
    pop = Instruction.create_reg(Code.POP_R64, Register.RAX)
    back = Instruction.create_reg_i32(Code.SUB_RM64_IMM8, Register.RSP, 8)
    yield MemoryChain(0, 64, "general", BEHIND_POP, DependencyChain(encoded([pop, back]), (), loop=True))
    push = Instruction.create_reg(Code.PUSH_R64, Register.RAX)
    yield MemoryChain(0, 64, "general", POPS, DependencyChain(encoded([pop]), (), loop=True))
    yield MemoryChain(64, 0, "general", PUSHES, DependencyChain(encoded([push]), (), loop=True))
    beside = DependencyChain(encoded([pop, loads[1]]), (), loop=True)
    yield MemoryChain(0, 64, "general", POP_AND_LOAD, beside)


def _link(stored: int, loaded: int, offset: int, address: str, register: str) -> ChainLink:
    """The way from what is stored to what is loaded, in words: it is none through a scheme."""
    told = (
        f"store of {stored} and load of {loaded} bits, {register} registers, {address}, {offset} bytes apart"
    )
    return ChainLink(told, "stored", "loaded")
