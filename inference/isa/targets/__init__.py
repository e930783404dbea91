"""The instruction sets that have a folder here, by name. Only this package imports these folders.

A folder is imported when its instruction set is used, and a facet of it when that is.
"""

from __future__ import annotations

from collections.abc import Callable

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
