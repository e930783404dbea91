"""Port mappings for other tools: the files themselves, and our own reader of the XML."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Unit
from inference.core.mapping import PortMapping, uops_of
from inference.formats.exegesis import MODES, LlvmInstances, write_exegesis_yaml
from inference.formats.exports import ExportedCore, ExportedMapping
from inference.formats.llvm_td import Opcodes, write_llvm_td
from inference.formats.mapping_json import write_mapping_csv
from inference.formats.osaca_yaml import write_osaca_core, write_osaca_yaml
from inference.formats.parsing import AnyNames, parse
from inference.formats.problems import ExchangeError
from inference.formats.provenance import PRODUCT
from inference.formats.uops_info_xml import condense
from inference.formats.uops_info_xml_writing import port_codes, write_core_xml, write_uops_info_xml
from inference.isa import aarch64, x86
from inference.isa.names import SchemeNames
from inference.isa.uops_info import element, scheme_name
from tests.drawn import examples
from tests.formats.exports import (
    ADD,
    ADD_BYTE,
    ADD_LOAD,
    MASKED,
    MOVE,
    NOP,
    PORTS,
    SCALED,
    USAGE,
    VADD,
    exported_mapping,
    exported_toy_core,
)

GOLDEN = Path(__file__).parent / "golden_exports"
OPCODES = Opcodes(
    {ADD: "ADD64rr", ADD_LOAD: "ADD64rm", VADD: "VADDPDYrr", MASKED: "VADDPDYrr"},
    "llvm-mc 0.0",
)
INSTANCES = LlvmInstances(
    {
        ADD: "ADD64rr RBX RBX RBP",
        ADD_LOAD: "ADD64rm RBX RBX RSI i_0x1 %noreg i_0x40 %noreg",
        VADD: "VADDPDYrr YMM1 YMM2 YMM3",
        MASKED: "VADDPDYrr YMM1 YMM2 YMM3",
        MOVE: "MOV64rr RBX RBP",
    },
    "llvm-mc 0.0",
)
DEFAULTS = [scheme for scheme in x86.schemes() if not scheme.exclusion]

WRITERS: dict[str, Callable[[ExportedMapping], str]] = {
    "osaca.yml": write_osaca_yaml,
    "llvm.td": lambda mapping: write_llvm_td(mapping, OPCODES),
    "uops-info.xml": write_uops_info_xml,
    "schemes.csv": write_mapping_csv,
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_file_is_what_it_was(name: str) -> None:
    text = WRITERS[name](exported_mapping()).replace(PRODUCT, "pmweb VERSION")
    assert text == (GOLDEN / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", WRITERS)
def test_every_file_says_who_made_it_and_how_to_cite_it(name: str) -> None:
    head = WRITERS[name](exported_mapping())[:1500]
    for told in (PRODUCT, "Toy — 6 ports", "Somebody: Toys."):
        assert told in head


def test_a_core_of_less_than_an_instruction_per_cycle_issues_one_in_llvm() -> None:
    text = write_llvm_td(exported_mapping(r_max=0.4), OPCODES)
    assert "let IssueWidth = 1; // 0.4 instructions per cycle" in text


CORE_WRITERS: dict[str, Callable[[ExportedCore], str]] = {
    "osaca-core.yml": write_osaca_core,
    "llvm-core.td": lambda core: write_llvm_td(core.mapping, OPCODES, core),
    "uops-info-core.xml": write_core_xml,
    **{
        f"exegesis-{mode}.yaml": partial(write_exegesis_yaml, instances=INSTANCES, mode=mode)
        for mode in MODES
    },
}


@pytest.mark.parametrize("name", CORE_WRITERS)
def test_the_file_of_a_core_model_is_what_it_was(name: str) -> None:
    text = CORE_WRITERS[name](exported_toy_core()).replace(PRODUCT, "pmweb VERSION")
    assert text == (GOLDEN / name).read_text(encoding="utf-8")


def read_again(text: str, mapping: ExportedMapping) -> PortMapping:
    """What our importer makes of the XML."""
    digest = condense(io.BytesIO(text.encode()), "a.xml")
    texts = [scheme.text for scheme in mapping.schemes]
    names = AnyNames() if mapping.isa == "toy" else SchemeNames(texts)
    parsed = parse(digest, "a.xml", names, Unit.CYCLES)
    assert parsed.lines() == []
    assert parsed.mapping is not None
    return parsed.mapping


def by_port_names(mapping: PortMapping) -> dict[str, list[tuple[frozenset[str], int]]]:
    """µops with their ports by name, which do not depend on the order of ports."""
    return {
        scheme: sorted(
            (
                (frozenset(port for bit, port in enumerate(mapping.ports) if mask >> bit & 1), count)
                for mask, count in uops
            ),
            key=str,
        )
        for scheme, uops in mapping.usage.items()
    }  # fmt: skip


def test_the_xml_comes_back_as_the_mapping_that_it_was() -> None:
    usage = {
        text: uops_of((mask & 0b1111 or 1, count) for mask, count in uops) for text, uops in USAGE.items()
    }
    mapping = exported_mapping(usage, ("0", "1", "5", "A"))
    again = read_again(write_uops_info_xml(mapping), mapping)
    assert by_port_names(again) == by_port_names(mapping.value)
    assert again.usage[NOP] == ()


@examples(25)
@given(st.data())
def test_the_xml_of_any_mapping_reads_back_under_its_codes(data: st.DataObject) -> None:
    ports = tuple(
        data.draw(st.lists(st.text("p0123F", min_size=1, max_size=3), min_size=1, max_size=9, unique=True))
    )
    schemes = data.draw(
        st.lists(st.sampled_from(DEFAULTS), min_size=1, max_size=8, unique_by=lambda s: s.text)
    )
    masks = st.integers(1, (1 << len(ports)) - 1)
    uops = st.lists(st.tuples(masks, st.integers(1, 9)), max_size=3).map(uops_of)
    usage = {scheme.text: data.draw(uops) for scheme in schemes}
    if not any(usage.values()):
        return  # a mapping without any port is none to the reader
    mapping = exported_mapping(usage, ports, None)
    codes = port_codes(ports, usage.values())
    again = read_again(write_uops_info_xml(mapping), mapping)
    renamed = {code.removeprefix("p"): bit for bit, code in enumerate(codes)}
    assert set(again.usage) == set(usage)
    for scheme, found in again.usage.items():
        there = uops_of(
            (sum(1 << renamed[port] for bit, port in enumerate(again.ports) if mask >> bit & 1), count)
            for mask, count in found
        )
        assert there == usage[scheme]


def test_ports_keep_their_names_only_where_the_notation_has_them() -> None:
    assert port_codes(("0", "p1", "A"), [((0b111, 1),)]) == ("p0", "p1", "pA")
    assert port_codes(("FP0", "FP1", "4"), [((0b011, 1),), ((0b100, 1),)]) == ("FP0", "FP1", "p4")
    assert port_codes(("FP0", "FP1", "4"), [((0b101, 1),)]) == ("p0", "p1", "p2")
    assert port_codes(("load", "store"), []) == ("p0", "p1")
    with pytest.raises(ExchangeError, match="17 ports cannot be written"):
        port_codes(tuple(f"port {k}" for k in range(17)), [])


def test_schemes_of_the_default_set_read_back_from_their_elements() -> None:
    by_text_alone = []
    for scheme in DEFAULTS:
        made = element(scheme.text, scheme.mnemonic, [operand.as_json() for operand in scheme.operands])
        if "asm" in made.attributes:
            assert scheme_name(made) == scheme.text
        else:
            by_text_alone.append(scheme.text)
            assert scheme_name(made) == scheme.text.lower()
    assert all("ADDR[RIP" in text for text in by_text_alone)


def test_osaca_gets_one_form_where_widths_agree_and_letters_where_they_do_not() -> None:
    text = write_osaca_yaml(exported_mapping())
    for name, kinds in (("addq", ["0", "1", "5", "6"]), ("addb", ["0", "1"]), ("add", ["0", "1", "5", "6"])):
        assert f'- name: "{name}"' in text
        assert (
            f"{str(kinds).replace(chr(39), chr(34))}]"
            in text.split(f'- name: "{name}"')[1].split("- name")[0]
        )
    agreeing = write_osaca_yaml(exported_mapping({ADD: ((1, 1),), ADD_BYTE: ((1, 1),)}))
    assert agreeing.count("- name:") == 1
    assert "not represented: vaddpd YMM{k}{z}:W" in text


def test_osaca_is_told_what_has_no_place_and_that_latencies_are_unknown() -> None:
    text = write_osaca_yaml(exported_mapping())
    assert "# schemes that OSACA has no words for: 1\n# lock add" in text
    assert set(re.findall(r"^  latency: (.*)$", text, re.MULTILINE)) == {"0.0"}
    assert 'load_throughput_default: [[1, ["23"]]]' in text
    assert "Rmax" not in write_osaca_yaml(exported_mapping(r_max=None))


def test_issue_slots_are_written_as_each_format_can() -> None:
    mapping = exported_mapping(issue_width=6.0, slots={ADD_LOAD: 2})
    osaca, llvm, xml, table = (WRITERS[name](mapping) for name in WRITERS)
    ports = json.loads(re.search(r"^ports: (.*)$", osaca, re.MULTILINE)[1])
    assert ports[-2:] == ["Rmax", "Slots"]
    assert '[0.333333, ["Slots"]]' in osaca
    assert "let IssueWidth = 6; // 4 instructions and 6 slots per cycle" in llvm
    assert 'issue_width="6"' in xml
    assert 'slots="2"' in xml
    row = next(line for line in table.splitlines() if line.startswith(f'"{ADD_LOAD}"'))
    assert row.split('",')[2].startswith("2,2,")


def test_every_format_says_which_uops_no_experiment_can_show() -> None:
    mapping = exported_mapping({ADD: ((0b1111, 1),), VADD: ((0b1, 1),)})
    for name, write in WRITERS.items():
        assert write(mapping).count("1 µop on 4 or more ports") == 1, name


def test_osaca_gets_registers_and_addresses_of_aarch64_in_its_words() -> None:
    schemes = [
        "add GPR[64]:W, GPR[64]:R, GPR[64]:R, lsl 3",
        "ldr GPR[64]:W, MEM[64,post]:R",
        "fadd VEC[4S]:W, VEC[4S]:R, VEC[4S]:R",
    ]
    text = write_osaca_yaml(exported_mapping(dict.fromkeys(schemes, ((1, 1),)), isa=aarch64.NAME), "n1")
    assert "isa: aarch64" in text
    assert "osaca --arch N1" in text
    assert text.count("{class: register, prefix: x}") == 4
    assert "prefix: v, shape: s" in text
    assert "post_indexed: true" in text


def test_one_line_for_an_llvm_opcode_and_the_others_as_comments() -> None:
    text = write_llvm_td(exported_mapping(), OPCODES)
    lines = [line for line in text.splitlines() if line.startswith("def : InstRW")]
    assert len(lines) == len(set(OPCODES.by_text.values()))
    for line in lines:
        assert "cycles" in line or "not measured" in line
        assert "“Toy — 6 ports”" in line
        assert PRODUCT in line
    assert any("5 witnesses" in line and "measured 0.2527" in line for line in lines)
    assert "stands for this too, which DIFFERS: vaddpd YMM{k}" in text
    assert "// PmwebWrite" in text.split("schemes without an LLVM opcode")[1]


def test_without_llvm_mc_all_lines_are_comments_that_say_why() -> None:
    text = write_llvm_td(exported_mapping(), Opcodes({}, reason="llvm-mc is not installed"))
    assert "def : InstRW" not in text
    assert "opcodes: unknown, the lines below are comments: llvm-mc is not installed" in text
    assert f"// schemes without an LLVM opcode: {len(USAGE)}" in text


def test_the_scheme_table_has_every_scheme_with_its_numbers() -> None:
    text = write_mapping_csv(exported_mapping())
    rows = list(csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#")))
    assert [row["scheme"] for row in rows] == list(USAGE)
    add = rows[0]
    assert (add["cycles measured"], add["cycles by the mapping"], add["witnesses"]) == ("0.2527", "0.25", "5")
    assert float(add["difference %"]) == pytest.approx(100 * (0.25 - 0.2527) / 0.2527, abs=1e-3)
    assert rows[list(USAGE).index(SCALED)]["cycles measured"] == ""
    assert len(PORTS) == 6
