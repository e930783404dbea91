"""The values that the blocks of a run start with: of single registers, and others to measure with as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inference.core.protocols import Json
from inference.isa.blocks import Block, general_registers, reads_of
from inference.isa.start_values import StartValues, repetitions
from inference.measuring.blocks import BlockOptions
from inference.runs.errors import ConfigError

_PATTERNS = ("vector", "memory")
_MASKS = "masks"
NAMES = (*general_registers(), *_PATTERNS, _MASKS)
"""What can be given a value: registers, the pattern of all vectors or memory, masks (0, or 1 for ones)."""


@dataclass(frozen=True)
class StartedBlock:
    """A block of a run, by its index, to be measured with these values; `label` is "" for the run's own."""

    index: int
    label: str
    start: StartValues


def start_of(options: BlockOptions, values: Mapping[str, int]) -> StartValues:
    """What blocks start with: the values of the options, but for those that are named.

    Raises `ConfigError`.
    """
    for name, value in values.items():
        if name not in NAMES:
            raise ConfigError(f"values: {name!r} cannot be given a value; {', '.join(NAMES)} can")
        most = 1 if name == _MASKS else 2**64 - 1
        if not 0 <= value <= most:
            raise ConfigError(f"values: {name} must be a whole number from 0 to {most:,}, not {value}")
    usual = options.start
    registers = {name: values.get(name, value) for name, value in usual.registers.items()}
    patterns = {name: values[name] for name in _PATTERNS if name in values}
    return replace(usual, registers=registers, masks=bool(values.get(_MASKS, 1)), **patterns)


def started_blocks(blocks: Sequence[Block], start: StartValues, *, repeat: bool) -> list[StartedBlock]:
    """All blocks with the values of the run, then, to `repeat`, with others that they may depend on."""
    usual = [StartedBlock(index, "", start) for index in range(len(blocks))]
    if not repeat:
        return usual
    return usual + [
        StartedBlock(index, other.label, other.start)
        for index, block in enumerate(blocks)
        for other in repetitions(start, reads_of(block))
    ]


def with_values(result: Json, block: Block, started: StartedBlock) -> Json:
    """A result with the values that the block read."""
    return {**result, "values": started.label, "operands": reads_of(block).values(started.start)}
