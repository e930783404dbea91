"""Listings of VTune, IDA and radare2, whose text alone does not say all of an instruction."""

from __future__ import annotations

import pytest

from inference.isa.blocks import BlockError, block_of_text, read

TABLE = """Address\tSource Line\tAssembly\tCPU Time: Total\tCPU Time: Self
0x401120\t7\tmovzxb  0x100(%rip), %eax\t0.1%\t0.024s
0x401127\t0\tBlock 2:\t\t
0x401127\t9\tvmovssl  (%rdi), %xmm0\t2.1%\t1.5s
0x40112b\t9\tadd %rbx, %rax\t\t
0x40112e\t9\tdec %ecx\t\t0.5s
0x401130\t9\tjnz 0x401127 <Block 2>\t\t0.25s
0x401132\t0\tBlock 3:\t\t
0x401132\t0\tretq  \t\t


Source Line\tSource\tCPU Time: Total\tCPU Time: Self
8\tadd(x)\t\t
9\t{\t0.1%\t0.024s
"""
LOOP = "c5fa10074801d8ffc975f5"
IN_IDA = """.text:0000000140001000 f               proc near               ; CODE XREF: main+9p
.text:0000000140001000 var_508         = qword ptr -508h
.text:0000000140001000 arg_0           = qword ptr  8
.text:0000000140001000                 sub     rsp, 528h
.text:0000000140001007                 mov     rax, [rsp+528h+var_508]
.text:000000014000100C                 mov     [rsp+528h+arg_0], rax
.text:0000000140001014                 mov     eax, cs:dword_140004000
.text:000000014000101A f               endp
"""
IN_RADARE2 = """            ; DATA XREF from entry0 @ 0x1078(r)
┌ 58: int main (int argc, char **argv, char **envp);
│           ; var int64_t var_4h @ rbp-0x4
│           0x00001150      c745fc000000.  mov dword [var_4h], 0
│       ┌─> 0x00001157      8345fc01       add dword [var_4h], 1
│       └─< 0x0000115b      7efa           jle 0x1157
└           0x0000115d      c3             ret
"""


def test_a_table_has_the_samples_and_source_lines_of_its_instructions():
    reading = read(TABLE, 9)
    (loop,) = (piece for piece in reading.pieces if piece.block.kind == "loop")
    assert (loop.name, loop.block.hex, loop.count) == ("Block 2", LOOP, 2.25)
    assert [line.samples for line in loop.lines] == [1.5, None, 0.5, 0.25]
    assert [line.source and line.source.line for line in loop.lines] == [9] * 4
    assert not reading.dropped


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_part_of_a_table_needs_no_titles(ending: str):
    part = TABLE.splitlines()[2:7]
    assert [piece.block.hex for piece in read(ending.join(part), 9).pieces] == [LOOP]


@pytest.mark.parametrize(
    "damaged", ["0x40112b\t9\tfrob %rbx, %rax\t\t", "40112b:\tadd %rbx, %rax", "0x40112b add %rbx, %rax"]
)
def test_a_damaged_row_of_a_table_is_told(damaged: str):
    lines = TABLE.splitlines()
    lines[4] = damaged
    assert [line.line for line in read("\n".join(lines), 9).dropped] == [5]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("movzxb  (%rdi), %eax", "0fb607"),
        ("vmovsdq %xmm0, (%rax,%rcx,8)", "c5fb1104c8"),
        ("vfmadd231psy  (%rdi), %ymm1, %ymm0", "c4e275b807"),
        ("movdqax  (%rdi), %xmm0", "660f6f07"),
        ("prefetcht0z  (%rdi)", "0f180f"),
        ("nopw  %ax, (%rax,%rax,1)", "660f1f0400"),
    ],
)
def test_vtune_s_letters_for_sizes_of_memory_are_known(text: str, code: str):
    assert block_of_text(text).hex == code


def test_names_of_places_on_the_stack_are_replaced():
    reading = read(IN_IDA, 9)
    assert not reading.dropped
    assert [piece.block.hex for piece in reading.pieces] == [
        "4881ec28050000488b44242048898424300500008b0500000000"
    ]
    loop = next(piece for piece in read(IN_RADARE2, 9).pieces if piece.block.kind == "loop")
    assert loop.block.hex == "8345fc017efa"
    assert loop.name == "main, line 5"


def test_names_of_unknown_places_are_refused():
    with pytest.raises(
        BlockError, match="var_4h is a place on the stack, and the listing does not say"
    ) as caught:
        read(IN_RADARE2.replace("@ rbp-0x4", "@ stack - 0xc"), 9)
    assert caught.value.line == 4
