"""The machine code around a loop body, read back by a decoder that knows nothing of how it was made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import Decoder, FlowControl, Formatter, FormatterSyntax, Instruction

from inference.agent.frame import FrameError, function
from inference.agent.protocol import Frame

ADD = b"\x48\x01\xd8"  # add rax, rbx


def decoded(code: bytes) -> list[Instruction]:
    return list(Decoder(64, code))


def texts(code: bytes) -> list[str]:
    formatter = Formatter(FormatterSyntax.INTEL)
    return [formatter.format(instruction) for instruction in decoded(code)]


@given(st.integers(1, 400), st.booleans())
def test_the_loop_holds_the_body_and_its_branch_stays_clear_of_32_byte_boundaries(copies: int, avx: bool):
    code = function(Frame(registers={"rax": 7}, avx=avx), ADD * copies)
    branch = next(i for i in decoded(code) if i.flow_control == FlowControl.CONDITIONAL_BRANCH)
    start, end = branch.near_branch_target, branch.next_ip
    assert code[start : start + len(ADD) * copies] == ADD * copies
    pair = branch.ip - 3  # with the decrement before it, which is fused with it
    assert pair // 32 == end // 32
    assert start == branch.ip - 3 - len(ADD) * copies


def test_what_the_caller_owns_is_restored():
    lines = texts(function(Frame(), ADD))
    pushed = [line.split()[1] for line in lines if line.startswith("push")]
    popped = [line.split()[1] for line in lines if line.startswith("pop")]
    assert popped == pushed[::-1] == ["r15", "r14", "r13", "r12", "rbp", "rbx"]
    assert lines[-1] == "ret"
    assert "vzeroupper" in lines
    assert sum("ldmxcsr" in line for line in lines) == 2


def test_registers_get_their_values_and_arguments_their_places():
    lines = texts(function(Frame(registers={"rdi": 5, "r9": 2**64 - 1}), ADD))
    assert "mov rdi,5" in lines
    assert "mov r9,0FFFFFFFFFFFFFFFFh" in lines
    assert lines.index("mov r15,rdi") < lines.index("mov rdi,5")
    assert "mov r14,rsi" in lines


def test_every_vector_register_is_filled():
    for avx, mnemonic, register in ((True, "vbroadcastsd", "ymm"), (False, "movddup", "xmm")):
        lines = texts(function(Frame(avx=avx), ADD))
        filled = {line.split()[1].split(",")[0] for line in lines if line.startswith(mnemonic)}
        assert filled == {f"{register}{number}" for number in range(16)}
    assert "vzeroupper" not in lines


@pytest.mark.parametrize("changes", [{"isa": "armv8"}, {"registers": {"eax": 1}}, {"registers": {"r14": 1}}])
def test_a_frame_that_cannot_be_built_says_so(changes: dict[str, object]):
    with pytest.raises(FrameError):
        function(Frame(**changes), ADD)
