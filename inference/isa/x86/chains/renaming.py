"""Chains that show when a core renames memory: a stored value is available at once for its load.

Each is a store and a load of one place, or an instruction that does both, under a condition of some cores:
the address register is not written in between, few other stores are in between, few such loads are in the
loop. Registers start alike, so that two of them point to one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iced_x86 import Code, Instruction, MemoryOperand, Register

from inference.isa.chains import ChainLink, DependencyChain, MemoryChain, MemoryCondition
from inference.isa.x86.chains.chain_maker import encode
from inference.isa.x86.chains.connectors import (
    EXTEND,
    LOADS,
    VECTOR_MOVES,
    VECTORS,
    XOR_SOURCE,
    assemble,
    register_of,
)
from inference.isa.x86.holes import GPR8, GPR16, GPR32, GPR64, XMM, YMM
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.register_choices import LINE

SAME = "same base"
BY_LEA, BY_MOVE, BY_LOAD = (f"{SAME}, written by {writer}" for writer in ("lea", "a move", "a load"))
OTHER_STORES = (*range(1, 17), 20, 24)  # between a store and the load of its value
IN_LOOP = (*range(8, 65, 4), 80, 96, 128)
"""Pairs, or updates, in a loop."""

_VALUE, _OTHER_VALUE = 0, 2  # numbers of registers with a fixed use in all chains
_BETWEEN = (1, 10)  # connectors between store and load
_OUTLASTS = 20
"""Connectors: their chain takes longer than all other stores at two per cycle, and mostly at one, but without
the latency of forwarding."""

_UNLEARNED = 130
"""Copies of a store and its load behind others: more than a core's predictor distinguishes."""

_LOOP_INSTRUCTIONS = 100
"""The least instructions of a loop's two copies together: then there are no more copies (`usual_copies`)."""

_NOP = b"\x90"
_WORD = 8  # bytes
STORES = {
    8: (Code.MOV_RM8_R8, GPR8),
    16: (Code.MOV_RM16_R16, GPR16),
    32: (Code.MOV_RM32_R32, GPR32),
    64: (Code.MOV_RM64_R64, GPR64),
}
_CONTAINED = (
    # bits stored, bits loaded, bytes from the one to the other
    *((width, width, 0) for width in (64, 32, 16, 8)),
    *((64, 32, 0), (64, 16, 0), (64, 8, 0), (64, 32, 4), (64, 8, 7), (32, 16, 2)),
)


def renaming_chains() -> tuple[MemoryChain, ...]:
    """All chains; those of vectors need AVX2."""
    return (
        *(*_rewritten(), *_rewritten_vectors(), *_computing_chains()),
        *(*_behind_stores(), *_pairs_in_loop(), *_updates()),
    )


def _rewritten() -> Iterator[MemoryChain]:
    for stored, loaded, offset in _CONTAINED:
        yield from _pairs(stored, loaded, offset, BY_LEA, _lea(Register.RSI))
    move = Instruction.create_reg_reg(Code.MOV_R64_RM64, Register.RSI, Register.R8)
    yield from _pairs(64, 64, 0, BY_MOVE, move)
    yield from _pairs(64, 64, 0, BY_LOAD, _loaded_address())


def _loaded_address() -> Instruction:
    return Instruction.create_reg_mem(Code.MOV_R64_RM64, Register.RSI, _at(Register.R8, 2 * LINE))


def _pairs(
    stored: int, loaded: int, offset: int, address: str, writing: Instruction
) -> Iterator[MemoryChain]:
    for between in _BETWEEN:
        through = [_store(stored), writing, _load(loaded, offset)]
        link = _link(f"store of {stored} and load of {loaded} bits, {offset} bytes apart", address)
        chain = DependencyChain(encode([*through, *_extensions(between)]), (link, *_extension_links(between)))
        condition = MemoryCondition.REWRITTEN
        yield MemoryChain(stored, loaded, "general", address, chain, offset, between, condition=condition)


def _rewritten_vectors() -> Iterator[MemoryChain]:
    """Stores and loads of vectors whose address register is written anew between the two."""
    for width, hole in ((128, XMM), (256, YMM)):
        store, load, _, _ = VECTOR_MOVES[width]
        register = register_of(hole, _VALUE)
        through = [
            Instruction.create_mem_reg(store, _at(Register.RSI), register),
            _lea(Register.RSI),
            Instruction.create_reg_mem(load, register, _at(Register.RSI)),
        ]
        connector = VECTORS[width][0]
        step = assemble(connector.and_code, *((hole, _VALUE),) * 3)
        link = _link(f"store and load of {width} bits by vector registers", BY_LEA)
        for between in _BETWEEN:
            links = (link, *(connector.and_link,) * between)
            chain = DependencyChain(encode([*through, *[step] * between]), links)
            condition = MemoryCondition.REWRITTEN
            yield MemoryChain(width, width, "vector", BY_LEA, chain, 0, between, condition=condition)


def _computing_chains() -> Iterator[MemoryChain]:
    """Stored values that an instruction loads and computes with, the address unchanged."""
    operation = Instruction.create_reg_mem(Code.XOR_R64_RM64, register_of(GPR64, _VALUE), _at(Register.RSI))
    for between in _BETWEEN:
        links = (_link("store, and operation on what it wrote", SAME), XOR_SOURCE, *_extension_links(between))
        chain = DependencyChain(encode([_store(64), operation, *_extensions(between)]), links)
        condition = MemoryCondition.COMPUTING
        yield MemoryChain(64, 64, "general", SAME, chain, 0, between, condition=condition)


def _behind_stores() -> Iterator[MemoryChain]:
    for number in OTHER_STORES:
        stores = [
            Instruction.create_mem_reg(
                Code.MOV_RM64_R64,
                _at(Register.RDI, LINE + _WORD * (k % _WORD)),
                register_of(GPR64, _OTHER_VALUE),
            )
            for k in range(number)
        ]
        code = encode([_store(64), *stores, _load(64), *_extensions(_OUTLASTS)])
        links = (_link(f"store and load behind {number} other stores", SAME), *_extension_links(_OUTLASTS))
        chain = DependencyChain(code, links, copies=_UNLEARNED)
        condition = MemoryCondition.OTHER_STORES
        yield MemoryChain(64, 64, "general", SAME, chain, 0, _OUTLASTS, condition=condition, number=number)


def _pairs_in_loop() -> Iterator[MemoryChain]:
    load = Instruction.create_reg_mem(Code.MOV_R64_RM64, register_of(GPR64, _VALUE), _at(Register.RDI))
    for number in IN_LOOP:
        between = max(-(-_LOOP_INSTRUCTIONS // number) - 2, 1)
        code = encode([_store(64), load, *_extensions(between)])
        links = (_link("store and load by two registers, in a loop", ""), *_extension_links(between))
        chain = DependencyChain(code * (number // 2), links * (number // 2), loop=True)
        condition = MemoryCondition.PAIRS_IN_LOOP
        yield MemoryChain(
            64, 64, "general", "another base", chain, 0, between, condition=condition, number=number
        )


def _updates() -> Iterator[MemoryChain]:
    """Read-modify-write instructions at one place, with the address unchanged, computed anew, or loaded."""
    by_rsi, by_rdi = (
        Instruction.create_mem_reg(Code.ADD_RM64_R64, _at(base), register_of(GPR64, _VALUE))
        for base in (Register.RSI, Register.RDI)
    )
    writing = _lea(Register.RSI)
    yield _update(SAME, MemoryCondition.UPDATE, [by_rsi])
    yield _update(BY_LEA, MemoryCondition.REWRITTEN_UPDATE, [writing, by_rsi])
    yield _update(BY_LOAD, MemoryCondition.REWRITTEN_UPDATE, [_loaded_address(), by_rsi])
    yield _update("two bases in turn", MemoryCondition.OVERTAKEN, [by_rsi, by_rdi], updates=2)
    for number in IN_LOOP:
        fill = max(-(-_LOOP_INSTRUCTIONS // number) - 2, 0)
        code = (encode([writing, by_rsi]) + _NOP * fill) * (number // 2)
        links = (_link("update in a loop", BY_LEA),) * (number // 2)
        yield MemoryChain(
            64,
            64,
            "general",
            BY_LEA,
            DependencyChain(code, links, loop=True),
            condition=MemoryCondition.UPDATES_IN_LOOP,
            number=number,
        )


def _update(
    address: str, condition: MemoryCondition, code: Sequence[Instruction], updates: int = 1
) -> MemoryChain:
    chain = DependencyChain(encode(code), (_link(str(condition), address),) * updates)
    return MemoryChain(64, 64, "general", address, chain, condition=condition)


def _store(bits: int) -> Instruction:
    code, hole = STORES[bits]
    return Instruction.create_mem_reg(code, _at(Register.RSI), register_of(hole, _VALUE))


def _load(bits: int, offset: int = 0) -> Instruction:
    code, hole, _ = LOADS[bits]
    return Instruction.create_reg_mem(code, register_of(hole, _VALUE), _at(Register.RSI, offset))


def _lea(register: RegisterValue) -> Instruction:
    return Instruction.create_reg_mem(Code.LEA_R64_M, register, MemoryOperand(register))


def _at(base: RegisterValue, offset: int = 0) -> MemoryOperand:
    return MemoryOperand(base, displ=offset, displ_size=(1 if offset < 2 * LINE else 8) if offset else 0)


def _extensions(times: int) -> list[Instruction]:
    return [assemble(EXTEND[32][0], (GPR64, _VALUE), (GPR32, _VALUE))] * times


def _extension_links(times: int) -> tuple[ChainLink, ...]:
    return (EXTEND[32][1],) * times


def _link(words: str, address: str) -> ChainLink:
    """The way from a stored to a loaded value, in words: it does not belong to a scheme."""
    return ChainLink(f"{words}, {address}" if address else words, "stored", "loaded")
