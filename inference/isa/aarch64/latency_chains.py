"""The latency facet of AArch64 (`inference.isa.facets.LatencyChainMaker`), and chains through memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inference.isa.aarch64.chains import (
    AND,
    EOR_FIRST,
    EOR_SECOND,
    EXTEND,
    FROM_VECTOR,
    LOAD_BASE,
    STORE_BASE,
    chains_of_pairs,
    connectors,
    frame,
    links_of,
)
from inference.isa.aarch64.idioms import code_of, idioms_of, reference_additions
from inference.isa.chains import (
    HALVES_IN_TURN,
    LINES_IN_TURN,
    PARTIAL_STORE,
    SAME_LINE,
    SAME_WORD,
    THREE_THEN_OTHER,
    ChainLink,
    DependencyChain,
    MemoryChain,
)

_SAME = "same base"
_BETWEEN = (1, 10)
"""Connectors between a load and the next store."""

_LINE = 64
_LOADS = {
    # bits: the load's mnemonic, its register and what its text calls it
    64: ("ldr", "x", "GPR[64]"),
    32: ("ldr", "w", "GPR[32]"),
    16: ("ldrh", "w", "GPR[32]"),
    8: ("ldrb", "w", "GPR[32]"),
}
_VECTORS = {128: ("q", "FPR[128]"), 64: ("d", "FPR[64]")}
_GENERAL_PAIRS = (
    # bits stored, bits loaded, bytes from the one to the other
    *((width, width, 0) for width in (64, 32, 16, 8)),
    *((64, 32, 0), (64, 16, 0), (64, 8, 0), (64, 32, 4), (64, 8, 7), (32, 16, 2)),
    *((32, 64, 0), (16, 64, 0), (8, 64, 0), (8, 32, 0)),
    *((64, 64, 4), (64, 64, 1), (32, 32, 2)),
)
_VECTOR_PAIRS = ((128, 128, 0), (64, 64, 0), (128, 64, 0), (128, 64, 8), (64, 128, 0), (128, 128, 8))
_STORE_OFFSETS = {
    SAME_LINE: (0, 8),
    HALVES_IN_TURN: (0, _LINE // 2),
    LINES_IN_TURN: (0, _LINE),
    THREE_THEN_OTHER: (0, 8, 16, _LINE),
}


def memory_chains() -> tuple[MemoryChain, ...]:
    return (*_loads(), *_forwarded(), *_unchained())


def _loads() -> Iterator[MemoryChain]:
    restore = [f"eor x{LOAD_BASE}, x{LOAD_BASE}, x0"] * 2
    for width, (mnemonic, letter, name) in _LOADS.items():
        link = ChainLink(f"{mnemonic} {name}:W, MEM[{width}]:R", "2 address", "1")
        lines = [f"{mnemonic} {letter}0, [x{LOAD_BASE}]", *restore]
        yield MemoryChain(0, width, "general", "[base]", _chain(lines, (link, EOR_SECOND, EOR_FIRST)))
    for width, (letter, name) in _VECTORS.items():
        link = ChainLink(f"ldr {name}:W, MEM[{width}]:R", "2 address", "1")
        lines = [f"ldr {letter}0, [x{LOAD_BASE}]", "fmov x0, d0", *restore]
        chain = _chain(lines, (link, FROM_VECTOR, EOR_SECOND, EOR_FIRST))
        yield MemoryChain(0, width, "vector", "[base]", chain, isolated=False)


def _forwarded() -> Iterator[MemoryChain]:
    for stored, loaded, offset in _GENERAL_PAIRS:
        store, letter, _ = _LOADS[stored]
        load, loading, _ = _LOADS[loaded]
        lines = [
            f"{store.replace('ld', 'st')} {letter}0, [x{STORE_BASE}]",
            f"{load} {loading}0, [x{STORE_BASE}, #{offset}]",
        ]
        yield from _closed(stored, loaded, offset, "general", lines, "sxtw x0, w0", EXTEND)
    for stored, loaded, offset in _VECTOR_PAIRS:
        lines = [
            f"str {_VECTORS[stored][0]}0, [x{STORE_BASE}]",
            f"ldr {_VECTORS[loaded][0]}0, [x{STORE_BASE}, #{offset}]",
        ]
        yield from _closed(stored, loaded, offset, "vector", lines, "and v0.16b, v0.16b, v0.16b", AND)


def _closed(
    stored: int, loaded: int, offset: int, bank: str, lines: Sequence[str], step: str, connector: ChainLink
) -> Iterator[MemoryChain]:
    """A store and a load of its value, with connectors from the one to the other."""
    words = f"store of {stored} and load of {loaded} bits, {bank} registers, {_SAME}, {offset} bytes apart"
    for between in _BETWEEN:
        links = (ChainLink(words, "stored", "loaded"), *[connector] * between)
        chain = _chain([*lines, *[step] * between], links)
        yield MemoryChain(stored, loaded, bank, _SAME, chain, offset, between)


def _unchained() -> Iterator[MemoryChain]:
    """Codes for throughput: loads and stores alone, and a load that is wider than the store before it."""
    for lines, offsets in _STORE_OFFSETS.items():
        stores = [f"str x0, [x{STORE_BASE}, #{offset}]" for offset in offsets]
        yield MemoryChain(64, 0, "general", lines, _chain(stores, (), len(stores)))
    loads = [f"ldr x{number}, [x{LOAD_BASE}]" for number in range(4)]
    yield MemoryChain(0, 64, "general", SAME_WORD, _chain(loads, (), len(loads)))
    partial = [f"strb w0, [x{STORE_BASE}]", f"ldr x3, [x{STORE_BASE}]"]
    yield MemoryChain(8, 64, "general", PARTIAL_STORE, _chain(partial, ()))


def _chain(lines: Sequence[str], links: tuple[ChainLink, ...], instances: int = 1) -> DependencyChain:
    return DependencyChain(code_of(lines), links, loop=True, instances=instances, listing=tuple(lines))


__all__ = [
    "chains_of_pairs",
    "connectors",
    "frame",
    "idioms_of",
    "links_of",
    "memory_chains",
    "mixer",
    "reference_additions",
]


def mixer() -> None:
    """None: latencies beside other instructions are not measured."""
