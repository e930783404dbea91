"""What people paste: spellings of compilers and assemblers, directives, regions, labels, limits."""

from __future__ import annotations

import contextlib
import time

import pytest

from inference.isa.blocks import BlockError, att_of_bytes, block_of_hex, block_of_text, read
from inference.isa.code.dumps import digits_of_dump

LOOP = "4801d8ffc975f9"  # add rax, rbx; dec ecx; jne back


@pytest.mark.parametrize(
    ("text", "code"),
    [
        # as assemblers encode: VEX before EVEX, 64-bit pushes, short immediates, no default segments
        ("vaddpd ymm1, ymm2, [rdi+0x80]", "c5ed588f80000000"),
        ("push 300", "682c010000"),
        ("add ax, 5", "6683c005"),
        ("rep stos qword ptr es:[rdi], rax", "f348ab"),
        ("xchg eax, eax", "87c0"),
        ("xchg ecx, edx", "87ca"),
        ("xchg al, byte ptr [rax]", "8600"),
        ("fadd", "dec1"),
        ("mov eax, [rip-5000]", "8b0578ecffff"),
        ("mov rcx, 0xffffffffffffffff", "48c7c1ffffffff"),
        ("and eax, 0xfffffff0", "83e0f0"),
        ("mov eax, dword ptr ds:[rax]", "8b00"),
        ("lock xchg [rax], ecx", "f08708"),
        # GNU's, LLVM's, Microsoft's and NASM's spellings
        ("mov rax, QWORD PTR -8[rbp]", "488b45f8"),
        ("mov eax, DWORD PTR a[rip+4]", "8b0500000000"),
        ("mov eax, DWORD PTR foo@GOTPCREL[rip]", "8b0500000000"),
        ("mov edi, OFFSET FLAT:.LC0", "bf00000000"),
        ("lea rdi, .LC0[rip]", "488d3d00000000"),
        ("mov rax, QWORD PTR fs:0x28", "64488b042528000000"),
        ("mov rax, fs:[0x28]", "64488b042528000000"),
        ("mov rax, qword [rax+rcx*8]", "488b04c8"),
        ("mov eax, [rax][rcx*4]", "8b0488"),
        ("mov rax, [8+rax]", "488b4008"),
        ("mov rax, [rax+0fffffffffffffff8h]", "488b40f8"),
        ("mov rax, [rax+0xfffffffffffffff8]", "488b40f8"),
        ("vaddps zmm1, zmm2, DWORD BCST [rax]", "62f16c585808"),
        ("vaddps zmm1, zmm2, zmm3, {rn-sae}", "62f16c1858cb"),
        ("vaddps zmm1, zmm2, zmm3{rn-sae}", "62f16c1858cb"),
        ("vcmpps k1, zmm2, zmm3, {sae}, 4", "62f16c18c2cb04"),
        ("blendvps xmm1, xmm2, xmm0", "660f3814ca"),
        ("cs nopw 0x0(%rax,%rax,1)", "2e660f1f0400"),
        ("data16 cs nopw (%rax,%rax,1)", "662e660f1f0400"),
        ("rep\nstosq", "f348ab"),
        ("lock; addl $1, (%rax)", "f0830001"),
        ("nop; lock; addl $1, (%rax)", "90f0830001"),
        # AT&T
        ("cltq", "4898"),
        ("leaveq", "c9"),
        ("movabs $0x1122334455667788, %rax", "48b88877665544332211"),
        ("movl $.LC0, %edi", "bf00000000"),
        ("movss .LC0(%rip), %xmm0", "f30f100500000000"),
        ("vaddps {rn-sae}, %zmm3, %zmm2, %zmm1", "62f16c1858cb"),
        ("vaddps (%rax){1to16}, %zmm2, %zmm1", "62f16c585808"),
        ("crc32l 64(%rsi), %ebx", "f20f38f15e40"),
        ("crc32b 64(%rsi), %ebx", "f20f38f05e40"),
        ("lldt %bx", "0f00d3"),
        ("larl %bp, %ebx", "0f02dd"),
        ("fsub %st, %st(1)", "dce1"),
        # comments and marks
        ("\ufeffadd rax, rbx", "4801d8"),
        ("add rax, rbx # %rax becomes the sum", "4801d8"),
        ("add rax, rbx // 100%", "4801d8"),
        ("add rax, rbx /* of\nseveral lines */", "4801d8"),
        ("add rax, rbx ; the sum", "4801d8"),
        ("add rax, rbx; inc ecx", "4801d8ffc1"),
        ("start: add rax, rbx", "4801d8"),
        (".intel_syntax noprefix\nadd rax, rbx\n.att_syntax\nincl %ecx", "4801d8ffc1"),
        (".intel_syntax prefix\nadd %rax, %rbx", "4801d8"),
        (".set N, 8\nadd rax, N", "4883c008"),
        (".byte 0x48, 1\n.byte 0xd8", "4801d8"),
        (".p2align 4,,10\n.loc 1 2 3\n.cfi_startproc\nadd rax, rbx", "4801d8"),
    ],
)
def test_it_is_the_code_that_assemblers_make_of_it(text: str, code: str):
    assert block_of_text(text).hex == code


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        (".rept 3\nnop\n.endr", 1, 1, r"\.rept repeats, includes or guards code"),
        ("nop\n  .if 1\nnop\n.endif", 2, 3, r"\.if repeats, includes or guards code"),
        ("nop\n.macro m\nnop\n.endm", 2, 1, r"\.macro repeats"),
        ('nop\n.incbin "x"', 2, 1, r"\.incbin repeats, includes"),
        ("nop\n.long 5", 2, 1, r"\.long puts bytes into the code"),
        ("nop\n.byte 1+1", 2, 1, r"\.byte other than plain numbers"),
        ("nop\n.zero 500000000", 2, 1, r"\.zero puts bytes into the code"),
        ("nop\n.frob 1", 2, 1, r"unknown directive \.frob"),
        ("times n nop", 1, 1, "times repeats or includes code"),
        ("%rep 5\nnop\n%endrep", 1, 1, "%rep repeats or includes code"),
        ("nop\ndd 0x90", 2, 1, "dd puts bytes into the code"),
        ("nop\nlock", 2, 1, "no instruction follows lock"),
        ("nop /* open", 1, 0, r"begins here with /\* is not closed"),
        ("x1: nop\nx1: nop", 2, 1, "the label x1 stands in line 1 already"),
        ("add rax, rbx ; inc rcx, 3", 1, 16, "inc does not take these operands"),
        ("# LLVM-MCA-BEGIN\nnop", 1, 0, "has no end like '# LLVM-MCA-END'"),
        ("nop\n# LLVM-MCA-END", 2, 0, "ends here without a begin"),
        ("# LLVM-MCA-BEGIN\n# LLVM-MCA-END\nnop", 0, 0, "no instruction in the region"),
        ("mov eax, 010", 1, 1, "octal to some assemblers"),
        ("mov rax, $5", 1, 1, "registers have a % in AT&T syntax"),
        (".byte 0x06", 1, 1, r"the numbers of \.byte are no instructions"),
    ],
)
def test_what_is_refused_is_named_with_its_place(text: str, line: int, column: int, words: str):
    with pytest.raises(BlockError, match=words) as caught:
        block_of_text(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_nothing_is_passed_over_without_being_counted():
    found = read(
        '.file "a.c"\n.text\n.p2align 4\nf:\n.cfi_startproc\nadd rax, rbx ; a sum\nret\n.cfi_endproc\n'
        '.section .rodata\n.LC0:\n.long 5\n.string "a"',
        9,
    )
    assert found.skipped == 8
    assert found.notes == (
        "8 directives ignored: .cfi_endproc, .cfi_startproc, .file, .long, .p2align, .section "
        "and 2 other kinds",
        "1 comment behind a ; ignored: line 6",
    )


def test_names_are_taken_as_zero_and_told():
    (piece,) = read("movss .LC0(%rip), %xmm0\naddl counter(%rip), %eax", 1).pieces
    assert piece.notes == (".LC0, counter are assumed to be 0",)


def test_a_table_of_jumps_is_data_that_nobody_runs_into():
    text = (
        "f:\n movl %edi, %eax\n jmp *%rax\n.Ltable:\n .long .L1-.Ltable\n .long 7\n.L1:\n addl $1, %eax\n ret"
    )
    found = read(text, 9)
    assert [piece.block.hex for piece in found.pieces] == ["89f8", "83c001"]
    assert found.skipped == 2


# --------------------------------------------------------------------------- loops


@pytest.mark.parametrize(
    "text",
    [
        "again: add rax, rbx\ndec ecx\njne again",
        "again:\n addq %rbx, %rax\n decl %ecx\n jne again",
        "1: add rax, rbx\ndec ecx\njnz 1b",
        "add rax, rbx\ndec ecx\njne .L3",
        "add rax, rbx\ndec ecx\njne $-5",
        "jmp enter\nagain: add rax, rbx\nenter: dec ecx\njne again",
    ],
)
def test_a_jump_back_makes_a_loop(text: str):
    loops = [piece.block for piece in read(text, 9).pieces if piece.block.kind == "loop"]
    assert [block.hex for block in loops] == [LOOP]
    assert loops[0].body.hex() == "4801d8ffc9"
    assert [one.text for one in loops[0].instructions] == ["add rax, rbx", "dec ecx"]


def test_a_text_with_jumps_becomes_its_loops_and_straight_pieces():
    text = """
    f:
        mov eax, 0
    .L2:
        add eax, [rdi]
        test eax, eax
        js .L3
        add rdi, 4
        cmp rdi, rsi
        jne .L2
    .L3:
        imul eax, eax
        call g
        inc eax
        ret
    """
    found = read(text, 9)
    assert [(one.name, one.block.kind, one.line) for one in found.pieces] == [
        ("f", "straight", 3),
        (".L2", "loop", 5),
        (".L3", "straight", 12),
        ("f, line 14", "straight", 14),
    ]
    assert found.pieces[1].notes == ("js .L3 (line 7) is assumed not taken",)
    assert found.notes == ()


def test_each_region_is_a_block_with_its_name():
    text = "nop\n# LLVM-MCA-BEGIN first\nadd rax, rbx\n# LLVM-MCA-END\n# OSACA-BEGIN\ninc ecx\n# OSACA-END"
    found = read(text, 9)
    assert [(one.name, one.block.hex) for one in found.pieces] == [("first", "4801d8"), ("region 2", "ffc1")]
    assert found.notes == ("1 instruction outside the marked regions ignored",)


def test_regions_between_the_bytes_of_iaca_are_blocks():
    text = (
        "nop\nmovl $111, %ebx\n.byte 100, 103, 144\naddq %rbx, %rax\nmovl $222, %ebx\n.byte 100, 103, 144\n"
    )
    assert [one.block.hex for one in read(text, 9).pieces] == ["4801d8"]


@pytest.mark.parametrize(
    "code",
    [LOOP, "4801d8e2fb", "64679075fb", "90" * 200 + "0f85" + (-206 & 0xFFFFFFFF).to_bytes(4, "little").hex()],
)
def test_the_text_of_a_loop_reads_back_to_its_bytes(code: str):
    block = block_of_hex(code)
    assert block.kind == "loop"
    assert block_of_text(block.text).hex == code
    assert block_of_text("\n".join(att_of_bytes(block.code))).hex == code


def test_digits_with_control_flow_are_cut_like_other_code():
    found = read("4801d8c3ffc1", 9)
    assert [one.block.hex for one in found.pieces] == ["4801d8", "ffc1"]
    assert found.notes == ()
    with pytest.raises(BlockError, match="no instruction but jumps, calls and returns"):
        read("f1", 9)


# --------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    "text",
    [
        "nop" + " " * 10**6 + "x",
        "\n" * 10**6,
        "/*\n" + "\n" * 10**5 + "*/nop",
        "a" * 10**6 + ":",
        "(" * 10**6,
        "mov rax, " + "(" * 10**5,
        "mov rax, " + "-" * 10**5 + "1",
        "mov rax, " + "9" * 10**5,
        "mov rax, [" + "rax+" * 10**5 + "]",
        ".string " + '"' * 10**6,
        "; " * 10**5,
        ";nop" * 10**5,
        "\n".join(f"nop; add rax, {k}" for k in range(30_000)),
        "1:jmp 1b\n" * 50_000,
        " 0: " * 10**5,
        "0 " * 10**5 + ":",
        "│" * 10**5,
        "1.0 : " * 10**5,
        "j\n" * 10**5,
        "a:" * 10**5,
        '"' * 10**5 + ":",
        "XDIS " * 10**5,
    ],
)
def test_no_text_is_read_for_long(text: str):
    began = time.process_time()
    with contextlib.suppress(BlockError):
        read(text, 100)
    assert time.process_time() - began < 20


def test_equal_instructions_are_read_once(monkeypatch):
    from inference.isa.x86.assembly import text as reader

    asked = []
    real = reader.content_of
    monkeypatch.setattr(reader, "content_of", lambda written: asked.append(written) or real(written))
    read("\n".join(["add rax, 0x123457", "add rcx, 0x123458"] * 200), 1)
    assert len(asked) == 2


DUMPED = bytes.fromhex("4801d8480fafc34883c001") * 3
DUMPS = {
    "hexdump -C": """00000000  48 01 d8 48 0f af c3 48  83 c0 01 48 01 d8 48 0f  |H..H...H...H..H.|
00000010  af c3 48 83 c0 01 48 01  d8 48 0f af c3 48 83 c0  |..H...H..H...H..|
00000020  01                                                |.|
00000021
""",
    "xxd": """00000000: 4801 d848 0faf c348 83c0 0148 01d8 480f  H..H...H...H..H.
00000010: afc3 4883 c001 4801 d848 0faf c348 83c0  ..H...H..H...H..
00000020: 01                                       .
""",
    "od -t x1": """0000000 48 01 d8 48 0f af c3 48 83 c0 01 48 01 d8 48 0f
0000020 af c3 48 83 c0 01 48 01 d8 48 0f af c3 48 83 c0
0000040 01
0000041
""",
}


@pytest.mark.parametrize("tool", DUMPS)
def test_a_dump_is_read_as_the_code_that_it_shows(tool: str) -> None:
    (piece,) = read(DUMPS[tool], 1).pieces
    assert piece.block.code == DUMPED
    assert block_of_hex(DUMPS[tool]).code == DUMPED


def test_a_dump_without_its_repeated_lines_is_refused() -> None:
    lines = DUMPS["hexdump -C"].splitlines()
    with pytest.raises(BlockError, match="hexdump -Cv") as refused:
        read("\n".join([lines[0], "*", *lines[1:]]), 1)
    assert refused.value.line == 2


@pytest.mark.parametrize("text", ["00001000  48 01 d8\n00001004  48 01 d8", "000000 zz", "deadbe: 4801"])
def test_what_has_no_offsets_of_a_dump_is_none(text: str) -> None:
    assert digits_of_dump(text.splitlines()) is None
