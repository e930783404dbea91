"""Loops on a machine: what is run in place of their closing condition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import Decoder, FlowControl, Mnemonic

from inference.isa.blocks import block_of_text, general_registers, iteration_of, walk_end
from inference.isa.code.block import LINE
from inference.isa.dependences import MEMORY_BYTES
from inference.isa.start_values import START
from inference.measuring.blocks import LOOP, BlockOptions, item_for, obstacle

CONDITIONS = ("o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g")


def holds(condition: str, comparison: str, first: int, second: int) -> bool:
    """Whether a jump is taken after the comparison of two 32-bit numbers, by the manuals' definitions."""
    first, second = first % 2**32, second % 2**32
    left = (first & second if comparison == "test" else first - second) % 2**32
    carry = comparison == "cmp" and first < second
    signs = [number >> 31 for number in (first, second, left)]
    overflow = comparison == "cmp" and signs[0] != signs[1] and signs[0] != signs[2]
    zero, sign, parity = left == 0, bool(signs[2]), bin(left & 255).count("1") % 2 == 0
    found = {
        "o": overflow, "b": carry, "e": zero, "be": carry or zero, "s": sign, "p": parity,
        "l": sign != overflow, "le": zero or sign != overflow,
    }  # fmt: skip
    opposite = {"no": "o", "ae": "b", "ne": "e", "a": "be", "ns": "s", "np": "p", "ge": "l", "g": "le"}
    return found[condition] if condition in found else not found[opposite[condition]]


@pytest.mark.parametrize("comparison", ["cmp", "test"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_pair_that_closes_a_loop_is_of_its_kind_and_always_taken(condition: str, comparison: str):
    block = block_of_text(f"again: imul rax, rbx\n{comparison} rcx, rdx\nj{condition} again")
    once = iteration_of(block)
    if comparison == "test" and condition in ("o", "b"):  # never taken: what would such a loop be?
        assert once.registers == {}
        return
    instructions = [one for one in Decoder(64, once.code) if one.mnemonic != Mnemonic.INT3]
    assert [str(one).split()[0] for one in instructions] == ["imul", comparison, f"j{condition}"]
    (register,) = once.registers
    assert register not in ("rax", "rbx", "rcx", "rdx")
    value = once.registers[register]
    second = value if comparison == "test" else instructions[1].immediate(1)
    assert holds(condition, comparison, value, second)
    assert instructions[2].near_branch_target == len(once.code) == LINE
    assert f"/j{condition} loop" in once.loop_note


@pytest.mark.parametrize(
    ("text", "jumps", "words"),
    [
        ("again: imul rax, rbx\ndec ecx\njne again", ["jne", "jmp"], "by jmp where"),
        ("again: add rax, rbx\ncmp rax, [rdi]\njb again", ["jb", "jmp"], "by jmp where"),
        ("again: imul rax, rbx\nloop again", ["loop", "jmp"], "closed by loop, or by jmp"),
        ("again: imul rax, rbx\njrcxz again", ["jrcxz", "jmp"], "closed by jrcxz"),
        ("again: imul rax, rbx\njmp again", ["jmp"], "closed by jmp"),
        (
            "again:\n"
            + "\n".join(f"inc {name}" for name in general_registers())
            + "\ncmp rax, rbx\njl again",
            ["jl", "jmp"],
            "closed by jl",
        ),
    ],
)
def test_other_loops_go_on_whatever_their_condition(text: str, jumps: list[str], words: str):
    block = block_of_text(text)
    once = iteration_of(block)
    assert once.code.startswith(block.body)
    assert len(once.code) % LINE == 0
    behind = [one for one in Decoder(64, once.code) if one.flow_control != FlowControl.NEXT]
    leading = [one for one in behind if one.mnemonic != Mnemonic.INT3]
    assert [str(one).split()[0] for one in leading] == jumps
    assert {one.near_branch_target for one in leading} == {len(once.code)}
    assert words in once.loop_note
    assert once.registers == {}


def test_a_loop_is_prepared_in_copies_that_lead_to_one_another():
    block = block_of_text("again: imul rax, rbx\ncmp rcx, rdx\njne again")
    assert obstacle(block, BlockOptions(), None) == ""
    frame, item = item_for(block, BlockOptions(mode=LOOP), None)
    once = iteration_of(block)
    assert item.code == once.code * item.copies
    assert item.half_bytes == LINE * item.half_copies
    assert item.instructions == 3
    (register,) = once.registers
    assert frame.registers[register] == once.registers[register]
    assert frame.counter_register not in ("", register)
    straight = item_for(block_of_text("imul rax, rbx\ncmp rcx, rdx"), BlockOptions(mode=LOOP), None)[1]
    assert straight.id != item.id


def test_copies_of_a_loop_are_counted_with_what_is_between_them():
    block = block_of_text("again: nop\njmp again")
    assert "copies of it have 25,600 bytes" in obstacle(block, BlockOptions(copies=400), None)
    assert obstacle(block, BlockOptions(copies=384), None) == ""


@given(st.integers(-500, 500).filter(bool), st.sampled_from((1, 2, 4, 8)), st.integers(1, 30))
def test_a_register_that_walks_stays_within_half_of_the_memory(step: int, scale: int, copies: int) -> None:
    block = block_of_text(f"again: mov rax, [rbx+{scale}*rcx]\nadd rcx, {step}\ncmp rcx, rdx\njne again")
    end = walk_end(block, copies, {"rcx": START})
    register, lowest, highest = START, START, START
    for _ in range(2000):
        register += step * copies
        lowest, highest = min(lowest, register), max(highest, register)
        if end:
            (change,) = Decoder(64, end)
            mask = change.immediate(1)
            register = register & mask if change.mnemonic == Mnemonic.AND else register | mask
    within = scale * (highest - lowest) <= MEMORY_BYTES // 2 + 2 * scale * abs(step) * copies
    assert within == bool(end)
    if abs(step) * copies * scale <= 2048:
        assert end


@pytest.mark.parametrize(
    ("code", "registers"),
    [
        ("again: mov rax, [rbx]\nadd rdx, 8\njne again", []),  # nothing walks through memory
        ("again: mov rax, [rbx]\nadd rbx, 8\ndec rcx\njne again", ["rcx", "rbx"]),  # the counter does no harm
        ("again: pop rax\ncmp rcx, rdx\njne again", ["rsp"]),
        ("again: mov ebx, ecx\nmov rax, [rsi+8*rbx]\ninc ecx\njne again", ["rcx", "rbx"]),
        ("again: mov rbx, [rbx]\ntest rbx, rbx\njne again", []),
    ],
)
def test_registers_are_led_back_where_an_address_moves(code: str, registers: list[str]) -> None:
    end = walk_end(block_of_text(code), 10, dict.fromkeys(general_registers(), START))
    assert [str(change).split()[1].rstrip(",").partition(",")[0] for change in Decoder(64, end)] == registers
