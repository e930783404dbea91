"""Blocks of gematria, of llvm-mca and of tables by machine become rows of a set, or are refused by row."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.formats.block_files import BlockFileSort, block_file_of
from inference.formats.block_sets import BlockSetOptions, BlockSetSummary, read_chunks, summarise
from inference.formats.block_tables import beginning_of
from inference.formats.blocks_csv import BrokenRows, Scale
from inference.formats.text_proto import TextProtoError, top_fields
from inference.isa.blocks import block_of_text, intel_of_bytes
from tests.drawn import examples

SKIP = BlockSetOptions(BrokenRows.SKIP)


def summary_of(text: str, name: str = "blocks") -> BlockSetSummary:
    content = text.encode()
    assert block_file_of(content) is BlockFileSort.BLOCKS
    return summarise(io.BytesIO(content), name, SKIP)


def columns_of(summary: BlockSetSummary) -> list[tuple[str, int, float | None]]:
    return [(column.name, column.answers, column.most) for column in summary.columns]


# --- gematria ---------------------------------------------------------------------------------------------

MACHINE_CODE = r"""
# proto-file: gematria/proto/throughput.proto
basic_blocks {
  basic_block {
    machine_instructions { address: 4096 assembly: "nonsense" machine_code: "H\001\330" }
    machine_instructions { machine_code: "\x48\x0f\xaf\xc3" }
  }
  inverse_throughputs { source: 'mca: skl' inverse_throughput_cycles: [3.0, 4.0, 9.5] }
}
basic_blocks: <
  basic_block: < machine_instructions: < assembly: "addq %rax, " "%rbx" > >
  inverse_throughputs: < source: "mca: skl"; inverse_throughput_cycles: 1 >
  inverse_throughputs: < source: "mca: skl", inverse_throughput_cycles: 2 >
>
basic_blocks { basic_block { machine_instructions { assembly: "frobnicate %rax" } } }
"""


def test_machine_code_counts_and_the_median_of_samples() -> None:
    summary = summary_of(MACHINE_CODE)
    assert [row.code.hex() for row in summary.first] == ["4801d8480fafc3", "4801c3"]
    assert [row.numbers for row in summary.first] == [(4.0, None), (1.0, 2.0)]
    assert columns_of(summary) == [("mca: skl", 2, 4.0), ("mca: skl (2)", 1, 2.0)]
    (note,) = summary.notes
    assert "differ by more than 10%, median taken: 1" in note
    assert summary.left_out == 1
    assert "row 15" in summary.lines()[0]
    assert "frobnicate" in summary.lines()[0]


def canonical(mnemonic: str, llvm: str, outputs: list[str], inputs: list[str], more: str = "") -> str:
    sides = [f"output_operands {{ {text} }}" for text in outputs]
    sides += [f"input_operands {{ {text} }}" for text in inputs]
    names = f'mnemonic: "{mnemonic}" llvm_mnemonic: "{llvm}"'
    return f"canonicalized_instructions {{ {names} {' '.join(sides)} {more} }}"


def reg(name: str) -> str:
    return f'register_name: "{name}"'


def address(text: str) -> str:
    return f"address {{ {text} }}"


MEMORY = "memory { alias_group_id: 1 }"
X1, X2 = reg("XMM1"), reg("XMM2")


@pytest.mark.parametrize(
    ("instruction", "assembly"),
    [
        (canonical("ADD", "ADD64rr", [reg("RCX")], [reg("RCX"), reg("RBX")]), "add rcx, rbx"),
        (canonical("XOR", "XOR32rr", [reg("EAX")], [reg("EAX"), reg("EAX")]), "xor eax, eax"),
        (canonical("NOT", "NOT64r", [reg("RCX")], [reg("RCX")]), "not rcx"),
        (canonical("CMP", "CMP64ri8", [], [reg("R10"), f"immediate_value: {2**64 - 2}"]), "cmp r10, -2"),
        (
            canonical("VADDPS", "VADDPSrr", [X1], [X1, X2]),
            "vaddps xmm1, xmm1, xmm2",
        ),
        (canonical("ADDPS", "ADDPSrr", [X1], [X1, X2]), "addps xmm1, xmm2"),
        (
            canonical("MOVZX", "MOVZX32rm8", [reg("ESI")], [MEMORY, address('base_register: "R8"')]),
            "movzx esi, byte ptr [r8]",
        ),
        (
            canonical(
                "MOV",
                "MOV64mi32",
                [MEMORY],
                [
                    address('base_register: "RAX" index_register: "RBX" scaling: 4 displacement: -8'),
                    "immediate_value: 5",
                ],
            ),
            "mov qword ptr [rax+rbx*4-8], 5",
        ),
        (
            canonical(
                "LEA", "LEA64r", [reg("RDI")], [address('base_register: "RBX" displacement: 8 scaling: 1')]
            ),
            "lea rdi, [rbx+8]",
        ),
        (
            canonical(
                "SHL", "SHL64rCL", [reg("RSI")], [reg("RSI")], f"implicit_input_operands {{ {reg('CL')} }}"
            ),
            "shl rsi, cl",
        ),
        (
            canonical(
                "CMP", "CMP32i32", [], ["immediate_value: 300"], f"implicit_input_operands {{ {reg('EAX')} }}"
            ),
            "cmp eax, 300",
        ),
    ],
)
def test_canonicalised_instructions_are_written_as_assembly(instruction: str, assembly: str) -> None:
    summary = summary_of(f"basic_blocks {{ basic_block {{ {instruction} }} }}")
    assert summary.lines() == []
    (row,) = summary.first
    assert intel_of_bytes(row.code) == intel_of_bytes(block_of_text(assembly).code)
    assert "leave the encoding open: 1" in summary.notes[0]


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ("basic_block { }", "neither machine code nor instructions"),
        ("inverse_throughputs { source: 'a' inverse_throughput_cycles: 1 }", "no basic_block"),
        ("basic_block { } inverse_throughputs { inverse_throughput_cycles: nan }", "no number of cycles"),
        ("basic_block { } inverse_throughputs { inverse_throughput_cycles: -3 }", "no number of cycles"),
        (
            f"basic_block {{ {canonical('ADD', 'ADD64rm', [reg('RAX')], [MEMORY])} }}",
            "cannot be written",
        ),
        (f"basic_block {{ {canonical('MOV', 'MOV64ri', [reg('RAX')], ['fp_immediate_value: 1'])} }}", "fp_"),
    ],
)
def test_a_block_that_says_too_little_is_refused_with_its_row(block: str, fault: str) -> None:
    summary = summary_of(f"basic_blocks {{\n {block} }}")
    assert (summary.rows, summary.left_out) == (0, 1)
    assert fault in summary.lines()[0]
    assert "row 1" in summary.lines()[0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("basic_blocks {", "the end where the name of a field belongs"),
        ("basic_blocks { a: [1 2] }", "a comma or ]"),
        ("basic_blocks { : }", "the name of a field"),
        ("basic_blocks { a b }", "a colon or {"),
        ("basic_blocks { a: ] }", "a value"),
        ("basic_blocks { a: \x01 }", "is no part of a message"),
        ("basic_blocks " + "{ a " * 40, "nested more than 30 deep"),
        ("basic_blocks { a: [" + "1," * 200_001 + "1] }", "more than 200,000 values"),
        ("basic_blocks { } frames { }", "'frames' is no field"),
    ],
)
def test_what_is_no_message_is_refused_with_its_line(text: str, fault: str) -> None:
    (line,) = summary_of(text).lines()
    assert fault in line
    assert "row 1" in line


@given(st.text(alphabet="basic_lok{}<>[]:;,\"'\\\n #x1.-", max_size=60))
@examples(200)
def test_no_text_breaks_the_parser(text: str) -> None:
    lines: list[int] = []
    try:
        lines += [field.line for field in top_fields("basic_blocks {" + text)]
    except TextProtoError as error:
        lines.append(error.line)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines)


def test_the_beginning_of_a_long_file_ends_with_a_whole_block() -> None:
    block = "basic_blocks {\n  basic_block { machine_instructions { machine_code: '\\x90' } }\n}\n"
    first = beginning_of(io.BytesIO((block * 50).encode()), 400)
    assert len(first) <= 400
    assert summary_of(first.decode()).lines() == []


# --- llvm-mca ---------------------------------------------------------------------------------------------


def report(**changes: object) -> str:
    summary = {"TotalCycles": 304, "Iterations": 100, "Instructions": 200}
    region = {"Instructions": ["addq\t%rax, %rbx", "jne\t.L1"], "Name": "hot", "SummaryView": summary}
    document = {
        "CodeRegions": [region | changes],
        "SimulationParameters": {"-march": "x86_64", "-mcpu": "skylake"},
        "TargetInfo": {"CPUName": "skylake"},
    }
    return json.dumps(document, indent=1)


def test_a_report_of_llvm_mca_is_a_column_of_predictions() -> None:
    summary = summary_of(report())
    assert columns_of(summary) == [("llvm-mca, skylake", 1, 3.04)]
    (row,) = summary.first
    assert (row.code.hex()[:6], row.mnemonics, row.origin) == ("4801c3", ("add", "jne"), "hot")
    assert summary.columns[0].scale is Scale.CYCLES


@pytest.mark.parametrize(
    "changes",
    [
        {"SummaryView": {"TotalCycles": 304, "Iterations": 100, "Instructions": 300}},
        {"SummaryView": {"TotalCycles": 304, "Iterations": 0, "Instructions": 0}},
        {"SummaryView": None},
        {"Instructions": []},
        {"Instructions": ["addq %rax, %nosuch"]},
    ],
)
def test_a_region_whose_cycles_may_belong_to_other_code_is_refused(changes: dict[str, object]) -> None:
    summary = summary_of(report(**changes))
    assert summary.rows == 0
    assert summary.problems
    assert not summary.acceptable


# --- tables by machine ------------------------------------------------------------------------------------

ROWS = "4801d8,126.00,hsw\n4801d8,104.00,skl\n4829d8,90.5,skl\n4801d8,210.00,skl\n"


@pytest.mark.parametrize("head", ["", "hex,throughput,machine\n", "# BHive\nblock,cycles,uarch\n"])
def test_rows_per_machine_become_a_column_per_machine(head: str) -> None:
    summary = summary_of(head + ROWS)
    assert [(column.name, column.scale) for column in summary.columns] == [
        ("Haswell", Scale.HUNDREDTHS),
        ("Skylake", Scale.HUNDREDTHS),
    ]
    assert [row.numbers for row in summary.first] == [(126.0, 104.0), (None, 210.0), (None, 90.5)]
    (remark,) = summary.remarks
    assert remark.startswith("Skylake: 1 repeated block with another number")
    assert "1 about twice or half as large" in remark


def test_a_file_named_after_a_core_has_its_column() -> None:
    summary = summarise(io.BytesIO(b"4801d8,126.00\n"), "hsw.csv", SKIP)
    assert [column.name for column in summary.columns] == ["Haswell"]


def test_rows_of_a_machine_table_that_cannot_be_read_are_named() -> None:
    summary = summary_of("hex,throughput,machine\n4801d8,fast,hsw\n4801d8,1\nzz,1.0,skl\n4801d8,1.0,?\n")
    assert summary.rows == 0
    text = "\n".join(summary.lines())
    for part in ("row 2, column throughput: 'fast'", "row 3: expected 3 fields", "row 5: '?' is no machine"):
        assert part in text


def test_a_table_of_machines_that_is_too_long_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inference.formats.machine_tables.ROW_LIMIT", 2)
    assert summary_of(ROWS).lines() == ["blocks: more than 2 rows; split the file"]
    assert summary_of(ROWS[: ROWS.index("4829d8")]).lines() == []


def test_equal_blocks_with_equal_numbers_are_no_contradiction() -> None:
    summary, chunks = read_chunks(io.BytesIO(b"bb,a,b\n90,1.0,\n90,1.05,3\n90,,3\n"), "x.csv", SKIP)
    assert sum(len(chunk.rows) for chunk in chunks) == 3
    assert summary.remarks == []
    assert summary.repeated.count == 2


def test_a_table_without_a_column_of_blocks_is_refused() -> None:
    summary = summarise(io.BytesIO(b"machine,4801d8\nhsw,1\n"), "x.csv", SKIP)
    assert not summary.acceptable
    assert summary.lines()
