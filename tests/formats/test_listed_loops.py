"""Loops of listings: weighed by their samples, and the same as those of the program that was listed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from inference.formats.block_cells import block_of_cell
from inference.formats.block_files import (
    BlockFileSort,
    LoopFilter,
    ProgramLoops,
    block_file_of,
    find_listed_loops,
    find_loops,
)
from inference.formats.problems import ExchangeError
from inference.isa.blocks import BlockError
from tests.compiled import compiled, tool

ANNOTATED = """\
 Percent |\tSource code & Disassembly of a.out for cycles:u (50 samples, percent: local period)
--------------------------------------------------------------------------------------------------
         :
         : 3    Disassembly of section .text:
         :
         : 5    0000000000001200 <count>:
         : 6    count():
    0.00 :   1200:   movzbl (%rdi),%eax
    0.00 :   1203:   xor    %edx,%edx
    0.00 :   1205:   nopw   0x0(%rax,%rax,1)
   10.00 :   1210:   cmp    $0x20,%al
   60.00 :   1212:   sete   %al
    0.00 :   1215:   add    $0x1,%rdi
    0.00 :   1219:   movzbl %al,%eax
    0.00 :   121c:   add    %eax,%edx
    0.00 :   121e:   movzbl (%rdi),%eax
    0.00 :   1221:   test   %al,%al
   20.00 :   1223:   jne    1210 <count+0x10>
   10.00 :   1225:   mov    %edx,%eax
    0.00 :   1227:   ret
"""
LOOP = "3c200f94c04883c7010fb6c001c20fb60784c075eb"


def listed(text: str, wanted: LoopFilter | None = None) -> ProgramLoops:
    return find_listed_loops(text.encode(), "list.txt", wanted or LoopFilter(), lambda done, of: None)


def test_the_loops_of_an_annotation_weigh_their_samples() -> None:
    (loop,) = listed(ANNOTATED).loops
    assert loop.code.hex() == LOOP
    assert loop.percent == pytest.approx(100 * loop.weight / (listed(ANNOTATED).total or 1))
    assert loop.percent == pytest.approx(90.0)


def test_loops_below_the_wanted_share_are_left_out_and_counted() -> None:
    found = listed(ANNOTATED, LoopFilter(least=95.0))
    assert (found.loops, found.below) == ((), 1)


def test_what_cannot_be_read_is_told_with_its_line() -> None:
    with pytest.raises(ExchangeError, match=r"list\.txt: line 11\b.*frobnicate"):
        listed(ANNOTATED.replace("cmp    $0x20,%al", "frobnicate %al"))


@pytest.mark.parametrize(
    "head",
    [
        "a.out:     file format elf64-x86-64",
        "            Disassembly of section .text:",
        "Dump of assembler code for function f:",
        "Dump of file a.exe",
        "a.out`f(int):",
        "TEXT main.f(SB) /tmp/main.go",
        "main.f STEXT nosplit size=15 args=0x8",
        "Address\tSource Line\tAssembly\tClockticks",
        ".text:0000000140001000 f proc near",
    ],
)
def test_listings_are_recognised_by_their_headings(head: str) -> None:
    assert block_file_of(f"\n{head}\n  401120:\tnop\n".encode()) is BlockFileSort.LISTING
    assert block_file_of(f"the {head.lstrip()}\n".replace("file format", "format").encode()) is None


@pytest.mark.parametrize("options", [("-d",), ("-d", "--no-show-raw-insn"), ("-d", "-Mintel")])
def test_the_loops_of_a_listing_are_those_of_its_program(options: tuple[str, ...], tmp_path: Path) -> None:
    path = compiled(tmp_path)
    done = subprocess.run([tool("objdump"), *options, str(path)], capture_output=True, text=True, check=True)
    of_program = find_loops(path.read_bytes(), "a.out", LoopFilter()).loops
    of_listing = listed(done.stdout).loops
    assert of_program
    assert sorted(one.code for one in of_program) == sorted(one.code for one in of_listing)
    assert {one.weight for one in of_listing} == {1.0}


def test_a_line_that_looks_like_code_and_is_in_no_loop_is_told_with_its_number() -> None:
    lines = listed(ANNOTATED.replace("    0.00 :   1215:   add    $0x1,%rdi", "   add    $0x1,%rdi")).lines()
    assert "line 13 has no address, and is in no block: add $0x1,%rdi" in lines
    assert any("the addresses have a gap after line 12" in line for line in lines)


def test_a_cell_with_a_line_that_is_not_read_is_no_block() -> None:
    with pytest.raises(BlockError, match="line 2: this line looks like code"):
        block_of_cell("401126: add %rbx,%rax\nimul %rbx,%rax\n401129: dec %ecx")


def test_a_nul_is_refused_with_its_line() -> None:
    with pytest.raises(ExchangeError, match="a NUL byte in line 2"):
        find_listed_loops(b"  401126:\t90\tnop\n  401127:\t\0\n", "a.txt", LoopFilter())
