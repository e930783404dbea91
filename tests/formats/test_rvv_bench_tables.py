"""Tables of rvv-bench: numbers by mode, parts, and what is left out."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.formats.import_formats import bytes_to_store, read
from inference.formats.parsing import AnyNames, Parsed, resolve

PAGE = (Path(__file__).parent / "golden" / "rvv-bench.html").read_text()
EXPERIMENTS = {
    "vadd.vv VR[e8,m1]:W, VR[e8,m1]:R, VR[e8,m1]:R": 0.5,
    "vadd.vv VR[e8,m2]:W, VR[e8,m2]:R, VR[e8,m2]:R": 1.0,
    "vadd.vv VR[e32,m1]:W, VR[e32,m1]:R, VR[e32,m1]:R": 0.5,
    "vadd.vv VR[e32,m8]:W, VR[e32,m8]:R, VR[e32,m8]:R": 4.0,
    "vadd.vv VR[e8,m1]:RW, VR[e8,m1]:R, VR[e8,m1]:R, v0.t:R": 1.0,
    "vadd.vv VR[e32,m1]:RW, VR[e32,m1]:R, VR[e32,m1]:R, v0.t:R": 1.0,
    "vwadd.vx VR[e16,m2]:W, VR[e8,m1]:R, GPR[64]:R": 2.0,
    "vwadd.vx VR[e16,m4]:W, VR[e8,m2]:R, GPR[64]:R": 4.0,
    "vwadd.vx VR[e64,m2]:W, VR[e32,m1]:R, GPR[64]:R": 2.0,
    "vdiv.vv VR[e8,m1]:W, VR[e8,m1]:R, VR[e8,m1]:R": 18.0,
    "vdiv.vv VR[e8,m2]:W, VR[e8,m2]:R, VR[e8,m2]:R": 36.0,
    "vdiv.vv VR[e32,m1]:W, VR[e32,m1]:R, VR[e32,m1]:R": 8.0,
    "vdiv.vv VR[e32,m8]:W, VR[e32,m8]:R, VR[e32,m8]:R": 64.0,
    "vlse32.v VR[e32,m1]:W, MEM[e32,m1]:R, GPR[64]:R": 8.0,
    "vlse32.v VR[e32,m8]:W, MEM[e32,m8]:R, GPR[64]:R": 64.0,
    "vmv2r.v VR[m2]:W, VR[m2]:R": 1.0,
}


def parsed_of(content: str, part: str = "") -> Parsed:
    return resolve(read(content.encode(), "index.html", part=part), AnyNames())


def test_numbers_belong_to_schemes_in_the_mode_of_their_column() -> None:
    parsed = parsed_of(PAGE)
    assert parsed.lines() == []
    assert {str(row.experiment): row.cycles for row in parsed.measured} == EXPERIMENTS


def test_each_table_and_all_scalar_instructions_are_a_part() -> None:
    parts = ["vl=VLMAX ta ma", "vl=1 ta ma", "scalar instructions"]
    assert parsed_of(PAGE).facts["microarchitectures"] == parts
    vectors, scalars = (parsed_of(PAGE, part) for part in parts[1:])
    assert [row.cycles for row in vectors.measured] == [0.25]
    assert [str(row.experiment) for row in scalars.measured] == ["add GPR[64]:W, GPR[64]:R, GPR[64]:R"]
    assert vectors.facts["arch"] == "Example X9, VLEN 256"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("add t0,t1,t2", "scalar instruction among vectors"),
        ("vlse32.v v8,(t2),x0", "special stride"),
        ("vbrev9.v v8,v16", "no scheme here has this name"),
        ("e8mf2", "4 numbers"),
        ("e8m2", "1 number "),
    ],
)
def test_rows_and_modes_without_a_scheme_are_listed(name: str, why: str) -> None:
    assert why in parsed_of(PAGE).left_out[name]


def test_an_upload_is_stored_as_the_page_that_it_is() -> None:
    assert bytes_to_store(BytesIO(PAGE.encode()), "index.html", 1 << 20) == PAGE.encode()


def test_a_core_of_the_draft_is_named_so() -> None:
    page = PAGE.replace("vbrev9.v v8", "vmpopc.m t0")
    assert parsed_of(page).facts["arch"] == "Example X9, VLEN 256, V 0.7.1"


@given(st.lists(st.sampled_from(PAGE.splitlines()) | st.text(max_size=40), max_size=12))
def test_lines_in_any_order_never_raise(lines: list[str]) -> None:
    header = "<thead><tr><th>instruction</th><th>e8m1</th></tr></thead>"
    parsed_of("\n".join([header, *lines]))
