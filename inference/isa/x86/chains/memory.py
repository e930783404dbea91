"""Chains through memory: from an address to a loaded value, and from a stored to a loaded value.

All memory contains the number that every register starts with, so that a loaded address leads to memory
again, plus any offset.
"""

from __future__ import annotations

from collections.abc import Iterator

from iced_x86 import Code, Instruction, MemoryOperand, Register

from inference.isa.chains import (
    AFTER_POP,
    HALVES_IN_TURN,
    LINES_IN_TURN,
    OTHER_PAGE,
    PARTIAL_STORE,
    POP_AND_LOAD,
    POPS,
    PREDICTED_ADDRESS,
    PUSHES,
    SAME_LINE,
    SAME_WORD,
    THREE_THEN_OTHER,
    ChainLink,
    DependencyChain,
    MemoryChain,
)
from inference.isa.dependences import MEMORY_BYTES
from inference.isa.x86.chains.chain_maker import encode
from inference.isa.x86.chains.connectors import (
    EXTEND,
    LOADS,
    VECTOR_MOVES,
    VECTORS,
    XOR_SAME,
    XOR_SOURCE,
    assemble,
    register_of,
)
from inference.isa.x86.chains.renaming import SAME, STORES, renaming_chains
from inference.isa.x86.chains.store_lines import store_chains
from inference.isa.x86.holes import GPR32, GPR64, XMM, YMM
from inference.isa.x86.instances import ADDRESS_OF_CODE
from inference.isa.x86.register_choices import LINE

OTHER = "another base"
_VALUE, _BASE, _OTHER_BASE, _INDEX, _CHASED = 0, 6, 7, 1, 3
"""Numbers of registers with a fixed use in all chains."""

_BETWEEN = (1, 10)
_FAR = 0x0012_3450  # a displacement that needs 32 bits
_RIP_TARGET = ADDRESS_OF_CODE + 0x10_0000  # an address that 32 bits reach from the code
_ALIGNED = 16
"""Bytes; copies with rip-relative memory have equal alignment."""

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
_STORE_OFFSETS = {
    SAME_LINE: (0, 8),
    HALVES_IN_TURN: (0, LINE // 2),
    LINES_IN_TURN: (0, LINE),
    THREE_THEN_OTHER: (0, 8, 16, LINE),
}
"""Offsets from an aligned address of consecutive stores."""

_VECTOR_PAIRS = (
    *((128, 128, 0), (256, 256, 0), (256, 128, 0), (256, 128, 16), (128, 256, 0), (128, 128, 8)),
    (512, 512, 0),
)


def memory_chains() -> tuple[MemoryChain, ...]:
    """All chains; those of vectors need AVX2 or, for 512 bits, AVX-512."""
    return (
        *(
            *_loads(),
            *_forwarding_chains(),
            *_address_variants(),
            *_through_the_stack(),
            *_vectors(),
            *_throughput_codes(),
        ),
        *(*renaming_chains(), *store_chains()),
    )


def _loads() -> Iterator[MemoryChain]:
    """Chains of loads whose address is the value loaded before: by each form of address, width and bank."""
    for words, address in _ADDRESSES.items():
        load = Instruction.create_reg_mem(Code.MOV_R64_RM64, Register.RBX, address)
        link = ChainLink("mov GPR[64]:W, MEM[64]:R", f"2 address {words}", "1")
        yield MemoryChain(0, 64, "general", words, DependencyChain(encode([load]), (link,)))
    base = _ADDRESSES["[base]"]
    for width, (code, hole, text) in LOADS.items():
        if width == GPR64.width:
            continue
        load = Instruction.create_reg_mem(code, register_of(hole, _VALUE), base)
        xors = [assemble(Code.XOR_RM64_R64, (GPR64, _CHASED), (GPR64, _VALUE))] * 2
        links = ChainLink(text, "2 address", "1"), XOR_SOURCE, XOR_SAME
        yield MemoryChain(0, width, "general", "[base]", DependencyChain(encode([load, *xors]), links))
    for width, (_, code, hole, mnemonic) in VECTOR_MOVES.items():
        if width > YMM.width:
            continue
        load = Instruction.create_reg_mem(code, register_of(hole, _VALUE), base)
        down = assemble(Code.VEX_VMOVQ_RM64_XMM, (GPR64, _VALUE), (XMM, _VALUE))
        xors = [assemble(Code.XOR_RM64_R64, (GPR64, _CHASED), (GPR64, _VALUE))] * 2
        through = (
            ChainLink(f"{mnemonic} {hole.name}:W, MEM[{width}]:R", "2 address", "1"),
            *(ChainLink("vmovq GPR[64]:W, XMM:R", "2", "1"), XOR_SOURCE, XOR_SAME),
        )
        chain = DependencyChain(encode([load, down, *xors]), through)
        yield MemoryChain(0, width, "vector", "[base]", chain, isolated=False)


def _forwarding_chains() -> Iterator[MemoryChain]:
    """Chains from a store to a load by the same register, with various widths and distances."""
    for stored, loaded, offset in _GENERAL_PAIRS:
        yield from _chains(stored, loaded, offset, SAME, MemoryOperand(Register.RSI), _at(offset))


def _address_variants() -> Iterator[MemoryChain]:
    """Equal widths and places, addressed in other ways."""
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
    stored: int, loaded: int, offset: int, address: str, store_at: MemoryOperand, load_at: MemoryOperand
) -> Iterator[MemoryChain]:
    code, hole = STORES[stored]
    store = Instruction.create_mem_reg(code, store_at, register_of(hole, _VALUE))
    load_code, load_hole, _ = LOADS[loaded]
    load = Instruction.create_reg_mem(load_code, register_of(load_hole, _VALUE), load_at)
    for between in _BETWEEN:
        yield _chain(stored, loaded, offset, address, [store, load], between)


def _chain(
    stored: int, loaded: int, offset: int, address: str, through: list[Instruction], between: int
) -> MemoryChain:
    extension, link = EXTEND[32]
    steps = [assemble(extension, (GPR64, _VALUE), (GPR32, _VALUE))] * between
    links = (_link(stored, loaded, offset, address, "general"), *(link,) * between)
    code = encode([*through, *steps])
    code += b"\x90" * (-len(code) % _ALIGNED)
    chain = DependencyChain(code, links)
    return MemoryChain(stored, loaded, "general", address, chain, offset, between)


def _vectors() -> Iterator[MemoryChain]:
    """Chains of a vector store and a load of what it wrote, wholly or in part."""
    for stored, loaded, offset in _VECTOR_PAIRS:
        store_code, _, store_hole, _ = VECTOR_MOVES[stored]
        _, load_code, load_hole, _ = VECTOR_MOVES[loaded]
        store = Instruction.create_mem_reg(
            store_code, MemoryOperand(Register.RSI), register_of(store_hole, _VALUE)
        )
        load = Instruction.create_reg_mem(load_code, register_of(load_hole, _VALUE), _at(offset))
        hole = load_hole
        connector = VECTORS[hole.width][0]
        step = assemble(connector.and_code, *((hole, _VALUE),) * 3)
        for between in _BETWEEN:
            links = (
                _link(stored, loaded, offset, SAME, "vector"),
                *(connector.and_link,) * between,
            )
            chain = DependencyChain(encode([store, load, *[step] * between]), links)
            yield MemoryChain(stored, loaded, "vector", SAME, chain, offset, between)


def _throughput_codes() -> Iterator[MemoryChain]:
    """Codes for throughput: loads and stores alone, and loads without forwarding."""
    code, hole = STORES[64]
    for lines, offsets in _STORE_OFFSETS.items():
        stores = [
            Instruction.create_mem_reg(code, _at(offset), register_of(hole, _VALUE)) for offset in offsets
        ]
        chain = DependencyChain(encode(stores), (), loop=True, instances=len(stores))
        yield MemoryChain(64, 0, "general", lines, chain)
    load_code, load_hole, _ = LOADS[64]
    loads = [
        Instruction.create_reg_mem(load_code, register_of(load_hole, number), _at(0)) for number in range(4)
    ]
    chain = DependencyChain(encode(loads), (), loop=True, instances=len(loads))
    yield MemoryChain(0, 64, "general", SAME_WORD, chain)
    store_code, store_hole = STORES[8]
    store = Instruction.create_mem_reg(store_code, _at(0), register_of(store_hole, _VALUE))
    chain = DependencyChain(encode([store, loads[-1]]), (), loop=True)
    yield MemoryChain(8, 64, "general", PARTIAL_STORE, chain)
    store = Instruction.create_mem_reg(code, _at(0), register_of(hole, _VALUE))
    far = MemoryOperand(Register.RDI, displ=MEMORY_BYTES, displ_size=8)
    aliased = Instruction.create_reg_mem(load_code, register_of(load_hole, _CHASED), far)
    chain = DependencyChain(encode([store, aliased]), (), loop=True)
    yield MemoryChain(64, 64, "general", OTHER_PAGE, chain)
    chasing = Instruction.create_reg_mem(
        load_code, register_of(load_hole, _CHASED), MemoryOperand(Register.RBX)
    )
    chain = DependencyChain(encode([store, chasing]), (), loop=True)
    yield MemoryChain(64, 64, "general", PREDICTED_ADDRESS, chain)
    pop = Instruction.create_reg(Code.POP_R64, Register.RAX)
    subtraction = Instruction.create_reg_i32(Code.SUB_RM64_IMM8, Register.RSP, 8)
    yield MemoryChain(0, 64, "general", AFTER_POP, DependencyChain(encode([pop, subtraction]), (), loop=True))
    push = Instruction.create_reg(Code.PUSH_R64, Register.RAX)
    yield MemoryChain(0, 64, "general", POPS, DependencyChain(encode([pop]), (), loop=True))
    yield MemoryChain(64, 0, "general", PUSHES, DependencyChain(encode([push]), (), loop=True))
    both = DependencyChain(encode([pop, loads[1]]), (), loop=True)
    yield MemoryChain(0, 64, "general", POP_AND_LOAD, both)


def _link(stored: int, loaded: int, offset: int, address: str, register: str) -> ChainLink:
    """The way from a stored to a loaded value, in words: it does not belong to a scheme."""
    description = (
        f"store of {stored} and load of {loaded} bits, {register} registers, {address}, {offset} bytes apart"
    )
    return ChainLink(description, "stored", "loaded")
