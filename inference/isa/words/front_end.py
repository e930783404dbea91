"""Code that shows the front end of a core of words, of instructions that every such processor has.

Constants and register moves fill the slots of cores that need no port for them; of others, constants for both
kinds of registers and NOPs in turn do. Registers start with equal numbers, by which no branch is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from inference.isa.front_end import (
    SHORT_LOOPS,
    Aspect,
    FetchedInstruction,
    FrontEndCode,
    TimedCode,
    order_codes,
)
from inference.isa.words.accesses import DecodedInstruction, RegisterPart

_SIZES = (64, 128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144)
"""Instructions in loops; the longest of 4 bytes each have 24 KiB, less than an instruction cache of 32 KiB
holds."""

_STRAIGHT = 1600  # instructions in straight code
_JUMP_DISTANCES = {12: 30, 28: 30, 60: 20}
"""{bytes jumped over: jumps in a loop}: closer jumps share entries of a branch predictor."""

_MIXED = range(2, 7)  # NOPs in a mix of two lengths
_LOOP_NOPS = 6  # in the loop that is moved through a cache line
_OFFSETS = range(0, 64, 4)  # bytes from the beginning of a cache line
_FUSION_NOPS = 12


@dataclass(frozen=True)
class PairCode:
    """Two instructions that a core may fuse if they are adjacent; `registers`: see `TimedCode`."""

    aspect: Aspect
    name: str
    first: bytes
    second: bytes
    registers: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class WordFrontEnd:
    """The codes of an instruction set.

    Attributes:
        nops: {bytes of an instruction: a NOP of that length}, the usual one first.
        fillers: Instructions without ports by what they are called, without NOPs.
        jump: A jump over so many bytes.
        trap: What nothing reaches.
        untaken: A branch that is not taken.
        between: An instruction that keeps two others apart.
        pairs: Pairs that a core may fuse.
        orders: Producers of results and consumers of them, by the producers' name.
        decoded: Decodes machine code.
    """

    nops: Mapping[int, bytes]
    fillers: Mapping[str, Sequence[bytes]]
    jump: Callable[[int], bytes]
    trap: bytes
    untaken: bytes
    between: bytes
    pairs: Sequence[PairCode]
    orders: Mapping[str, tuple[Sequence[bytes], Sequence[bytes]]]
    decoded: Callable[[bytes], Sequence[DecodedInstruction]]

    @property
    def _nop(self) -> bytes:
        return next(iter(self.nops.values()))

    def front_end_codes(self, *, offsets: bool) -> tuple[FrontEndCode, ...]:
        """All codes; `offsets`: also loops that do not begin at a cache line."""
        return (
            *self._size_codes(),
            *self._short_loop_codes(),
            *self._straight_codes(),
            *self._mix_codes(),
            *self._jump_codes(),
            *(self._offset_codes() if offsets else ()),
            *(code for pair in self.pairs for code in self._pair_codes(pair)),
            *(code for name, both in self.orders.items() for code in order_codes(name, *both)),
        )

    def fetched_instructions(self, code: bytes) -> list[FetchedInstruction]:
        """The instructions of machine code as a front end sees them."""
        return [
            FetchedInstruction(
                row.mnemonic,
                row.flow,
                0,
                tuple(value.number if isinstance(value, RegisterPart) else None for value in row.operands),
            )
            for row in self.decoded(code)
        ]

    def _size_codes(self) -> Iterator[FrontEndCode]:
        for name, filler in {**self.fillers, "NOPs": [self._nop]}.items():
            for size in _SIZES:
                codes = [filler[k % len(filler)] for k in range(size)]
                yield FrontEndCode(Aspect.SIZE, name, size, _time_codes(codes, copies=1, loop=True))

    def _short_loop_codes(self) -> Iterator[FrontEndCode]:
        for name, filler in {**self.fillers, "NOPs": [self._nop]}.items():
            for size in SHORT_LOOPS:
                codes = [filler[k % len(filler)] for k in range(size)]
                yield FrontEndCode(Aspect.SHORT_LOOP, name, size, _time_codes(codes, copies=1, loop=True))

    def _straight_codes(self) -> Iterator[FrontEndCode]:
        for length, nop in self.nops.items():
            yield FrontEndCode(Aspect.LOOP_LENGTH, "", length, _time_codes([nop], loop=True))
            yield FrontEndCode(Aspect.STRAIGHT_LENGTH, "", length, _time_codes([nop], copies=_STRAIGHT))
        for name, filler in {**self.fillers, "NOPs": [self._nop]}.items():
            code = _time_codes(filler, copies=_STRAIGHT // len(filler))
            yield FrontEndCode(Aspect.STRAIGHT, name, len(filler[0]), code)

    def _mix_codes(self) -> Iterator[FrontEndCode]:
        """Straight code of NOPs of two lengths, where there are two."""
        for count in _MIXED if len(self.nops) > 1 else ():
            long, short = (self.nops[length] for length in sorted(self.nops, reverse=True))
            for longer in range(1, count):
                codes = [long if k * longer % count < longer else short for k in range(count)]
                timed = _time_codes(codes, copies=_STRAIGHT // count)
                yield FrontEndCode(Aspect.STRAIGHT_MIX, f"{count} even", len(timed.code), timed)

    def _jump_codes(self) -> Iterator[FrontEndCode]:
        for between, copies in _JUMP_DISTANCES.items():
            skipped = self.trap * (between // len(self.trap))
            code = TimedCode(self.jump(between) + skipped, 1, loop=True, copies=copies)
            yield FrontEndCode(Aspect.JUMP, "", between, code)
        smallest = _time_codes([self._nop], copies=1, loop=True)
        yield FrontEndCode(Aspect.JUMP, "smallest loop", len(self._nop), smallest)
        yield FrontEndCode(Aspect.UNTAKEN, "", 0, _time_codes([self.untaken], loop=True))

    def _offset_codes(self) -> Iterator[FrontEndCode]:
        for offset in _OFFSETS:
            code = _time_codes([self._nop] * _LOOP_NOPS, copies=1, loop=True, offset=offset)
            yield FrontEndCode(Aspect.OFFSET, "", offset, code)

    def _pair_codes(self, pair: PairCode) -> Iterator[FrontEndCode]:
        apart = (pair.first, self.between, pair.second)
        for adjacent, codes in ((1, (pair.first, pair.second, self.between)), (0, apart)):
            timed = _time_codes([*codes, *[self._nop] * _FUSION_NOPS], loop=True)
            yield FrontEndCode(pair.aspect, pair.name, adjacent, replace(timed, registers=pair.registers))


def _time_codes(codes: Sequence[bytes], *, copies: int = 0, loop: bool = False, offset: int = 0) -> TimedCode:
    return TimedCode(b"".join(codes), len(codes), loop=loop, copies=copies, offset=offset)
