"""Changes of AArch64 blocks that show why tools disagree about them; see `inference.isa.words.changes`."""

from __future__ import annotations

from inference.isa.aarch64 import STACK_POINTER
from inference.isa.aarch64.blocks import BLOCKS
from inference.isa.aarch64.decoding import WORD_BYTES, decoded, table
from inference.isa.aarch64.sampling import LAYOUT
from inference.isa.words.accesses import GENERAL
from inference.isa.words.changes import ChangeLanguage, WordChanger
from inference.isa.words.memory_variants import WordMemoryVariants

_ADD = 0x91000000  # add x0, x0, #0
_COMPARE = 0xEB00001F  # cmp x0, x0
_LOAD_VECTOR = 0x3DC00000  # ldr q0, [x0]
_MOVE_VECTOR = 0x4EA01C00  # mov v0.16b, v0.16b
_SOURCE, _SECOND_SOURCE = 5, 16  # lowest bits of the fields


def _cut(bank: str, number: int, pointer: int) -> int:
    return (_ADD if bank == GENERAL else _LOAD_VECTOR) | pointer << _SOURCE | number


def _move(bank: str, number: int, source: int) -> int:
    if bank == GENERAL:
        return _ADD | source << _SOURCE | number
    return _MOVE_VECTOR | source << _SECOND_SOURCE | source << _SOURCE | number


def _register_name(bank: str, number: int) -> str:
    if bank == GENERAL:
        return "sp" if number == STACK_POINTER else f"x{number}"
    return f"v{number}"


_LANGUAGE = ChangeLanguage(
    decoded=lambda code: decoded(code[: len(code) // WORD_BYTES * WORD_BYTES]),
    table=table,
    pointers=(*LAYOUT.bases, 27, *LAYOUT.plain_bases, *range(18)),
    stack_pointer=STACK_POINTER,
    no_op=0xD503201F,
    cut=_cut,
    compare=lambda pointer: _COMPARE | pointer << _SOURCE | pointer << _SECOND_SOURCE,
    move=_move,
    register_name=_register_name,
)
CHANGES = WordChanger(_LANGUAGE)
MEMORY_VARIANTS = WordMemoryVariants(_LANGUAGE, BLOCKS.body_of)
