"""The block facet of AArch64: from machine code, assembly or a listing to instructions, and back."""

from __future__ import annotations

from inference.isa.aarch64.blocks import SYNTAX, AArch64Instruction
from inference.isa.aarch64.listings import LISTINGS
from inference.isa.words.blocks import WordBlockReader

READER = WordBlockReader(SYNTAX, AArch64Instruction, LISTINGS)
