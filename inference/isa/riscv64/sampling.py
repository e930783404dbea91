"""The operand facet of RISC-V, for abstracting and sampling basic blocks (`inference.isa.operand_slots`)."""

from __future__ import annotations

import re

from inference.isa.operand_slots import OperandNames
from inference.isa.riscv64 import instruction_set
from inference.isa.riscv64.allocation import GENERAL as GENERAL_NUMBERS
from inference.isa.riscv64.allocation import MEMORY, RiscvAllocator, bank_of
from inference.isa.riscv64.decoding import decoded, table
from inference.isa.words.accesses import FLOAT, GENERAL
from inference.isa.words.sampling import OperandLayout, WordLanguage, WordSampling

LAYOUT = OperandLayout(
    names=OperandNames(
        (),
        {"GPR": re.compile(r"GPR\[\d+\]"), "float": re.compile(r"FPR\[\d+\]")},
        ("lock", "rep", "isa-set"),
    ),
    forms=lambda: instruction_set().forms,
    numbers={GENERAL: range(1, 32), FLOAT: range(32)},
    choices=GENERAL_NUMBERS,
    bank_of=bank_of,
    bases=(18, 19, 20),
    plain_bases=(21, 22, 23, 24, 25),
    index_register=0,
)
"""V has no place in it: which mode a sampled block is in, its schemes do not say alike."""

SAMPLING = WordSampling(
    WordLanguage(
        schemes=lambda: instruction_set().schemes,
        obstacle=lambda _scheme: "",
        layout=LAYOUT,
        table=table,
        decoded=decoded,
        allocator=RiscvAllocator,
        memory=MEMORY,
    )
)
