"""What a text has besides its instructions: their lines, source lines, samples, and latencies of the user."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from inference.isa.blocks import BlockError, Piece, ranked_pieces, read

LISTINGS = Path(__file__).parent / "golden_listings"
MAX_PIECES = 1000


def only_piece(text: str) -> Piece:
    (piece,) = read(text, MAX_PIECES).pieces
    return piece


def sources(piece: Piece) -> list[str]:
    return ["" if line.source is None else str(line.source) for line in piece.lines]


@pytest.mark.parametrize(
    "line",
    [
        "mov rax, [rax]  # LATENCY 40",
        "mov rax, [rax] ; LATENCY 40",
        "mov rax, [rax] // latency: 40 cycles",
        "mov rax, [rax] /* Latency=40 */",
        "mov rax, [rax] # a miss # LATENCY 40.0",
        "movq (%rax), %rax # LATENCY 40",
        "nop; mov rax, [rax] # LATENCY 40",
        "  401120: 48 8b 00   mov rax, [rax]  # LATENCY 40",
        "  401120:   mov    (%rax),%rax  # 404028 <x> # LATENCY 40",
        "   40.00 :   401120:  mov    (%rax),%rax  # LATENCY 40",
    ],
)
def test_a_latency_is_that_of_the_last_instruction_of_its_line(line: str) -> None:
    reading = read(line, 1)
    (piece,) = reading.pieces
    last = len(piece.block.instructions) - 1
    assert piece.latencies == {last: 40.0}
    assert piece.block.instructions[last].code == bytes.fromhex("488b00")
    assert not reading.notes


def test_latencies_change_no_block_and_count_from_the_beginning_of_the_loop() -> None:
    plain = "nop\n.L3:\nmov rax, [rax]\nadd rbx, rax\ndec ecx\njne .L3"
    marked = plain.replace("[rax]", "[rax] # LATENCY 200").replace("jne .L3", "jne .L3 # LATENCY 2")
    assert [piece.block for piece in read(marked, 9).pieces] == [p.block for p in read(plain, 9).pieces]
    assert read(marked, 9).pieces[1].latencies == {0: 200.0, 3: 2.0}


def test_the_comments_of_llvm_mca_hold_until_the_next_one() -> None:
    text = (
        "# LLVM-MCA-LATENCY 100\nmov (%rdi), %rax\nadd %rax, %rbx # LATENCY 2\nnop\n"
        "# LLVM-MCA-LATENCY\nnop # LLVM-MCA-LATENCY: 7\nnop"
    )
    assert only_piece(text).latencies == {0: 100.0, 1: 2.0, 2: 100.0, 4: 7.0}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nop # LATENCY -1", "line 1, column 5: 'LATENCY -1' is no possible latency"),
        ("nop # LATENCY 10001", "no possible latency"),
        ("nop # LATENCY nan", "has no number of cycles"),
        ("nop # LATENCY", "has no number of cycles"),
        ("nop # LATENCY 4 to 5", "has no number of cycles"),
        ("nop\n# LATENCY 4\nnop", "line 2, column 1: .* on a line without an instruction"),
        ("nop\nlabel: # LATENCY 4\nnop", "line 2, column 8: .* on a line without an instruction"),
        ("nop # LATENCY 4 ; LATENCY 5", "the second one for its instruction"),
        ("# LLVM-MCA-LATENCY far\nnop", "has no number of cycles"),
        ("  401120: 90   nop  # LATENCY x", "has no number of cycles"),
        ("# LATENCY 3\n  401120: 90   nop", "line 1, column 1: .* on a line without an instruction"),
    ],
)
def test_a_wrong_latency_is_an_error_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(BlockError, match=problem) as error:
        read(text, 1)
    assert error.value.line


@pytest.mark.parametrize(
    "comment", ["latency, latency", "latency matters here", "its latency is 4", "latency"]
)
def test_prose_and_variables_are_no_latencies(comment: str) -> None:
    reading = read(f"nop # {comment}", 1)
    assert not reading.pieces[0].latencies
    assert not reading.notes


@pytest.mark.parametrize("text", ["nop # latency -4", "# latency 4\nnop"])
def test_a_wrong_latency_in_small_letters_is_a_notice(text: str) -> None:
    reading = read(text, 1)
    assert not reading.pieces[0].latencies
    assert reading.notes[0].startswith("line 1: 'latency ")


def test_each_instruction_has_its_line_also_those_of_numbers_and_rows() -> None:
    piece = only_piece(
        "# a comment\n.L2:\n  add rax, rbx\n\n  .byte 0x48, 0x01\n .byte 0xd8, 0x90\n  jne .L2"
    )
    assert [line.line for line in piece.lines] == [3, 5, 5, 7]
    assert [line.line for line in only_piece("4801d8ffc1\n").lines] == [1, 1]
    rows = read("hex,cycles\n4801d8,1\n90ffc1,2\n", 9).pieces
    assert [[line.line for line in piece.lines] for piece in rows] == [[2], [3, 3]]


def test_source_lines_of_compilers() -> None:
    gcc = """
        .file   "dot.c"
        .file 1 "/home/user" "dot.c"
    dot:
        .loc 1 3 7
        xorl    %eax, %eax
    .L3:
        .loc 1 5 11
    # dot.c:5:         sum += a[i] * b[i];
        movsd   (%rdi,%rax,8), %xmm1    # MEM[base: a], _7
        .loc 1 4 5 is_stmt 0
        addq    $1, %rax        # latency, latency
        .loc 1 0 0
        nop
        jne     .L3
    """
    loop = read(gcc, 9).pieces[1]
    assert sources(loop)[0] == "dot.c:5: sum += a[i] * b[i];"
    assert sources(loop)[1:] == ["dot.c:4", "", ""]
    icc = only_piece(
        "..B1.3:\n movsd (%rdi,%rax,8), %xmm1 #5.16\n incq %rax #4.30\n jb ..B1.3 # Prob 82% #4.3"
    )
    assert sources(icc)[:2] == ["5", "4"]
    msvc = only_piece(
        "; File C:\\src\\dot.c\n; 5    :   s += a[i];\n add eax, DWORD PTR [rcx]\n; Line 4\n dec edx"
    )
    assert sources(msvc) == ["C:\\src\\dot.c:5: s += a[i];", "C:\\src\\dot.c:4"]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("gdb-att-source.txt", "kernel.c:11: y[i] = a * x[i] + y[i];"),
        ("gdb-intel-source.txt", "kernel.c:11: y[i] = a * x[i] + y[i];"),
        ("objdump-att-source.txt", "y[i] = a * x[i] + y[i];"),
        ("objdump-intel-source.txt", "y[i] = a * x[i] + y[i];"),
    ],
)
def test_source_lines_of_listings(name: str, place: str) -> None:
    pieces = read((LISTINGS / name).read_text(), MAX_PIECES).pieces
    loop = next(piece for piece in pieces if piece.block.kind == "loop")
    assert sources(loop)[0] == place


def test_source_lines_with_places_and_of_perf() -> None:
    objdump = (
        "0000000000001040 <f>:\nf():\n/home/dot.c:5 (discriminator 3)\n    s += a[i];\n"
        "  1040: 90   nop\n/home/dot.c:6\n  1041: 90   nop"
    )
    assert sources(only_piece(objdump)) == ["/home/dot.c:5: s += a[i];", "/home/dot.c:6"]
    llvm = "0000000000001040 <f>:\n; f():\n; /home/dot.c:5\n;   s += a[i];\n    1040: 90   nop"
    assert sources(only_piece(llvm)) == ["/home/dot.c:5: s += a[i];"]
    perf = (
        " Percent |  Source code & Disassembly of dot for cycles (10 samples)\n-----------\n"
        "         : 5    0000000000001040 <f>:\n         : 6    f():\n         : 9    s += a[i];\n"
        "   90.00 :   1040: 90   nop\n   10.00 :   1041: 90   nop\n"
    )
    piece = only_piece(perf)
    assert sources(piece) == ["s += a[i];"] * 2
    assert [line.samples for line in piece.lines] == [90.0, 10.0]
    assert piece.count == 100.0


def test_the_hottest_pieces_come_first_and_without_samples_the_loops() -> None:
    perf = read((LISTINGS / "perf-att.txt").read_text(), MAX_PIECES)
    counts = [piece.count or 0.0 for piece in ranked_pieces(perf)]
    assert counts == sorted(counts, reverse=True)
    assert sorted(ranked_pieces(perf), key=id) == sorted(perf.pieces, key=id)
    kinds = [
        piece.block.kind for piece in ranked_pieces(read((LISTINGS / "gcc-att.txt").read_text(), MAX_PIECES))
    ]
    assert kinds == sorted(kinds)
    assert "loop" in kinds


VTUNE = """
Address   Source Line  Assembly                                       CPU Time  Clockticks
--------  -----------  ---------------------------------------------  --------  ----------
0x1270                 Block 1:
0x1270    11           vmovss xmm1, dword ptr [rsi+rax*4]               0.010s   1,000,000
0x1275    11           vfmadd213ss xmm1, xmm0, dword ptr [rdx+rax*4]    0.110s  11,000,000
0x127b    11           vmovss dword ptr [rdx+rax*4], xmm1               2.100s
0x1280    10           inc rax                                          1.040s
0x1283    10           cmp rdi, rax
0x1286    10           jnz 0x1270 <Block 1>                             0.010s
"""


def with_tabs(table: str) -> str:
    lines = [re.sub(r" {2,}", "\t", line) for line in table.splitlines() if "---" not in line]
    return "\n".join(lines).replace("\tBlock", "\t\tBlock")


def with_commas(table: str) -> str:
    rows = (line.split("\t") for line in with_tabs(table).splitlines())
    return "\n".join(",".join(f'"{cell}"' if "," in cell else cell for cell in row) for row in rows)


@pytest.mark.parametrize("table", [VTUNE, with_tabs(VTUNE), with_commas(VTUNE)])
def test_tables_of_vtune(table: str) -> None:
    piece = only_piece(table)
    assert piece.block.kind == "loop"
    assert piece.name == "Block 1"
    assert [line.samples for line in piece.lines] == [0.01, 0.11, 2.1, 1.04, None, 0.01]
    assert sources(piece) == ["11", "11", "11", "10", "10", "10"]
    assert piece.block.code.startswith(bytes.fromhex("c5fa100c86"))


def test_prose_about_assembly_is_no_table() -> None:
    text = "# the address of this assembly, and its instruction\nadd rax, rbx\n"
    assert only_piece(text).block.hex == "4801d8"


def test_java_methods_stand_behind_their_instructions() -> None:
    perfasm = (
        "  3.46%   ↗  0x00007f0d3c11a2c6: add %rbx,%rax  ;*iadd\n"
        "          │                                         ; - Sum::inner@12 (line 5)\n"
        "          │                                         ; - Sum::outer@3 (line 9)\n"
        " 50.10%   ╰  0x00007f0d3c11a2c9: jne 0x00007f0d3c11a2c6  ;*goto ; - Sum::outer@7 (line 10)\n"
    )
    piece = only_piece(perfasm)
    assert sources(piece) == ["Sum::inner:5", "Sum::outer:10"]
    assert [line.samples for line in piece.lines] == [3.46, 50.1]


def test_regions_of_perfasm_are_called_after_their_methods() -> None:
    dots = "." * 60
    body = " 3.46% ↗ 0x00007f0d3c11a2c6: add %rbx,%rax\n 50.1% ╰ 0x00007f0d3c11a2c9: jne 0x00007f0d3c11a2c6\n"
    text = (
        f"....[Hottest Region 1]{dots}\nc2, level 4, a.b.Sum$Part::inner, version 2 \n\n{body}\n"
        f"....[Hottest Region 2]{dots}\n [0x7f0d3c11b2c0:0x7f0d3c11b2cb] in a.b.Sum::outer\n\n"
        f"{body.replace('3c11a', '3c11b')}\n"
        f"....[Hottest Region 3]{dots}\nlibjvm.so, memset (12 bytes) \n\n{body.replace('3c11a', '3c11c')}\n"
    )
    names = [piece.name for piece in read(text, MAX_PIECES).pieces]
    assert names == [
        "a.b.Sum$Part::inner, region 1",
        "a.b.Sum::outer, region 2",
        "libjvm.so, memset (12 bytes), region 3",
    ]


MCA_REPORT = """\
Iterations:        100
Dispatch Width:    6

Instruction Info:
[1]: #uOps
[2]: Latency

[1]    [2]    [3]    [4]    [5]    [6]    Instructions:
 1      1     0.25                        incq\t%r15
 2      5     0.50    *           U       addq\t(%rdi), %r13

Resource pressure per iteration:
[0]    [1.0]  [1.1]
 -     0.75   0.75

Resource pressure by instruction:
[0]    [1.0]  [1.1]  Instructions:
 -     0.24   0.25   incq\t%r15
 -     0.25   0.25   addq\t(%rdi), %r13
"""
OSACA_REPORT = """\
Open Source Architecture Code Analyzer (OSACA)
 X - No throughput/latency information for this instruction in data file

     |  0   |  1   -  1D  ||  CP  | LCD  |
------------------------------------------
   2 |      |             ||      |      |   .L1:
   3 |      | 0.33   0.33 ||  4.0 |      |   movq (%rsi,%rcx,8), %rax
   4 | 0.25 |             ||      |  1.0 | X addq %rax, %rcx
   5 |      |             ||      |      | * jne .L1

       0.25   0.33         4.0  1.0
"""


def test_reports_of_tools_are_read_to_the_instructions_of_their_first_table() -> None:
    piece = only_piece(MCA_REPORT)
    assert [text for _, text in piece.block.listing] == ["inc r15", "add r13, qword ptr [rdi]"]
    assert piece.lines[1].line == 10
    by_pressure = MCA_REPORT[MCA_REPORT.index("Resource pressure per") :]
    assert only_piece(by_pressure).block.hex == piece.block.hex
    loop = only_piece(OSACA_REPORT)
    texts = ["mov rax, qword ptr [rsi+rcx*8]", "add rcx, rax", "jne .loop"]
    assert (loop.block.kind, [text for _, text in loop.block.listing]) == ("loop", texts)


def test_addresses_of_iced_end_with_an_h() -> None:
    text = "0000h inc rax ; INC\n0003h add rbx,rax ; ADD\n0006h jne short 0000h\n0008h ret\n"
    assert only_piece(text).block.hex == "48ffc04801c375f8"
