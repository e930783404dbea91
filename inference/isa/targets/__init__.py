"""The instruction sets that have a folder here, by name. Only this package imports these folders.

A folder is imported when its instruction set is used, and a facet of it when that is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from inference.isa.chains import ChainLink, Latency
from inference.isa.target import IsaTarget

X86, AARCH64 = "x86-64", "AArch64"
DEFAULT = X86
"""The instruction set of machine code and texts that name none."""


def _x86() -> IsaTarget:
    from inference.isa.x86.target import TARGET  # imported when it is used

    return TARGET


def _aarch64() -> IsaTarget:
    from inference.isa.aarch64.target import TARGET  # imported when it is used

    return TARGET


FOLDERS: dict[str, Callable[[], IsaTarget]] = {X86: _x86, AARCH64: _aarch64}


def target_of(name: str) -> IsaTarget:
    """The instruction set of this name; one that has no folder has no facets."""
    return FOLDERS[name]() if name in FOLDERS else IsaTarget(name)


def code_target(name: str) -> IsaTarget:
    """The instruction set itself where it has a folder, else `DEFAULT`.

    Sets of schemes from files have names of their own; their machines execute what `DEFAULT` is.
    """
    return target_of(name if name in FOLDERS else DEFAULT)


def names_with_blocks() -> list[str]:
    """The instruction sets whose blocks can be read, and their cores be asked about them."""
    return [target.name for target in targets() if target.blocks is not None]


def names_with_operands() -> list[str]:
    """The instruction sets of which random blocks can be made."""
    return [target.name for target in targets() if target.operands is not None]


def sampling_groups() -> tuple[str, ...]:
    """The groups that the targets have, each once, in alphabetical order."""
    return tuple(sorted({group for target in targets() for group in target.sampling_groups}))


def preferred_schemes() -> tuple[str, ...]:
    """The schemes of all instruction sets that stand best for others with the same ports, the best first."""
    return tuple(text for target in targets() for text in target.schemes.preferred)


def targets() -> list[IsaTarget]:
    """All that have a folder."""
    return [target_of(name) for name in FOLDERS]


def known_cpi(core: str) -> Mapping[str, tuple[float, str]]:
    """{scheme text: (cycles per instruction, source)}; empty for a core without documents."""
    return next(filter(None, (target.textbook.known_cpi(core) for target in targets())), {})


def known_latencies(core: str) -> Mapping[ChainLink, Latency]:
    """What is documented of the latencies of a core; empty for one without documents."""
    return next(filter(None, (target.textbook.known_latencies(core) for target in targets())), {})


def documented_latency(core: str, link: ChainLink) -> Latency | None:
    """The least and the most cycles that a link takes on a core; None where that is not documented."""
    return known_latencies(core).get(link)


def latency_source(core: str) -> str:
    """Who says so; "" of a core without documents."""
    return next(filter(None, (target.textbook.latency_source(core) for target in targets())), "")
