"""What Go's disassembler and compiler print is read by its bytes, whatever the text says."""

from __future__ import annotations

import pytest

from inference.isa.blocks import BlockError, read

LOOP = "c4e2f1b8c24889d1ffc975f3"
"""vfmadd231pd xmm0, xmm1, xmm2; mov rcx, rdx; dec ecx; jne back."""

OBJDUMP = """TEXT main.f(SB) /tmp/main.go
  main.go:6\t\t0x480a00\t\t31c0\t\t\tXORL AX, AX\t\t\t
  main.go:8\t\t0x480a02\t\tc4e2f1b8c24889d1\tMOVL $-0x2e76b73e, CX\t
  main.go:9\t\t0x480a0a\t\tffc9\t\t\tDECL CX\t\t\t
  main.go:9\t\t0x480a0c\t\t75f4\t\t\tJNE 0x480a02\t\t
  main.go:11\t\t0x480a0e\t\tc3\t\t\tRET\t\t\t
  main.go:11\t\t0x480a0f\t\tcc\t\t\tINT $0x3\t\t
"""
WITH_SOURCE = """TEXT main.f(SB) /tmp/main.go
func f(a []float64) float64 {
  0x480a00\t\t31c0\t\t\tXORL AX, AX\t\t
\t\ts = math.FMA(a[i], b[i], s)
  0x480a02\t\tc4e2f1b8c24889d1\tMOVL $-0x2e76b73e, CX\t
  0x480a0a\t\tffc9\t\t\tDECL CX\t\t
  0x480a0c\t\t75f4\t\t\tJNE 0x480a02\t
"""
COMPILED = """# example
main.f STEXT nosplit size=15 args=0x8 locals=0x0 funcid=0x0 align=0x0
\t0x0000 00000 (/tmp/a (1)/main.go:6)\tTEXT\tmain.f(SB), NOSPLIT|ABIInternal, $0-8
\t0x0000 00000 (/tmp/main.go:6)\tPCDATA\t$3, $1
\t0x0000 00000 (/tmp/main.go:6)\tXORL\tAX, AX
\t0x0002 00002 (/tmp/main.go:8)\tVFMADD231PD\tX2, X1, X0
\t0x0007 00007 (/tmp/main.go:8)\tMOVQ\tDX, CX
\t0x000a 00010 (/tmp/main.go:9)\tDECL\tCX
\t0x000c 00012 (<unknown line number>)\tJNE\t2
\t0x000e 00014 (/tmp/main.go:11)\tRET
\t0x0000 31 c0 c4 e2 f1 b8 c2 48  1......H
\t0x0008 89 d1 ff c9 75 f4 c3     ....u..
\trel 3+4 t=7 runtime.panicIndex+0
main.g STEXT nosplit size=3 args=0x8 locals=0x0
\t0x0000 00000 (/tmp/main.go:14)\tADDQ\tBX, AX
\t0x0000 48 01 d8                                         H..
go:cuinfo.producer.main SDWARFCUINFO dupok size=0
\t0x0000 72 65 67 61 62 69                                regabi
"""


@pytest.mark.parametrize("text", [OBJDUMP, WITH_SOURCE, COMPILED])
def test_the_bytes_of_a_loop_are_read(text: str):
    reading = read(text, 9)
    (loop,) = (piece for piece in reading.pieces if piece.block.kind == "loop")
    assert loop.block.hex == LOOP.replace("75f3", "75f4")
    assert not reading.dropped
    assert loop.name.startswith("main.f")


def test_text_that_is_not_of_its_bytes_is_noted():
    note = "the text in line 3 is another instruction than its bytes: the bytes count"
    assert note in read(OBJDUMP, 9).notes
    assert not any("another instruction" in note for note in read(COMPILED, 9).notes)


def test_functions_of_the_compiler_begin_at_0_each():
    assert [piece.block.hex[:6] for piece in read(COMPILED, 9).pieces] == ["31c0", "c4e2f1", "4801d8"]


def test_the_source_lines_stand_beside_instructions():
    loop = next(piece for piece in read(WITH_SOURCE, 9).pieces if piece.block.kind == "loop")
    assert [str(line.source) for line in loop.lines][:2] == ["s = math.FMA(a[i], b[i], s)"] * 2
    loop = next(piece for piece in read(OBJDUMP, 9).pieces if piece.block.kind == "loop")
    assert [line.source and line.source.line for line in loop.lines] == [8, 8, 9, 9]


def test_lines_without_their_bytes_are_refused():
    lines = COMPILED.splitlines()
    with pytest.raises(BlockError, match="read by its bytes, and those of RET are missing") as caught:
        read("\n".join(lines[:10]), 9)
    assert caught.value.line == 10
    with pytest.raises(BlockError, match="lines before these bytes are missing") as caught:
        read("\n".join([*lines[:10], *lines[11:]]), 9)
    assert caught.value.line == 11


@pytest.mark.parametrize("line", ["  main.go:8\t\t0x480a02\t\tc4e2f1b8c2", "\tMOVQ DX, CX"])
def test_a_damaged_line_is_told(line: str):
    lines = OBJDUMP.splitlines()
    reading = read("\n".join([*lines[:2], line, *lines[3:]]), 9)
    assert [dropped.line for dropped in reading.dropped] == [3]


def test_code_of_another_processor_is_refused():
    text = "".join(
        f"  main.go:9\t\t0x{0x7A0A0 + number:x}\t\t{code}\t\tMOVD 16(R28), R16\t\n"
        for number, code in zip(range(0, 48, 4), ["900b40f9", "ff6310eb", "e00300aa"] * 4, strict=False)
    )
    with pytest.raises(BlockError, match="4 bytes each: not x86-64"):
        read(text, 9)
