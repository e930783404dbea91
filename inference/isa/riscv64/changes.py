"""Changes of RISC-V blocks that show why tools disagree about them; see `inference.isa.words.changes`."""

from __future__ import annotations

from inference.isa.riscv64 import STACK_POINTER
from inference.isa.riscv64.allocation import MEMORY
from inference.isa.riscv64.decoding import decoded, table
from inference.isa.riscv64.sampling import LAYOUT
from inference.isa.riscv64.spelling import register_name
from inference.isa.words.accesses import FLOAT, GENERAL, VECTOR, RegisterPart
from inference.isa.words.changes import ChangeLanguage, WordChanger

_ADD = 0x00000013  # addi x0, x0, 0
_LOADS = {FLOAT: 0x00003007, VECTOR: 0x02800007}  # fld f0, 0(x0); vl1re8.v v0, (x0)
_MOVES = {FLOAT: 0x22000053, VECTOR: 0x9E003057}  # fsgnj.d f0, f0, f0; vmv1r.v v0, v0
_TARGET, _SOURCE, _SECOND_SOURCE = 7, 15, 20  # lowest bits of the fields


def _cut(bank: str, number: int, pointer: int) -> int:
    return _LOADS.get(bank, _ADD) | pointer << _SOURCE | number << _TARGET


def _move(bank: str, number: int, source: int) -> int:
    sources = source << _SOURCE if bank == GENERAL else source << _SECOND_SOURCE
    if bank == FLOAT:
        sources |= source << _SOURCE
    return _MOVES.get(bank, _ADD) | sources | number << _TARGET


CHANGES = WordChanger(
    ChangeLanguage(
        decoded=decoded,
        table=table,
        pointers=(*LAYOUT.bases, MEMORY, *LAYOUT.plain_bases, *LAYOUT.choices),
        stack_pointer=STACK_POINTER,
        no_op=_ADD,
        cut=_cut,
        compare=None,
        move=_move,
        register_name=lambda bank, number: register_name(RegisterPart(bank, number, 64)),
    )
)
