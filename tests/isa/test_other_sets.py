"""Code that is not of x86-64 is refused by its name, and 32-bit code with the line that shows it."""

from __future__ import annotations

import pytest

from inference.isa.blocks import BlockError, read
from inference.isa.targets.other_sets import other_set_of
from inference.isa.x86.assembly.reading import NARROW

LOOPS = {
    "RISC-V with its extensions Zbc, XThead": (
        "loop:\n clmul t0, a2, a3\n th.mula a4, a1, t0\n sub a2, a2, t0\n sh2add a1, t0, a1\n bnez a2, loop"
    ),
    "AArch64 with SVE": " ld1w { z0.s }, p0/z, [x0, x8, lsl #2]\n"
    " fmla z1.s, p0/m, z0.s, z2.s\n incw x8\n b.mi .L3",
    "32-bit Arm": ".L3:\n ldr r3, [r0], #4\n add r2, r2, r3\n cmp r0, r1\n bne .L3",
    "PowerPC": ".L3:\n lwzu 10,4(3)\n add 9,9,10\n bdnz .L3",
    "MIPS": "$L3:\n lw $2,0($4)\n addiu $4,$4,4\n bne $4,$3,$L3",
    "LoongArch": " ld.d $a0,$a1,0\n addi.d $a1,$a1,8\n add.d $a2,$a2,$a0",
    "IBM Z": " lg %r1,0(%r2)\n agr %r3,%r1\n la %r2,8(%r2)\n brctg %r4,.L3",
    "LLVM IR": "loop:\n  %3 = load double, ptr %2, align 8\n  %4 = fadd double %3, %1\n"
    "  br i1 %5, label %loop, label %exit",
    "WebAssembly": "local.get 0\ni32.load offset=4\ni32.add\nlocal.set 1\nbr_if 0",
    "Java bytecode": "0: iload_1\n1: iload_2\n2: iadd\n3: istore_3\n4: goto 0",
    "a GPU": "ld.global.f32 %f1, [%rd1];\nfma.rn.f32 %f2, %f1, %f1, %f2;\n@%p1 bra BB0;",
}


@pytest.mark.parametrize("name", LOOPS)
def test_other_sets_are_refused_by_name(name: str) -> None:
    assert other_set_of(LOOPS[name]) == name
    with pytest.raises(BlockError, match=r"code of|assembly of"):
        read(LOOPS[name], 9)


@pytest.mark.parametrize(
    "text",
    [
        "xor r10d, r10d\nfoo rax",
        "nop\nfrob",
        "andl $3, %esi\naddl $8, %eax\nfrob",
        "mov r12, r10\nor r13, r12\nfrob r1",
        "push 0x1d\nret\nfrob",
        "this is no code at all, add to it",
        "",
    ],
)
def test_wrong_x86_code_is_of_no_other_set(text: str) -> None:
    assert not other_set_of(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("f:\n\tpushl\t%ebx\n\tret", 2),
        ("push ebp\nmov ebp, esp", 1),
        (".L3:\n add edx, DWORD PTR [eax]\n mov eax, DWORD PTR 8[esp]\n jne .L3", 3),
        ("0bcbffcf  addsd xmm7, [0x40015d78]\n0bcbffd5  mov eax, [esp+0x18]", 2),
        ("two.o:     file format elf32-i386\n\n00000000 <f>:\n   0:\t89 d0  \tmov %edx,%eax", 1),
        ("   0:\t8b 54 24 08 \tmov 0x8(%esp),%edx\n   4:\t85 d2 \ttest %edx,%edx", 1),
        ("call eax", 1),
    ],
)
def test_32_bit_code_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(BlockError, match="32-bit x86") as caught:
        read(text, 9)
    assert caught.value.line == line


def test_code_that_may_be_32_bit_is_read_with_a_note() -> None:
    assert NARROW in read(".L3:\n fadds (%eax)\n addl $4, %eax\n jne .L3", 9).notes


@pytest.mark.parametrize(
    "text",
    [
        "mov eax, [esp+8]\nadd rax, rbx",
        "mov eax, [rsp+8]\nadd eax, ebx",
        "  401126:\t67 8b 44 24 08 \tmov 0x8(%esp),%eax",
        "add eax, ebx # push ebp",
        "imul eax, ebx",
    ],
)
def test_64_bit_code_has_no_note_on_its_mode(text: str) -> None:
    assert NARROW not in read(text, 9).notes
