"""Listings of assemblers with their macros expanded, and sources in their dialects."""

from __future__ import annotations

import pytest

from inference.isa.blocks import BlockError, read
from inference.isa.x86.assembly.reading import read_program

NASM = """\
     1                                  %macro step 1
     2                                          movaps xmm%1, [rdi+rcx*4+16*%1]
     3                                          mulps xmm%1, xmm8
     4                                  %endmacro
     5                                          section .text
     6 00000000 31C9                    f:      xor ecx, ecx
     7 00000002 90<rep Eh>              align 16
     8                                  .loop:
     9                                          step 0
     2 00000010 0F28048F            <1>  movaps xmm%1, [rdi+rcx*4+16*%1]
     3 00000014 410F59C0            <1>  mulps xmm%1, xmm8
    10 00000018 488B05(00000000)                mov rax, [rel tbl]
    11 0000001F 72EF                            jb short .loop
    12 00000021 C3                              ret
    13 00000022 010000000200000003-     tbl:    dd 1, 2, 3
    13 0000002B 000000
"""

GAS = """\
GAS LISTING a.s \t\t\tpage 1

   1              \t\t.text
   6              \tf:
   7              \t\t.cfi_startproc
  23 0000 48B9FCFF \t\tmovabsq\t$1152921504606846972, %rcx
  23      FFFFFFFF
  23      FF0F
  28              \t.L9:
  29 000a F20F100C \t\tmovsd\t(%rdi,%rcx,8), %xmm1
  29      CF
  43 000f 75F9     \t\tjne\t.L9
"""

MASM = """\
Microsoft (R) Macro Assembler (x64) Version 14.29.30133.0   11/30/21 13:28:04
dot.asm\t\t\t\t\t\t\t     Page 1 - 1

 00000000\t\t\t.code
\t\t\t\tstep MACRO i
\t\t\t\tmovaps xmm1, [rcx+rax*4+i]
\t\t\t\tENDM
 00000000\t\t\tf PROC
 00000000\t\t\tlp:
\t\t\t\t    step 16
 00000000  0F 28 4C 81 10    1\t    movaps xmm1, [rcx+rax*4+16]
 00000005  48/ 83 C0 08\t\t    add rax, 8
 00000009  48/ B8 0000000000000001\t    mov rax, 1
 00000013  72 EB\t\t    jb lp
 00000015\t\t\tf ENDP
"""

MSVC = """\
?dot@@YANPEBN0H@Z PROC\t\t\t\t\t; dot, COMDAT

; 2    : double dot(const double* a, const double* b, int n) {

  00000\t45 33 d2\t xor\t r10d, r10d
$LL4@dot:
  00003\tf2 42 0f 10 0c
\td1\t\t movsd\t xmm1, QWORD PTR [rcx+r10*8]
  00009\t7c f8\t\t jl\t SHORT $LL4@dot
?dot@@YANPEBN0H@Z ENDP\t\t\t\t\t; dot
"""


@pytest.mark.parametrize(
    ("text", "name", "digits"),
    [
        (NASM, ".loop", "0f28048f410f59c0488b050000000072ef"),
        (GAS, ".L9", "f20f100ccf75f9"),
        (MASM, "f", "0f284c81104883c00848b8010000000000000072eb"),
        (MSVC, "$LL4@dot", "f2420f100cd17cf8"),
    ],
    ids=["NASM", "GNU", "MASM", "MSVC"],
)
def test_the_bytes_of_a_listing_are_its_loop(text: str, name: str, digits: str) -> None:
    reading = read(text, 9)
    (loop,) = (piece for piece in reading.pieces if piece.block.kind == "loop")
    assert (loop.name, loop.block.hex) == (name, digits)
    assert not reading.dropped


def test_jumps_of_yasm_lead_to_their_labels() -> None:
    """YASM prints the distance that it assumed before it placed the alignment."""
    text = """\
     7                                 .loop:
     9 00000010 0F28048F                movaps xmm0, [rdi+rcx*4+16*0]
    25 00000014 72F8                    jb short .loop
"""
    (loop,) = read(text, 9).pieces
    assert loop.block.hex == "0f28048f72fa"


def test_lines_that_are_not_assembled_are_told() -> None:
    reading = read(
        NASM.replace("     9                                          step 0", "  add rax, rbx"), 9
    )
    assert [line.line for line in reading.dropped] == [9]


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("f PROC\n@@: add rax, [rcx]\n dec rdx\n jnz short @B\n jz @F\n inc rax\n@@: ret\nf ENDP", 1),
        ("f:\n.loop:\n dec ecx\n jnz .loop\n ret\ng:\n.loop:\n dec edx\n jnz .loop\n ret", 2),
        ("%line 1+1 a.asm\n[section .text]\n.loop:\n times 3 nop\n db 0x90, 90h\n dec ecx\n jnz .loop", 1),
        ("$LL4@dot:\n\tinc\tr10\n\tmulsd\txmm0, QWORD PTR x$[rsp]\n\tjl\tSHORT $LL4@dot", 1),
        ("include listing.inc\n.code\n$LL2@f:\n lea rcx, OFFSET FLAT:x\n dec ecx\n\n jne SHORT $LL2@f", 1),
        ("Here is the loop:\n\n```asm\n.L3:\n dec ecx\n jne .L3\n```\nIt is slow.", 1),
        ("julia> @code_native f(1)\n\t.text\nL32:\n\tdecl %ecx\n; │└\n\tjne\tL32", 1),
    ],
)
def test_dialects_keep_their_loops(text: str, loops: int) -> None:
    reading = read(text, 9)
    assert sum(piece.block.kind == "loop" for piece in reading.pieces) == loops
    assert not reading.dropped


@pytest.mark.parametrize("line", ["f PROC USES rbx rsi", "LOCAL x:QWORD", "INVOKE g, rcx", "times n nop"])
def test_macros_of_assemblers_are_refused(line: str) -> None:
    with pytest.raises(BlockError, match="paste the resulting code"):
        read(f"{line}\n inc rax", 9)


def test_places_of_julia_are_those_of_the_outermost_function() -> None:
    text = """\
; ┌ @ dot.jl:2 within `dot'
\tmovq\t8(%rdi), %rcx
; │┌ @ int.jl:83 within `<'
\ttestq\t%rcx, %rcx
; │└
\tincq\t%rcx
; │ @ dot.jl:4 within `dot'
; ││┌ @ float.jl:405 within `*'
\tvmulsd\t(%rdx,%rsi,8), %xmm1, %xmm1
"""
    (piece,) = read(text, 9).pieces
    assert [str(line.source) for line in piece.lines] == ["dot.jl:2"] * 3 + ["dot.jl:4"]


def test_source_lines_of_cargo_asm_are_no_code() -> None:
    text = """\
    Finished release [optimized] target(s) in 0.05s

r::dot:
\t\t// /home/u/r/src/lib.rs:2
\t\tpub fn dot(a: &[f64]) -> f64 { a.iter().sum() }
\tcmp rcx, rsi
.LBB0_3:
\t\t// /rustc/abc/library/core/src/iter/range.rs : 753
\tinc rcx
\tjne .LBB0_3
"""
    pieces = read(text, 9).pieces
    assert [piece.block.kind for piece in pieces] == ["straight", "loop"]
    assert str(pieces[0].lines[0].source).startswith("/home/u/r/src/lib.rs:2: pub fn dot")
    assert str(pieces[1].lines[0].source) == "/rustc/abc/library/core/src/iter/range.rs:753"


def test_a_line_without_its_address_does_not_continue_a_whole_instruction() -> None:
    program = read_program(
        "  00010\t48 01 d8\t add rax, rbx\n"
        "  00013\t48 01 d8\t add rax, rbx\n"
        " 86\t vmovss xmm1, [rsi+rax*4]\n"
        "  0001b\t48 01 d8\t add rax, rbx\n"
    )
    assert [instruction.line for instruction in program.instructions] == [1, 2, 4]
    assert [line.line for line in program.dropped] == [3]
