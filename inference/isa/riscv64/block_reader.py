"""The block facet of RISC-V: from machine code, assembly or a listing to instructions, and back."""

from __future__ import annotations

from inference.isa.riscv64.blocks import SYNTAX, RiscvInstruction
from inference.isa.riscv64.listings import LISTINGS
from inference.isa.words.blocks import WordBlockReader

READER = WordBlockReader(SYNTAX, RiscvInstruction, LISTINGS)
