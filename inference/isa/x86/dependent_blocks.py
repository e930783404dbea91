"""Short blocks of dependent instructions, as in compiled code but not in loop bodies."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from iced_x86 import Encoder, Instruction

from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.x86.assembling import pattern, set_register
from inference.isa.x86.demands import demands, obstacle
from inference.isa.x86.instances import ADDRESS_OF_CODE
from inference.isa.x86.register_choices import BANKS, RESERVED, Bank
from inference.isa.x86.scheme_set import scheme_and_form

_POOL = 3, 6
"""Registers of a bank that the instructions of a block share: the fewest, and the most. With three, nearly
all of a block is one chain; with more than six, few registers are read again."""

_FAMILIES = 8
"""The pools are drawn from the first eight registers of a bank, which every encoding can name."""

Pools = dict[Bank, list[int]]
"""{bank: numbers of the registers that the instructions of a block share}."""


def dependent_block(schemes: Sequence[str], dice: Random) -> bytes:
    """Machine code of the schemes in this order, with random registers of a small pool.

    The operands of an instruction have different registers, because some cores execute it in another way
    where they are the same, such as zeroing idioms. The same state of `dice` gives the same code.

    Raises:
        CannotMeasureError: A scheme is unknown or cannot be measured, or needs more registers.
    """
    pools = {bank: _pool(bank, dice) for bank in BANKS}
    encoder = Encoder(64)
    for text in schemes:
        encoder.encode(_instruction(text, pools, dice), ADDRESS_OF_CODE)
    return encoder.take_buffer()


def _pool(bank: Bank, dice: Random) -> list[int]:
    """Random registers of a bank, without those that the surrounding code uses."""
    families = [family for family in range(_FAMILIES) if family not in RESERVED[bank]]
    return dice.sample(families, dice.randint(*_POOL))


def _instruction(text: str, pools: Pools, dice: Random) -> Instruction:
    """A random instance of a scheme with registers from small pools, so that instructions share some.

    Raises:
        CannotMeasureError: The scheme is unknown, cannot be executed, or needs more registers.
    """
    scheme_form = scheme_and_form(text)
    if scheme_form is None:
        raise CannotMeasureError(text, "there is no such scheme for x86-64")
    scheme, form = scheme_form
    if reason := obstacle(scheme, form):
        raise CannotMeasureError(text, reason)
    instruction = pattern(form)
    free = {bank: list(pool) for bank, pool in pools.items()}
    for choice in demands(scheme, form).choices:
        fitting = [family for family in free[choice.bank] if family in choice.registers]
        if not fitting:
            raise CannotMeasureError(text, "the registers do not suffice")
        family = dice.choice(fitting)
        free[choice.bank].remove(family)
        set_register(instruction, choice.part, choice.position, choice.registers[family])
    return instruction
