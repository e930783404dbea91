"""The operand facet of AArch64, for abstracting and sampling basic blocks (`inference.isa.operand_slots`)."""

from __future__ import annotations

import re

from inference.isa.aarch64 import instruction_set
from inference.isa.aarch64.allocation import GENERAL_NUMBERS, MEMORY, AArch64Allocator
from inference.isa.aarch64.decoding import WORD_BYTES, decoded, table
from inference.isa.operand_slots import OperandNames
from inference.isa.words.accesses import GENERAL, VECTOR
from inference.isa.words.sampling import OperandLayout, WordLanguage, WordSampling

LAYOUT = OperandLayout(
    names=OperandNames(
        ("n", "z", "c", "v"),
        {"GPR": re.compile(r"GPR\[\d+\]"), "vector": re.compile(r"(?:FPR|VEC|ELEM).*")},
        ("lock", "rep", "isa-set"),
    ),
    forms=lambda: instruction_set().forms,
    numbers={GENERAL: range(31), VECTOR: range(32)},
    choices=GENERAL_NUMBERS,
    bank_of=lambda form: form.bank,
    bases=(19, 20, 21),
    plain_bases=(22, 23, 24, 25, 26),
    index_register=28,
)

SAMPLING = WordSampling(
    WordLanguage(
        schemes=lambda: instruction_set().schemes,
        obstacle=lambda _scheme: "",
        layout=LAYOUT,
        table=table,
        decoded=lambda code: decoded(code[: len(code) // WORD_BYTES * WORD_BYTES]),
        allocator=AArch64Allocator,
        memory=MEMORY,
    )
)
