"""The instruction sets with a folder here, by name. Only this package imports the folders.

A folder is imported when its instruction set is first used, and a facet likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from inference.isa.chains import ChainLink, Latency
from inference.isa.target import IsaTarget

X86, AARCH64, RISCV = "x86-64", "AArch64", "RISC-V"
DEFAULT = X86
"""The instruction set of machine code and texts that name none."""


def _x86() -> IsaTarget:
    from inference.isa.x86.target import TARGET  # imported when it is used

    return TARGET


def _aarch64() -> IsaTarget:
    from inference.isa.aarch64.target import TARGET  # imported when it is used

    return TARGET


def _riscv64() -> IsaTarget:
    from inference.isa.riscv64.target import TARGET  # imported when it is used

    return TARGET


FOLDERS: dict[str, Callable[[], IsaTarget]] = {X86: _x86, AARCH64: _aarch64, RISCV: _riscv64}


def target_of(name: str) -> IsaTarget:
    """The instruction set of this name; one without a folder has no facets."""
    return FOLDERS[name]() if name in FOLDERS else IsaTarget(name)


def code_target(name: str) -> IsaTarget:
    """The instruction set of this name where it has a folder, else `DEFAULT`.

    Imported sets of schemes have names of their own; their machines execute code of `DEFAULT`.
    """
    return target_of(name if name in FOLDERS else DEFAULT)


def names_with_blocks() -> list[str]:
    """The instruction sets whose blocks can be decoded."""
    return [target.name for target in targets() if target.blocks is not None]


def names_with_operands() -> list[str]:
    """The instruction sets with random blocks."""
    return [target.name for target in targets() if target.operands is not None]


def sampling_groups() -> tuple[str, ...]:
    """The sampling groups of all targets, in alphabetical order."""
    return tuple(sorted({group for target in targets() for group in target.sampling_groups}))


def preferred_schemes() -> tuple[str, ...]:
    """The schemes that best represent others with the same ports, of all instruction sets; the best first."""
    return tuple(text for target in targets() for text in target.schemes.preferred)


@cache
def plain_loads() -> tuple[str, ...]:
    """The schemes that stand for every load, of all instruction sets."""
    return tuple(filter(None, (target.plain_load for target in targets())))


def plain_stores() -> tuple[str, ...]:
    """The schemes that stand for every store, of all instruction sets."""
    return tuple(filter(None, (target.plain_store for target in targets())))


def targets() -> list[IsaTarget]:
    """All instruction sets with a folder."""
    return [target_of(name) for name in FOLDERS]


def documented_cpi(core: str) -> Mapping[str, tuple[float, str]]:
    """{scheme text: (cycles per instruction, source)}; empty for an undocumented core."""
    return next(filter(None, (target.textbook.documented_cpi(core) for target in targets())), {})


def documented_latencies(core: str) -> Mapping[ChainLink, Latency]:
    """The documented latencies of a core, in cycles; empty for an undocumented core."""
    return next(filter(None, (target.textbook.documented_latencies(core) for target in targets())), {})


def documented_latency(core: str, link: ChainLink) -> Latency | None:
    """The smallest and largest documented latency of a link on a core, in cycles; None without."""
    return documented_latencies(core).get(link)


def latency_source(core: str) -> str:
    """The document of a core's latencies; "" for an undocumented core."""
    return next(filter(None, (target.textbook.latency_source(core) for target in targets())), "")
