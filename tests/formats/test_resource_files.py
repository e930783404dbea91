"""Files with resource mappings: the product's own, Palmed's, and lists of names for the latter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from inference.core.resources import ResourceMapping
from inference.formats.import_formats import name_list_of
from inference.formats.parsing import NO_SCHEME, AnyNames, Parsed, parse
from inference.formats.problems import ExchangeError
from inference.isa.targets import X86
from inference.models import ISA
from inference.models import ResourceMapping as ResourceMappingRow
from inference.storage.exporting import RESOURCE_EXPORTS
from inference.storage.importing import commit, preview
from inference.storage.instruction_sets import load_supplied, new_isa
from inference.storage.mappings import load_resource_mapping

GOLDEN = Path(__file__).parent / "golden"
PALMED = (GOLDEN / "palmed-mapping.json").read_bytes()
NAMES = (GOLDEN / "palmed-names.json").read_bytes()
OWN = (GOLDEN / "resource-json.json").read_bytes()

ADC = "adc GPR[8]:RW, GPR[8]:R"
ADD = "add GPR[64]:RW, GPR[64]:R"
ADD_0 = "add GPR[64]:RW, 0x0"
IMUL = "imul GPR[64]:RW, GPR[64]:R"
CHEAP = ((0, 0.25), (1, 0.5))  # on R0 and R2
SLOW = ((2, 1.0), (3, 0.3))  # on R10 and R_Other


@pytest.fixture
def isa(db: None) -> ISA:
    return new_isa(X86, [ADC, ADD, ADD_0, IMUL, "nop"], "by hand")


def own(**changes: Any) -> Parsed:
    document = {**json.loads(OWN), **changes}
    return parse(json.dumps(document).encode(), "upload.json", AnyNames())


def palmed(**changes: Any) -> Parsed:
    document = {**json.loads(PALMED), **changes}
    return parse(json.dumps(document).encode(), "upload.json", AnyNames())


def only_problem(parsed: Parsed) -> str:
    assert parsed.problem_count == 1, parsed.lines()
    assert parsed.resources is None
    return parsed.lines()[0]


def test_the_own_format_is_read_with_whole_numbers_and_empty_loads() -> None:
    parsed = own()
    assert (parsed.format.key, parsed.lines()) == ("resource-json", [])
    assert parsed.resources == ResourceMapping(
        ("[p1]", "[p0,p1]", "R_max"),
        {ADD: ((1, 0.5), (2, 0.25)), IMUL: ((0, 2.0), (1, 1.0), (2, 0.25)), "nop": ()},
    )


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"version": 2}, "column version: version 2 of the format; version 1 is expected"),
        ({"resources": ["a", "a"]}, "column resources: a resource is listed twice"),
        ({"resources": "a"}, "column resources: 'a' is not a list"),
        ({"loads": {}}, "column loads: there are no loads; at least one scheme is expected"),
        ({"loads": {"x": {"p9": 1}}}, "row 1, column loads: there is no resource 'p9'"),
        ({"loads": {"x": {"R_max": -1}}}, "row 1, column loads: -1.0 cannot be a load on 'R_max'"),
        ({"loads": {"x": {"R_max": "1"}}}, "row 1, column loads: '1' is not a number"),
        ({"loads": {"x": [1]}}, "row 1, column loads: a list is not an object"),
    ],
)
def test_what_is_wrong_with_an_own_file_is_told(changes: dict[str, Any], problem: str) -> None:
    assert only_problem(own(**changes)).startswith(f"upload.json, {problem}")


def test_unknown_schemes_of_an_own_file_keep_it_out(isa: ISA) -> None:
    seen = preview(OWN.replace(b'"nop"', b'"frob R"'), "a.json")
    assert [problem.message for problem in seen.parsed.problems] == ["unknown scheme 'frob R'"]


def test_palmeds_format_is_read_class_by_class(isa: ISA) -> None:
    parsed = preview(PALMED, "a.json").parsed
    assert (parsed.format.key, parsed.lines()) == ("palmed-mapping", [])
    assert parsed.facts == {"instructions": 5, "classes": 2}
    assert parsed.resources == ResourceMapping(
        ("R0", "R2", "R10", "R_Other"), {ADC: CHEAP, ADD: CHEAP, IMUL: SLOW}
    )


def test_instructions_without_a_scheme_and_second_ones_of_a_scheme_are_left_out_and_named(isa: ISA) -> None:
    assert preview(PALMED, "a.json").parsed.left_out == {
        "FROB_GPR64i64": NO_SCHEME,
        "ADC_GPR8NOREXi8_GPR8NOREXi8": f"{ADC} has the loads of ADC_GPR8i8_GPR8i8",
    }


def test_a_name_list_comes_before_what_names_say(isa: ISA) -> None:
    parsed = preview(PALMED, "a.json", names=name_list_of(NAMES, "names.json")).parsed
    assert parsed.resources.loads == {ADC: SLOW, ADD_0: CHEAP, ADD: CHEAP, IMUL: SLOW}
    assert parsed.left_out == {
        "FROB_GPR64i64": NO_SCHEME,
        "ADC_GPR8i8_GPR8i8": f"{ADC} has the loads of ADC_GPR8NOREXi8_GPR8NOREXi8",
    }


def test_a_file_of_which_nothing_is_known_is_refused(db: None) -> None:
    new_isa("other", ["frob"], "by hand")
    told = preview(PALMED, "a.json").parsed.lines()
    assert told[0].startswith("a.json: none of the 5 instructions is known; choose the instruction set")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"instr_to_class": []}, "column instr_to_class: a list is not an object"),
        ({"instr_to_class": {}}, "column instr_to_class: the table is empty"),
        ({"instr_to_class": {"ADD": "DIV"}}, "row 1, column instr_to_class: there is no class 'DIV'"),
        ({"class_to_resources": {}}, "column class_to_resources: the table is empty"),
    ],
)
def test_what_is_wrong_with_a_palmed_file_is_told(changes: dict[str, Any], problem: str) -> None:
    assert only_problem(palmed(**changes)).startswith(f"upload.json, {problem}")


@pytest.mark.parametrize(
    ("use", "problem"),
    [
        ([1.0], "a list is not a use of a resource; a pair [cycles, resource] is expected"),
        (["R0", 1.0], "a name cannot be 1.0; a text is expected"),
        ([-0.5, "R0"], "-0.5 cannot be a load on 'R0'"),
        ([1e99, "R0"], "1e+99 cannot be a load on 'R0'"),
    ],
)
def test_a_faulty_use_is_told_with_its_class(use: list[object], problem: str) -> None:
    classes = {"ADD": {"resource_use": [[0.5, "R1"]]}, "SLOW": {"resource_use": [use]}}
    (line,) = palmed(class_to_resources=classes).lines()
    assert line.startswith("upload.json, row 2, column class_to_resources")
    assert problem in line


def test_a_small_file_cannot_say_more_than_a_database_should_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inference.formats.parsing.MAX_LOADS", 7)
    wide = {"wide": {"resource_use": [[1, f"R{k}"] for k in range(4)]}}
    entries = {f"scheme {k}": "wide" for k in range(2)}
    told = only_problem(palmed(instr_to_class=entries, class_to_resources=wide))
    assert told == "upload.json, column loads: 8 loads of 2 schemes; at most 7 are read"


def test_two_uses_of_one_resource_are_told() -> None:
    classes = {"ADD": {"resource_use": [[0.5, "R1"], [0.5, "R1"]]}, "SLOW": {"resource_use": []}}
    assert "two loads on 'R1'" in only_problem(palmed(class_to_resources=classes))


def test_a_name_list_by_itself_says_where_it_belongs(isa: ISA) -> None:
    seen = preview(NAMES, "names.json")
    assert seen.parsed.format.key == "palmed-names"
    assert seen.parsed.lines()[0].startswith(
        "names.json: a list of names brings nothing by itself; choose it"
    )


@pytest.mark.parametrize("content", ["", "a,b", "{}", "[1]", '{"a": "b"}', '{"a": ["b", "c"]}'])
def test_any_other_file_is_no_name_list(content: str) -> None:
    with pytest.raises(ExchangeError, match=r"^names\.json"):
        name_list_of(content.encode(), "names.json")


def test_an_imported_mapping_keeps_what_was_left_out_and_is_exported_as_it_is(isa: ISA) -> None:
    seen = preview(PALMED, "zen.json")
    made = commit(seen, seen.name, note="theirs").row
    assert isinstance(made, ResourceMappingRow)
    assert (made.name, made.origin, made.note) == ("zen", "import", "theirs")
    assert made.source == "zen.json, Palmed resource mapping (JSON)"
    assert made.report["instructions"] == 5
    assert sorted(made.report["left_out"]) == ["ADC_GPR8NOREXi8_GPR8NOREXi8", "FROB_GPR64i64"]
    assert load_resource_mapping(made) == seen.parsed.resources
    again = preview(RESOURCE_EXPORTS["json"].write(made).encode(), "again.json")
    assert (again.own_name, again.name) == ("zen", "zen (2)")
    assert load_resource_mapping(commit(again, again.name).row) == seen.parsed.resources


@pytest.mark.shared
@pytest.mark.skipif(not (settings.SHARED / "data").is_dir(), reason="the published data is not here")
def test_the_published_zen_model_is_matched_almost_completely(db: None) -> None:
    folder = settings.SHARED / "data" / "zenplus" / "palmed"
    content = (folder / "palmed_zen_extracted_2021-11-25.json").read_bytes()
    names = name_list_of((folder / "fixed_palmed_insn_map.json").read_bytes(), "names.json")
    assert len(names) == 609
    isa, _ = load_supplied(X86)
    alone = preview(content, "zen.json", isa=isa).parsed
    assert alone.lines() == []
    assert alone.facts == {"instructions": 2813, "classes": 567}
    assert len(alone.resources.resources) == 20
    assert sum(why.startswith(NO_SCHEME) for why in alone.left_out.values()) == 32
    assert (len(alone.left_out), len(alone.schemes)) == (116, 2693)
    assert len(preview(content, "zen.json", isa=isa, names=names).parsed.schemes) == 2732
