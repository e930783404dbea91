"""`manage.py explain`: verdicts listed, one proof printed, regularity told."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from inference.models import PortMapping
from inference.storage.mappings import store_mapping
from tests.doors import printed
from tests.explained import (
    ADD,
    ADD_LOAD,
    BSF,
    CMOV,
    DIV,
    IMUL_LOAD,
    TRUTH,
    VERDICTS,
    explained_mapping,
    toy_isa,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def row(db):
    return explained_mapping(toy_isa())


def said(*arguments: str) -> list[str]:
    return printed("explain", "found", *arguments).splitlines()


def test_every_scheme_asked_for_is_listed():
    lines = said()
    assert len(lines) == len(VERDICTS)
    assert lines[0] == f"{ADD} → characterised: 1×[0,1]"
    assert lines[1] == f"{ADD_LOAD} → characterised: 1×[0,1] + 1×[2]  (doubts: 2)"
    assert lines[4].startswith(f"{DIV} → excluded: too slow to test: takes 40 cycles alone")


@pytest.mark.parametrize(
    ("options", "schemes"),
    [
        (["--outcome", "ambiguous"], {CMOV}),
        (["--outcome", "excluded", "--stage", "remaining"], {BSF}),
        (["--reason", "too slow to test"], {DIV}),
        (["--doubtful"], {ADD_LOAD, CMOV}),
        (["--schemes", "mnemonic:bsf"], {BSF}),
    ],
)
def test_the_list_is_filtered(options, schemes):
    assert {json.loads(line)["scheme"] for line in said(*options, "--json")} == schemes


def test_a_proof_reads_as_on_its_page():
    lines = said("--scheme", ADD_LOAD)
    assert lines[0] == f"{ADD_LOAD}: 1×[0,1] + 1×[2]"
    assert "  takes 1 cycles alone; its µops explain 1; 2 µops are counted" in lines
    assert "  2. [2]: uses 1 × [2]" in lines
    assert "     (5.51 − 5.00) · 2 = 1.02 → 1 µop, within 0.30, of 3" in lines
    assert "  [3]: not tested" in lines
    assert "also possible: 2×[0,1]" in lines
    assert any(line.startswith("regular: ") for line in lines)


def test_a_proof_as_json_names_the_experiments_to_measure_again():
    told = json.loads(said("--scheme", BSF, "--json")[0])
    assert (told["outcome"], told["reason"], told["uops"]) == ("excluded", "not a whole number of µops", None)
    assert told["witnesses"][0]["seen"] == "odd"
    assert told["witnesses"][0]["tested"] == f"{BSF}; 10*imul GPR[32]:RW, GPR[32]:R"
    assert told["facts"][0]["measured"] == 11.48


def test_regularity_is_told_with_what_breaks_it():
    lines = said("--regularity")
    assert lines[0] == "1 of 2 schemes follow all patterns that apply (50 %)"
    assert lines[-1].startswith(f"{IMUL_LOAD}: 1×[1] + 1×[0,1] + 1×[2], not 1×[1] + 1×[2] after")
    assert json.loads(said("--regularity", "--json")[0])["pattern"] == "load"


def test_what_is_not_there_is_said(row):
    store_mapping("plain", row.isa, TRUTH, origin=PortMapping.Origin.IMPORT)
    with pytest.raises(CommandError, match="no verdicts"):
        call_command("explain", "plain")
    with pytest.raises(CommandError, match="no scheme 'subb'"):
        said("--scheme", "subb")
    with pytest.raises(CommandError, match="does not describe"):
        call_command("explain", "plain", "--scheme", BSF)
    with pytest.raises(CommandError, match="no port mapping named"):
        call_command("explain", "lost")
