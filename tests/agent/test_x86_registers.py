"""Filling the registers of AVX-512, MMX and x87, read back by a decoder."""

from __future__ import annotations

import pytest
from iced_x86 import Decoder, Formatter, FormatterSyntax

from inference.agent.protocol import Frame
from inference.agent.targets.target import FrameError
from inference.agent.targets.x86_64 import function


def texts(frame: Frame) -> list[str]:
    formatter = Formatter(FormatterSyntax.INTEL)
    return [formatter.format(one) for one in Decoder(64, function(frame, b"\x90"))]


@pytest.mark.parametrize(("bits", "mnemonic"), [(16, "kxnorw"), (64, "kxnorq")])
def test_avx512_has_all_its_vectors_filled_and_its_masks_set(bits: int, mnemonic: str):
    lines = texts(Frame(mask_bits=bits))
    filled = {line for line in lines if line.startswith("vbroadcastsd")}
    assert filled == {f"vbroadcastsd zmm{n},[rsp+8]" for n in range(32)}
    assert {line for line in lines if line.startswith("kx")} == {
        f"{mnemonic} k{n},k{n},k{n}" for n in range(1, 8)
    }
    assert "vzeroupper" in lines


def test_a_vector_register_may_have_a_pattern_of_its_own_whatever_its_width():
    for frame, line in (
        (Frame(vectors={"xmm15": 3}), "vbroadcastsd ymm15,[rsp+8]"),
        (Frame(vectors={"xmm15": 3}, avx=False), "movddup xmm15,[rsp+8]"),
        (Frame(vectors={"xmm15": 3}, mask_bits=64), "vbroadcastsd zmm15,[rsp+8]"),
    ):
        lines = texts(frame)
        last = len(lines) - 1 - lines[::-1].index(line)
        assert lines[last - 2 : last] == ["mov rax,3", "mov [rsp+8],rax"]
        assert lines.index(line) < last  # filled with all others before


def test_mmx_registers_are_filled_and_given_back_empty():
    lines = texts(Frame(fpu="mmx"))
    assert [line for line in lines if line.startswith("movq")] == [f"movq mm{n},[rsp+8]" for n in range(8)]
    branch = next(k for k, line in enumerate(lines) if line.startswith("jne"))
    assert lines.index("emms") > branch


def test_the_x87_stack_is_full_with_one_on_top_and_given_back_empty():
    lines = texts(Frame(fpu="x87"))
    start = lines.index("fninit")
    assert lines[start + 1 : start + 9] == ["fld st,qword ptr [rsp+8]"] * 7 + ["fld1"]
    assert lines.count("fninit") == 2
    assert lines[-1] == "ret"


@pytest.mark.parametrize("changes", [{"mask_bits": 8}, {"fpu": "sse"}, {"vectors": {"xmm16": 1}}])
def test_registers_that_there_are_not_are_refused(changes: dict[str, object]):
    with pytest.raises(FrameError):
        function(Frame(**changes), b"\x90")
