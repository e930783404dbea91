"""Prepares blocks for measurements: a loop's jump leads to the next copy of the loop.

The condition of the code itself is ignored: who measures counts iterations. Copies lie one behind another,
each at the beginning of a line of the instruction cache, so that an iteration has one taken jump as in the
program: the loop's own, or an unconditional one behind it where that one falls through.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from inference.isa.code.block import LINE, Block, Iteration


class WordFramer:
    """The facet of an instruction set whose zero bytes are no instruction, so that a jump too short shows.

    Args:
        jump: Machine code of an unconditional jump, of full length.
        mnemonic_of: The mnemonic of a jump.
        moved: A jump of the same condition and full length that leads so many bytes away.
    """

    def __init__(
        self, jump: bytes, mnemonic_of: Callable[[bytes], str], moved: Callable[[bytes, int], bytes]
    ) -> None:
        self._jump = jump
        self._mnemonic_of = mnemonic_of
        self._moved = moved

    def iteration_of(self, block: Block) -> Iteration:
        """One iteration; that of a loop fills whole lines of the instruction cache."""
        if block.closing is None:
            return Iteration(block.code)
        branch = block.closing.code
        name, jump = self._mnemonic_of(branch), self._mnemonic_of(self._jump)
        if name == jump:
            return Iteration(
                self._pad_body(block.body, [self._jump]), loop_note=f"measured in a loop closed by {jump}"
            )
        words = f"measured in a loop closed by {name}, or by {jump} where {name} falls through"
        return Iteration(self._pad_body(block.body, [branch, self._jump]), loop_note=words)

    def walk_end(self, block: Block, copies: int, registers: Mapping[str, int]) -> bytes:
        """Nothing: only simulated cores execute these blocks, and those have no cache to leave."""
        del block, copies, registers
        return b""

    def needs_avx(self, block: Block, flags: Collection[str] | None) -> bool:
        """False: vector registers start in their only width."""
        del block, flags
        return False

    def mask_bits(self, block: Block, flags: Collection[str] | None) -> int:
        """0: there are no mask registers of their own."""
        del block, flags
        return 0

    def filled_fpu(self, block: Block) -> str:
        """The empty text: there is no unit whose registers are filled before."""
        del block
        return ""

    def _pad_body(self, body: bytes, jumps: Sequence[bytes]) -> bytes:
        """The body followed by jumps to the next line of the instruction cache."""
        end = len(body) + len(self._jump) * len(jumps)
        end += -end % LINE
        code = body
        for jump in jumps:
            code += self._moved(jump, end - len(code))
        return code.ljust(end, b"\0")
