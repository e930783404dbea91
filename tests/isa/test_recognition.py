"""Assembly of AArch64 and RISC-V is told from that of x86-64, which is never taken for it."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from inference.isa import riscv64
from inference.isa.aarch64 import instruction_set
from inference.isa.aarch64.assembling import Assembler
from inference.isa.blocks import DETECTED, BlockError, block_of_hex, read, read_blocks
from inference.isa.llvm_mc import program
from inference.isa.riscv64.assembling import Assembler as RiscvAssembler
from inference.isa.riscv64.assembling import obstacle as riscv_obstacle
from inference.isa.targets import AARCH64, DEFAULT, RISCV
from inference.isa.targets.recognition import foreign_line_test, isa_of_text
from inference.isa.x86.att import gnu_lines

LOOP_OF_GCC = """\
	.arch armv8-a
	.type	sum, %function
sum:
.L3:
	ldr	s1, [x0, w2, sxtw 2]	// a[i]
	fmul	s1, s1, s0
	str	s1, [x0], 4
	cmp	x0, x1
	bne	.L3
	ret
"""
LISTING_OF_OBJDUMP = """\
0000000000400580 <main>:
  400580:	a9bf7bfd 	stp	x29, x30, [sp, #-16]!
  400584:	90000000 	adrp	x0, 400000 <main>
  400588:	54ffff81 	b.ne	400580 <main>  // b.any
"""


@pytest.mark.parametrize(
    "text",
    [
        "ldr x0, [x1]",
        "add x0, x1, x2",
        "ADD W0, W1, #5",
        "cmp x0, #5",
        "fmla v0.4s, v1.4s, v2.s[0]",
        "ld1 {v0.16b, v1.16b}, [x0], #32",
        "nop\nmadd x0, x1, x2, x3\nret",
        "ldr q0, [x0, :lo12:table]",
        "12.50 :  400580:  fadd d0, d0, d1",
        "12.50 │400588:   subs x1, x1, #1",
        "fmla.4s v0, v1, v2",
        "LDR X0, [X1], #8",
        "=> 0x0000000000400584 <+4>:\tmov\tx29, x30",
        LOOP_OF_GCC,
        LISTING_OF_OBJDUMP,
    ],
)
def test_assembly_of_aarch64_is_recognised(text: str) -> None:
    assert isa_of_text(text) == AARCH64
    assert {block.isa for block in read_blocks(text, 5, DETECTED)} == {AARCH64}
    with pytest.raises(BlockError, match="this is assembly of AArch64, and code of x86-64 is expected"):
        read_blocks(text, 5)


@pytest.mark.parametrize(
    "text",
    [
        "lw a0, 8(sp)",
        "add s0, s1, s2",
        "addi x1, x2, 3",
        "mv a0, a1",
        "fadd.d fa0, fa1, fa2",
        "nop\nmul a0, a1, a2\nret",
        "lui a5, %hi(table)\nlw a0, %lo(table)(a5)",
        "   10078:\t0005a783          \tlw\ta5,0(a1)\n   1007c:\t0591                \taddi\ta1,a1,4",
        " 12.50 │      lw   a5,0(a1)\n       │      addi a1,a1,4",
        "=> 0x0000000000010078 <+4>:\tld\ta5,0(a1)\n   0x000000000001007c <+8>:\taddi\ta1,a1,4",
        "c.lw a0, 0(a1)\nc.addi a1, 4",
        "slli t0, t1, 3\nadd t0, t0, a1 # rax\nand a0, a0, a1",
    ],
)
def test_assembly_of_riscv_is_recognised(text: str) -> None:
    assert isa_of_text(text) == RISCV
    assert {block.isa for block in read_blocks(text, 5, DETECTED)} == {RISCV}
    for other in ("x86-64", AARCH64):
        with pytest.raises(BlockError, match=f"this is assembly of RISC-V, and code of {other} is expected"):
            read_blocks(text, 5, other)


@pytest.mark.parametrize(
    ("text", "usual", "isa"),
    [
        ("add x1, x2, x3", DEFAULT, AARCH64),
        ("add x1, x2, x3", RISCV, RISCV),
        ("add x1, x2, x3\nlw x4, 0(x1)", DEFAULT, RISCV),
        ("add x1, x2, x3\nldr x4, [x1]", RISCV, AARCH64),
        ("add x1, x2, x3\nmov rax, rbx", RISCV, DEFAULT),
        ("nop\nret", RISCV, RISCV),
        ("8522", RISCV, RISCV),
    ],
)
def test_lines_of_several_sets_are_decided_by_the_others(text: str, usual: str, isa: str) -> None:
    assert isa_of_text(text, usual) == isa


def test_one_instance_of_each_scheme_of_riscv_is_recognised_by_itself() -> None:
    assembler = RiscvAssembler()
    texts = [text for text in riscv64.by_text() if not riscv_obstacle(text)]
    lines = [assembler.unroll_in_order([text], instructions=1).lines[0] for text in texts]
    # With names of registers that AArch64 has as well, a few lines are valid in both.
    assert {line.partition(" ")[0] for line in lines if isa_of_text(line, RISCV) != RISCV} == set()
    assert [line for line in lines if isa_of_text(line) == DEFAULT] == ["nop"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ret",
        "nop",
        "add x0, 5",  # a variable of that name
        "mov eax, x1",
        "neg x0",
        "not d0 # s1",
        "mov rax, rbx\nldr x0, [x1]",
        "add rax, rbx # ldr x0, [x1]",
        "nop ; ldr x0, [x1]",
        "nop // add x0, x1, x2",
        "call b\njmp x0",
        "str ax",
        "movl x0(%rip), %eax",
        "addss xmm0, xmm1 ; s0 += s1",
        "fadd st0, st1",
        "faddp",
        "ldr r0, [r1]",
        "4801d8",
        "what is this, s0?",
    ],
)
def test_what_could_be_of_x86_64_or_nothing_is_not(text: str) -> None:
    assert isa_of_text(text) == DEFAULT


@pytest.mark.skipif(program() is None, reason="llvm-mc is not installed")
def test_one_instance_of_each_scheme_is_recognised_by_itself() -> None:
    assembler = Assembler()
    texts = [scheme.text for scheme in instruction_set().schemes if not scheme.exclusion]
    lines = [assembler.unroll_in_order([text], instructions=1).lines[0] for text in texts]
    assert [line for line in lines if isa_of_text(line) != AARCH64] == ["nop"]


@pytest.mark.parametrize(
    "line", ["add rax, rbx", "movl %eax,0x8(%rdi)", "addq $8, %rsi", "VADDPS ymm0, ymm1, ymm2"]
)
def test_a_line_of_x86_64_among_aarch64_is_told(line: str) -> None:
    assert foreign_line_test(AARCH64)(line)
    listing = LISTING_OF_OBJDUMP + line + "\n"
    reading = read(listing, 5, AARCH64)
    assert [dropped.line for dropped in reading.dropped] == [5]


@pytest.mark.parametrize(
    "line", ["mov x0, x1", "the register rax is saved", "// rax", "ptr = next;", "x = eax"]
)
def test_other_lines_are_none_of_x86_64(line: str) -> None:
    assert not foreign_line_test(AARCH64)(line)


@pytest.mark.parametrize(
    "text", ["loop: cbnz w3, loop", "b.ne .L3", "12.50 │ 400588: ↑ b.ne 400588 <main>  // b.any"]
)
def test_jumps_alone_are_recognised(text: str) -> None:
    assert isa_of_text(text) == AARCH64
    with pytest.raises(BlockError, match="no instruction but jumps"):
        read_blocks(text, 5, DETECTED)


@given(st.text(alphabet="addlrxw0123,[]#-: .\n\teaxvsb{}", max_size=200))
def test_no_text_makes_it_fail(text: str) -> None:
    isa_of_text(text)


@given(st.sampled_from(["x0,", "[", "a ", "0 ", "1.1 ", ".", "add ", "{v0"]), st.integers(1, 4000))
def test_long_lines_are_no_burden(part: str, times: int) -> None:
    isa_of_text(part * times)


@pytest.mark.shared
def test_no_block_of_bhive_is_taken_for_it_in_any_syntax_with_any_comment() -> None:
    folder = settings.SHARED / "data" / "blocks"
    lines = [line for path in folder.glob("*.csv") for line in path.read_text().splitlines()]
    codes = {digits for line in lines if re.fullmatch("(?:[0-9a-f]{2})+", digits := line.partition(",")[0])}
    assert len(codes) > 4000
    for code in sorted(codes):
        try:
            intel = block_of_hex(code).text
        except BlockError:  # BHive has a few that are cut off
            continue
        att = "\n".join(gnu_lines(bytes.fromhex(code)))
        bare = "\n".join(line.partition(" ")[0] for line in intel.splitlines())
        for text in (intel, att, bare, intel.replace("\n", " # ldr x0, [x1]\n")):
            assert isa_of_text(text) == DEFAULT, text
