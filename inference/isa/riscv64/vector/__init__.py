"""The vector extension V of RISC-V: its forms, their encodings, and the modes in which they execute.

`forms.json` has the forms without a mode: the bits of an instruction do not say how wide elements are, and
how many registers make a group; `vsetvli` before it does.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from inference.isa.document import InstructionSet, read_instruction_set

DOCUMENT = Path(__file__).with_name("forms.json")


@cache
def forms() -> InstructionSet:
    """The forms of `forms.json`, read once."""
    return read_instruction_set(DOCUMENT.read_bytes())
