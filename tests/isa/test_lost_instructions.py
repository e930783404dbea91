"""Texts of which instructions were once lost: each is read whole, or told with the line that is not read."""

from __future__ import annotations

import pytest

from inference.isa.blocks import BlockError, block_of_text, read, read_blocks

LOOP = "4801d8ffc975f9"  # add rax, rbx; dec ecx; jne back
JMH = """....[Hottest Region 1]....
c2, level 4, org.sample.Sum::run, version 524 (88 bytes)

                0x00007f0d3c11a2c0: xor    %eax,%eax
                0x00007f0d3c11a2c2: jmp    0x00007f0d3c11a2c7
  3.46%      ↗  0x00007f0d3c11a2c4: add    %rbx,%rax  ;*ladd {reexecute=0 rethrow=0}
  1.25%  ↘   │  0x00007f0d3c11a2c7: dec    %ecx
             │                                                ; - org.sample.Sum::run@12 (line 5)
 20.00%      ╰  0x00007f0d3c11a2c9: jne    0x00007f0d3c11a2c4
                0x00007f0d3c11a2cb: ret
"""
LUAJIT = """---- TRACE 1 mcode 27
0bcbffc0  mov dword [0x4000b410], 0x1
->LOOP:
0bcbffcb  add rax, rbx
0bcbffce  dec ecx
0bcbffd0  jne 0x0bcbffcb\t->LOOP
0bcbffd2  jmp 0x0bcb0014\t->1
---- TRACE 1 stop -> loop
"""
PERF_WITHOUT_ADDRESSES = """       │    0000000000001129 <f>:
       │      push   %rbp
  5.00 │      mov    %rsp,%rbp
       │10:   add    %rbx,%rax
       │      dec    %ecx
 80.00 │    ↑ jne    10
       │    ← ret
"""
LLDB = """a.out`f:
->  0x401126 <+0>: addq   %rbx, %rax
    0x401129 <+3>: decl   %ecx
    0x40112b <+5>: jne    0x401126                  ; <+0>
"""
LLDB_AT_REST = """(lldb) disassemble -n f
a.out`f:
a.out[0x401126] <+0>: addq   %rbx, %rax
a.out[0x401129] <+3>: decl   %ecx
a.out[0x40112b] <+5>: jne    0x401126                  ; <+0> at a.c:4
"""
WINDBG = """a!f [C:\\a.c @ 4]:
00007ff7`3b8b1000 4801d8          add     rax,rbx
00007ff7`3b8b1003 ffc9            dec     ecx
00007ff7`3b8b1005 75f9            jne     a!f (00007ff7`3b8b1000)
"""
X64DBG = """00007FF73B8B1000 | 48:01D8                  | add rax,rbx                     | sum
00007FF73B8B1003 | FFC9                     | dec ecx                         |
00007FF73B8B1005 | 75 F9                    | jne a.7FF73B8B1000              |
"""
GHIDRA = """                             LAB_00401126              XREF[1]:     0040112b(j)
        00401126 48 01           ADD        RAX,RBX
                 d8
        00401129 ff c9           DEC        ECX
        0040112b 75 f9           JNZ        LAB_00401126
"""
DUMPBIN = """f:
  0000000140001000: 48 01              add         rax,rbx
                    D8
  0000000140001003: FF C9              dec         ecx
  0000000140001005: 75 F9              jne         0000000140001000

  Summary
        1000 .text
"""
IDA_WITH_BYTES = """.text:0000000000401126         f       proc near               ; CODE XREF: main+4
.text:0000000000401126
.text:0000000000401126        loc_401126:             ; CODE XREF: f+5
.text:0000000000401126 48 01+                                  add     rax, rbx        ; sum
.text:0000000000401126 D8
.text:0000000000401129 FF C9                                   dec     ecx
.text:000000000040112B 75 F9                                   jnz     short loc_401126
.text:000000000040112B                         f               endp
"""
RADARE2 = """            ; CODE XREF from main @ 0x401140(x)
┌ 9: int f (int64_t arg1, int64_t arg2);
│       ┌─> 0x00401126      4801.          add rax, rbx                ; arg2
│       ╎   0x00401129      ffc9           dec ecx
└       └─< 0x0040112b      75f9           jne 0x401126
"""
RIZIN = """╭ f(int64_t arg1, int64_t arg2);
│       ╭─> 0x00401126      add   rax, rbx                            ; arg2
│       ╎   0x00401129      dec   ecx
╰       ╰─< 0x0040112b      jne   0x401126
"""
PREFIXED = """0000000000401126 <f> add    %rbx,%rax
0000000000401129 <f+0x3> dec    %ecx
000000000040112b <f+0x5> jne    0000000000401126 <f>
"""
PWNDBG = """ ► 0x401126 <main+6>       add    rax, rbx
   0x401129 <main+9>       dec    ecx
   0x40112b <main+11>    ✔ jne    main+6                      <main+6>
"""
STUDIO = """    12: s += n;
00007FF73B8B1000  add         rax,rbx
00007FF73B8B1003  dec         ecx
00007FF73B8B1005  jne         f+0h (07FF73B8B1000h)
"""
TRACE = """  a 12 [000] 1.5:       401126 f+0x0 (/tmp/a) insn: 48 01 d8
  a 12 [000] 1.5:       401129 f+0x3 (/tmp/a) insn: ff c9
  a 12 [000] 1.5:       40112b f+0x5 (/tmp/a) insn: 75 f9		# PRED 3 cycles
"""
PERIODS = """ Period      |\tSource code & Disassembly of a for cycles (9 samples, percent: local period)
             : 5    0000000000401126 <f>:
        1200 :   401126:   add    %rbx,%rax
           0 :   401129:   dec    %ecx
           7 :   40112b:   jne    401126 <f>
"""
SHARES_IN_A_COLUMN = """Percent
            0000000000401126 <f>:
         0:   add    %rbx,%rax
 98.70        dec    %ecx
  1.30      ↑ jne    0
            ← ret
"""
VISUAL = (
    "  401126:\t/-> 48 01 d8             \tadd    %rbx,%rax\n"
    "  401129:\t|   ff c9                \tdec    %ecx\n"
    "  40112b:\t\\-- 75 f9                \tjne    401126 <f>\n"
)
IDA = (
    ".text:0000000000401126 loc_401126:\n.text:0000000000401126 add rax, rbx\n"
    ".text:0000000000401129 dec ecx\n.text:000000000040112B jnz short loc_401126\n"
)
LONG_NAME = (
    f"  401126:\t48 01 d8\tadd    %rbx,%rax # {'x' * 2000}\n  401129:\tff c9\tdec    %ecx\n"
    f"  40112b:\t75 f9\tjne    401126 <{'x' * 2000}>\n"
)


LISTINGS = (
    *(JMH, LUAJIT, PERF_WITHOUT_ADDRESSES, LLDB, LLDB_AT_REST, VISUAL, IDA, LONG_NAME, WINDBG, X64DBG),
    *(GHIDRA, DUMPBIN, IDA_WITH_BYTES, RADARE2, RIZIN, PREFIXED, PWNDBG, STUDIO, TRACE, PERIODS),
    SHARES_IN_A_COLUMN,
)
"""Listings of one loop, written by hand."""


@pytest.mark.parametrize("text", LISTINGS, ids=lambda text: text[:14])
def test_the_loop_of_a_listing_has_all_its_instructions(text: str):
    found = read(text, 9)
    assert [one.block.hex for one in found.pieces if one.block.kind == "loop"] == [LOOP]
    assert not found.dropped


def test_a_prefix_alone_in_a_profile_without_addresses_is_told():
    with pytest.raises(BlockError) as caught:
        read(PERF_WITHOUT_ADDRESSES.replace("dec    %ecx", "lock"), 9)
    assert caught.value.line == 5


def test_the_shares_of_a_profile_without_colons_count():
    (loop,) = (piece for piece in read(JMH, 9).pieces if piece.block.kind == "loop")
    assert loop.count == pytest.approx(24.71)


# ----------------------------------------------------------------------------- paragraphs


@pytest.mark.parametrize(
    "before", [".intel_syntax noprefix", ".text", ".globl f", '.file "a.c"', ".type f,@function"]
)
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_paragraphs_stay_blocks_of_their_own_below_a_directive(before: str, gap: str):
    found = read(f"{before}{gap}add rax, rbx\n\nimul rcx, rdx\n\nadd rax, 1\nadd rax, 2\n", 9)
    assert [one.block.hex for one in found.pieces] == ["4801d8", "480fafca", "4883c0014883c002"]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (".att_syntax\nnop\n\npush 5", ["90", "ff342505000000"]),
        (".set N, 8\nnop\n\nadd rax, N", ["90", "4883c008"]),
        (".section .rodata\n.LC0:\n.long 5\n\n.text\nf: add rax, rbx", ["4801d8"]),
        (".text\nL: add rax, rbx\njne L\n\nL: dec ecx\njne L", ["4801d875fb", "ffc975fc"]),
        (".text\nL: add rax, rbx\n\ndec ecx\njne L", [LOOP]),
        (".text\n# LLVM-MCA-BEGIN\nadd rax, rbx\n\ndec ecx\n# LLVM-MCA-END\n\nnop", ["4801d8ffc9"]),
        ("# LLVM-MCA-BEGIN\nadd rax, rbx\n\ndec ecx\n# LLVM-MCA-END\n\nnop", ["4801d8ffc9"]),
        ("mov ebx, 111\n.byte 100, 103, 144\nnop\n\nnop\nmov ebx, 222\n.byte 100, 103, 144", ["9090"]),
    ],
)
def test_what_a_directive_says_holds_in_later_paragraphs(text: str, codes: list[str]):
    assert [one.block.hex for one in read(text, 9).pieces] == codes


def test_a_paragraph_of_comments_is_no_block():
    assert block_of_text("# a sum\n\nadd rax, rbx").hex == "4801d8"
    assert block_of_text(".intel_syntax noprefix\n\nadd rax, rbx").hex == "4801d8"


# ----------------------------------------------------------------------------- what is told

LISTED = "  401126:\t48 01 d8\tadd    %rbx,%rax\n{}\n  401129:\tff c9\tdec    %ecx\n"


@pytest.mark.parametrize(
    "line",
    [
        "imul rax, rbx",
        "48 0f af c3\timul %rbx,%rax",
        "add x0, x1, x2",
        "401128: {frob}",
        "  401128:",
        "lock",
        ".byte 0x90",
        "frob %rax, %rbx",
        "  main.go:5  0x45d2a0  4839c8  CMPQ CX, RAX",
        "\x1b\u200a[31m 401128: nop",
    ],
)
def test_a_line_among_a_listing_that_looks_like_code_is_told(line: str):
    text = LISTED.format(line)
    found = read(text, 9)
    assert [one.line for one in found.dropped] == [2]
    for strict in (lambda: read_blocks(text, 9), lambda: block_of_text(text)):
        with pytest.raises(BlockError) as caught:
            strict()
        assert caught.value.line == 2


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("", ""),
        ("; a comment", "comment"),
        ("# add rax, rbx", "comment"),
        ("\t\t\t401128: R_X86_64_PC32\tx-0x4", "relocation"),
        ("Disassembly of section .text:", "heading or source line"),
        ("    for (int i = 0; i < n; i++)", "heading or source line"),
        ("int add(int x, int y);", "heading or source line"),
        ("\t...", "rule"),
        ("----------", "rule"),
        ("│", "rule"),
        (".loc 1 2 3", ".loc"),
    ],
)
def test_every_other_line_of_a_listing_has_a_kind(line: str, kind: str):
    found = read(LISTED.format(line), 9)
    assert not found.dropped
    assert [one.block.hex for one in found.pieces] == ["4801d8ffc9"]
    assert found.skipped == bool(kind)
    assert not kind or any(note.endswith(f"ignored: {kind}") for note in found.notes)


def test_gaps_and_unknown_bytes_of_a_listing_are_told():
    gap = read("  401126:\t48 01 d8\tadd %rbx,%rax\n  40112a:\tff c9\tdec %ecx\n", 9)
    assert "the addresses have a gap after line 1: a block ends there" in gap.notes
    bad = read(LISTED.format("  401128:\t06\t(bad)"), 9)
    assert [(one.line, one.reason) for one in bad.dropped] == [(2, "is no instruction")]
    several = read("  401120:\t90 90 90\n  401126:\tff c9\tdec %ecx\n", 9)
    assert [one.line for one in several.dropped] == [1]
    nowhere = read("  401126:\tadd %rbx,%rax\n  401129:\tjne back\n", 9)
    assert "the target of the jump in line 2 is not in the listing" in nowhere.notes


def test_a_last_conditional_jump_without_a_target_closes_the_loop():
    bare = read("add rax, rbx\ndec ecx\njne", 9)
    assert [piece.block.hex for piece in bare.pieces] == [LOOP]
    assert "jne in line 3 has no target: taken to lead to the first instruction" in bare.notes
    with pytest.raises(BlockError, match="the target of the jump is missing") as caught:
        read("add rax, rbx\njne\ndec ecx", 9)
    assert caught.value.line == 2


def test_bytes_without_text_are_an_instruction_a_line_and_broken_ones_are_joined():
    assert read_blocks("  401120:\t48 01 d8\n  401123:\tff c9\n", 9)[0].hex == "4801d8ffc9"
    broken = "  401120:\t48 b8 88 77 66 55 44 \tmovabs $0x1122334455667788,%rax\n  401127:\t33 22 11 \n"
    assert [one.hex for one in read_blocks(broken, 9)] == ["48b88877665544332211"]


def test_a_prefix_of_a_listing_goes_to_the_next_instruction_if_that_is_next():
    assert block_of_text("  401120:\trep\n  401121:\tstosb\n").hex == "f3aa"
    with pytest.raises(BlockError, match="no instruction follows rep"):
        read("  401120:\trep\n  401123:\tstosb\n", 9)


def test_bytes_behind_a_return_are_told_and_no_jump_leads_to_them():
    found = read("f: ret\n.L1: .byte 0x90, 0x90\nadd rax, rbx", 9)
    assert [(one.line, one.text) for one in found.dropped] == [(2, ".L1: .byte 0x90, 0x90")]
    with pytest.raises(BlockError, match=r"jmp \.L1 leads to the data in line 2") as caught:
        read("jmp .L1\n.L1: .byte 0x90\nnop", 9)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("nop\nx db 0x90\nnop", 2, "x puts bytes into the code"),
        ("rep\n.byte 0xa4\nadd rax, rbx", 2, "rep stands before numbers"),
        ("nop\nrax = rbx\nnop", 2, "registers cannot be renamed"),
        (".set acc, %rax\naddq acc, %rbx", 1, "registers cannot be renamed"),
        ("nop\na=dd rax, rbx", 2, "registers cannot be renamed"),
        ("f:\ndq %rbx, %rax\nnop", 2, "dq puts bytes into the code"),
        (".L3: add rax, rbx\njne .L3 foo", 2, "text follows the target of the jump"),
        ("nop\nfrob rax, rbx:\nnop", 2, "no instruction 'frob'"),
        ("add rax, rbx\n...\ndec ecx", 2, "dots stand for missing code"),
        ("add rax, rbx\n…\ndec ecx", 2, "dots stand for missing code"),
        ("add rax, rbx \\\ndec ecx", 1, "is no register"),
        ("add rax, rbx | dec ecx", 1, "is no register"),
        ("add rax, #5", 1, "an operand is missing"),
        ("add rax, qword ptr [r", 1, "memory is written like"),
        ("lock\n\nadd dword ptr [rax], 1", 1, "no instruction follows lock"),
        ("nop\n.word 0x9090", 2, r"\.word puts bytes into the code"),
        (".macro m\nnop\n.endm\nm", 1, r"\.macro repeats"),
    ],
)
def test_what_would_be_other_code_is_refused_with_its_line(text: str, line: int, words: str):
    with pytest.raises(BlockError, match=words) as caught:
        read(text, 9)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("│ add rax, rbx │\n│ dec ecx │", "4801d8ffc9"),
        ("\x1b[31madd\x1b[0m rax, \x1b[1mrbx", "4801d8"),
        ("add\u00a0rax,\u2003rbx\u200b", "4801d8"),
        ('#APP\n# 5 "a.c" 1\nadd rax, rbx\n# 0 "" 2\n#NO_APP', "4801d8"),
        ("lock\n.p2align 4\nadd dword ptr [rax], 1", "f0830001"),
        ("nop /* a\nadd rax, rbx\n*/ nop", "9090"),
        ("data16\nnop", "6690"),
        ("nop\n.byte 0x90\nnop", "909090"),
        (".L1: .L2: add rax, rbx", "4801d8"),
    ],
)
def test_decoration_and_siblings_are_read_to_the_code_that_they_are(text: str, code: str):
    assert block_of_text(text).hex == code


def test_a_remark_behind_a_semicolon_is_counted_with_its_line():
    assert "1 comment behind a ; ignored: line 2" in read("nop\nadd rax, rbx ; frob rcx", 9).notes


def test_data_segments_of_microsoft_s_assembler_are_no_code():
    text = (
        "_DATA SEGMENT\nmsg DB 'a'\n_DATA ENDS\n_TEXT SEGMENT\nmain PROC\nadd rax, rbx\ncall f\n_TEXT ENDS\n"
        "xdata SEGMENT\n$u DD 01H\n DD 02H\nxdata ENDS"
    )
    assert [one.block.hex for one in read(text, 9).pieces] == ["4801d8"]
