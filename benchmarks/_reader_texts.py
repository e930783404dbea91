"""Texts that look like assembly and would do harm in an assembler: directives hidden by comments and labels.

A text is a function of the seed and its number. It is put together from directives that read files, emit,
repeat or guard code, instructions in both syntaxes and lines of listings, with comments, labels, separators,
quotes, macros and characters of other encodings between and within them.
"""

from __future__ import annotations

import random
from collections.abc import Callable

DIRECTIVES = (
    '.incbin "{file}"', '.incbin "{file}",0,8', ".incbin '{file}'", '.incbin"{file}",8', ".incbin {file}",
    '.include "{file}"', ".include '{file}'", '.include"{file}"', '#include "{file}"', '%include "{file}"',
    'include {file}', 'incbin "{file}"', "INCLUDE {file}", '.file 1 "{file}"', '.file "{file}"', "@{file}",
    '.linefile 1 "{file}"', '.cv_file 1 "{file}"', '.dwarf_file "{file}"', '.import_module "{file}"',
    ".zero 500000000", ".space 500000000", ".skip 1<<40", ".fill 100000000,8,0", ".org 1<<30",
    ".nops 99999999", ".zero 8", ".ds.b 9999999", ".dcb.b 9999999,1", ".p2align 30", ".align 65536",
    ".balign 1<<28", ".p2align 4,,15", ".rept 1000000", ".rept 3", ".endr", ".rep 9", ".irp x,1,2",
    ".irpc x,abc", ".while 1", ".macro m", ".macro m a=1", ".endm", ".exitm", ".purgem m", "m", r"\a",
    r"\@", ".altmacro", ".if 1", ".if 0", ".ifdef a", ".ifc a,b", ".else", ".elseif 1", ".endif",
    ".byte 0x90", ".byte 0x90,144", ".byte a-b", ".byte 1<<3", ".long 1", ".quad 1", ".octa 1", ".word 1",
    ".short 1", ".value 0x9090", ".2byte 1", ".4byte 1", ".8byte 1", ".d32 1", '.ascii "x"', '.asciz "x"',
    '.string "{file}"', ".float 1", ".double 1e9", ".tfloat 1", ".uleb128 1", ".sleb128 -1", ".set a,5",
    ".equ a,b", "a=5", "a==b", ".equiv a,1", ".eqv a,1", ".section .text", '.section "{file}"', ".text",
    ".data", ".bss", ".pushsection x", ".popsection", ".previous", ".subsection 1",
    ".intel_syntax noprefix", ".att_syntax prefix", ".intel_syntax", ".att_syntax noprefix",
    ".intel_mnemonic", ".cfi_startproc", ".cfi_endproc", ".cfi_escape 1", ".cfi_def_cfa_offset 16",
    '.cfi_personality 3,"{file}"', ".loc 1 2 3", ".type f,@function", ".size f,.-f", ".globl f", ".weak f",
    ".comm x,99999999", ".lcomm x,9", '.ident "{file}"', ".line 9", '.print "{file}"', '.error "{file}"',
    '.warning "x"', ".err", ".abort", ".code32", ".code16", ".code64", ".arch .nosse", ".insn 1",
    '.reloc 0,R_X86_64_NONE,{file}', ".symver a,b@c", ".version \"1\"", ".end", ".func f",
    ".linkonce discard", ".bundle_align_mode 5", ".secrel32 a", ".struct 5", ".offset 5", ".hidden f",
    ".incbin", ".include", ".", "..", "db 0x90", "dw 1", "DB 100 dup(90h)", "times 1000000000 nop",
    "resb 1<<30", "%rep 9", "%macro m 1", "align 16", "org 100h", "bits 64", "section .text", "global f",
    "proc near", "end", "equ 5", ".inst 0x90", ".incbin.include",
)  # fmt: skip
COMMENTS = (
    "/**/", "/* x */", "/*", "*/", "/*/**/", "/*\n*/", "/***/", "/* \"*/", "#", "# x", "#APP", "#NO_APP",
    "//", "// x", ";", "; x", "/", "|", "!", "--", "@", "{{", "}}", "%%", "<!--", "\\", "# 1 \"{file}\"",
    "/*{file}*/", "# %rax", "/* %rax */", "; %rax",
)  # fmt: skip
LABELS = (
    "0:", "1:", "00:", "a:", ".L4:", '"a b":', "a :", "$x:", "a::", "@@:", "f@plt:", "1:2:", "a:b:",
    "_Z1fv:", "  401000:\t", "401000 <main>:", "0000000000401000 <f>:", "<f>:",
    "=> 0x0000000000401000 <+4>:\t", "%bb.0:", " 12.50 │ 40:\t", "     0.10 :\t401000:\t",
    "XDIS 401000: BASE 4801D8 ", ".text:0000000000401000 ", "lock:", "rep:", "nop:", "rax:", "\u00b5:",
    "\\:", "\":", "L\0:",
)  # fmt: skip
SEPARATORS = (
    "\n", "\n", "\n", ";", ";", "; ", " ; ", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029",
    "\x1c", "\x1e", "\\\n", "!", "\t", " ", "\0", "\xa0", "\n\n", "||", "&&", "", "$", "\x1a", "\u3000",
)  # fmt: skip
INSTRUCTIONS = (
    "nop", "ret", "addq %rax, %rbx", "add rax, rbx", "movq $5, 8(%rax,%rcx,4)",
    "mov qword ptr [rax+rcx*4+8], 5", "vaddps zmm1{{k1}}{{z}}, zmm2, zmm3",
    "vaddps {{rn-sae}}, %zmm1, %zmm2, %zmm3{{%k1}}", "rep movsb", "jne .L4", "lock add dword ptr [rbx], 3",
    "jmp 401000 <main>", "call f@PLT", "lea rax, .LC0[rip]", "movq f@GOTPCREL(%rip), %rax",
    "48 01 d8\tadd rax, rbx", "  401000:\t48 01 d8             \tadd    %rbx,%rax", "4801d8",
    "mov eax, OFFSET FLAT:x", "mov rax, fs:0x28", "mov eax, [rip-5000]", "push 300", "pushq $.incbin",
    "call .include", "movq .incbin, %rax", "mov rax, qword ptr .incbin[rip]", 'mov rax, "{file}"',
    "mov rax, '{file}'", 'addq "{file}"(%rip), %rax', "xbegin 1f", "data16 addr32 {{evex}} rex.W nop",
    "fadd", "vgatherdps ymm1, [rax+ymm2*4], ymm3", "cltq", "movabs $1, %rax",
    "mov al, byte ptr [0x1122334455667788]", "bb,tool\n4801d8,1", "mov $(1+2*3), %eax", "mov eax, 1+2*3",
    "jmp *%rax",
)  # fmt: skip
REGIONS = (
    "# LLVM-MCA-BEGIN", "# LLVM-MCA-BEGIN {file}", "# LLVM-MCA-END", "# OSACA-BEGIN", "# OSACA-END",
    "//OSACA-BEGIN", "movl $111, %ebx\n.byte 100,103,144", "movl $222, %ebx\n.byte 100,103,144",
    "mov ebx, 111\ndb 0x64,0x67,0x90",
)  # fmt: skip
CHARACTERS = (
    "\ufeff", "\0", "\x01", "\x08", "\x7f", "\x1b[2J", "\u200b", "\u202e", "\ud800", "\udfff", "\uff0e",
    "\u2024", "\u0130", "\u0131", "\u212a", "\uff41", "\u00e9", "e\u0301", "\U0001f600", "\xff\xfe",
    "\ufffe", "\x9d", "'", '"', "\u201c", "`", "$", "(", ")", "[", "]", "{{", "}}", ",", "*", "%", "+", "-",
    "~", "=", "<", ">", "?", "\\", "\\x2e", "\\056",
)  # fmt: skip
PREFIXES = (
    "lock ", "rep ", "repz ", "{{evex}} ", "{{vex}} ", "data16 ", "rex.W ", "notrack ", "bnd ", "cs ",
    "xacquire ",
)  # fmt: skip
LONGEST = 60_000
_LONG = (
    lambda n: "9" * n, lambda n: "(" * n, lambda n: "[" * n, lambda n: "1+" * n, lambda n: "/*" * n,
    lambda n: "a" * n, lambda n: " " * n, lambda n: "\n" * n, lambda n: "a:" * n, lambda n: "lock " * n,
    lambda n: "nop;" * n, lambda n: "{k1}" * n, lambda n: "," * n, lambda n: "%rax," * n,
    lambda n: "rax+" * n, lambda n: "0x" + "f" * n, lambda n: '"' * n, lambda n: "\\\n" * n,
    lambda n: "-" * n, lambda n: "~" * n, lambda n: "; " * n, lambda n: "# " * n,
    lambda n: "mov eax, [" + "rax*1+" * n + "1]", lambda n: ".L1-" * n, lambda n: "a.b@" * n,
    lambda n: "\t \t" * n, lambda n: "nop\n" * n, lambda n: ".byte 1\n" * n, lambda n: "1:" * n + "jmp 1b",
    lambda n: "jne a\n" * n + "a:", lambda n: "\n".join(f"a{k}:jne a{k}" for k in range(n // 8)),
    lambda n: "<" * n, lambda n: "\x00" * n, lambda n: "/* " * n + "*/", lambda n: "x" + " " * n + "x",
    lambda n: "mov rax, " + "-" * n + "1",
)  # fmt: skip


def text_of(seed: int, number: int, file: str) -> str:
    """The text of this number; `file` is what its directives would read."""
    drawn = random.Random(f"{seed} {number}")
    text = "".join(_line(drawn) for _ in range(drawn.choice((1, 1, 1, 2, 2, 3, 5)))).replace("{file}", file)
    text = text.replace("{{", "{").replace("}}", "}")
    chance = drawn.random()
    if chance < 0.15:
        text = _other_case(drawn, text)
    if chance < 0.02:
        text = drawn.choice(("\ufeff", "\xff\xfe", "")) + _re_encoded(drawn, text)
    elif chance > 0.998:
        piece = drawn.choice(_LONG)(drawn.choice((50, 500, 5000, 20_000)))
        at = drawn.randrange(len(text) + 1)
        text = (text[:at] + piece + text[at:])[:LONGEST]
    return text


def _line(drawn: random.Random) -> str:
    """A statement with what stands before, within and behind it."""
    begin = "".join(drawn.choice(drawn.choice((COMMENTS, LABELS, PREFIXES))) for _ in range(_few(drawn)))
    pool = drawn.choice((DIRECTIVES, DIRECTIVES, DIRECTIVES, INSTRUCTIONS, INSTRUCTIONS, REGIONS))
    statement = drawn.choice(pool)
    for _ in range(drawn.choice((0, 0, 0, 0, 1, 2))):
        at = drawn.randrange(len(statement) + 1)
        within = drawn.choice(drawn.choice((COMMENTS, CHARACTERS, SEPARATORS)))
        statement = statement[:at] + within + statement[at:]
    end = drawn.choice(COMMENTS) if drawn.random() < 0.2 else ""
    return begin + statement + end + drawn.choice(SEPARATORS)


def _few(drawn: random.Random) -> int:
    return drawn.choice((0, 0, 1, 1, 1, 2, 3))


def _other_case(drawn: random.Random, text: str) -> str:
    change: Callable[[str], str] = drawn.choice((str.upper, str.lower, str.swapcase, str.title))
    return change(text)


def _re_encoded(drawn: random.Random, text: str) -> str:
    """The text as it looks when it is read in another encoding than it was written in."""
    written = text.encode(drawn.choice(("utf-16-le", "utf-16-be", "utf-8", "utf-7")), "replace")
    return written.decode(drawn.choice(("latin-1", "utf-8", "cp437")), "replace")
