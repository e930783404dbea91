"""An instruction that is read from a text, before its code is laid out."""

from __future__ import annotations

from dataclasses import dataclass

from inference.isa.code.control_flow import Flow
from inference.isa.words.accesses import OperandValue
from inference.isa.words.table import WordForm


@dataclass(frozen=True, slots=True)
class ReadInstruction:
    """An instruction of a text.

    Attributes:
        form: Encodes it.
        operands: Without the distance of a jump to a label, which is 0.
        target: The label that it jumps to, "" for another instruction or where the distance is written.
        symbols: Names that are taken for 0.
    """

    form: WordForm
    operands: tuple[OperandValue, ...]
    target: str = ""
    symbols: tuple[str, ...] = ()

    def word(self, distance: int | None = None) -> int | None:
        """The machine code; `distance`: of the jump to its target, in bytes. None where it is too far."""
        operands = self.operands if distance is None else (*self.operands[:-1], distance)
        return self.form.word(operands)

    @property
    def flow(self) -> Flow:
        return self.form.encoding.flow

    def code(self, distance: int | None = None) -> bytes | None:
        word = self.word(distance)
        return None if word is None else word.to_bytes(self.form.encoding.bits // 8, "little")
