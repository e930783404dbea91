"""`manage.py check-model`: options in, tables or one line of JSON out."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from inference.models import PortMapping, Run
from inference.storage.mappings import store_mapping
from tests.runs.agents import TRUTH, make_machine
from tests.simulated import simulated_machine


def check(*options):
    out, err = io.StringIO(), io.StringIO()
    call_command("check-model", "--machine", "sim", *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def make_simulated():
    isa = make_machine(name="away", facts={}).isa
    store_mapping("truth", isa, TRUTH, origin=PortMapping.Origin.IMPORT)
    return simulated_machine(isa, TRUTH)


def test_the_shell_gets_the_tables_and_the_files(site, tmp_path):
    make_simulated()
    small = ("--mixes", "3", "--sequences", "2", "--permutations", "2")
    out, err = check(
        "--schemes", "all", "--reference", "truth", *small, "--csv", str(tmp_path), "--name", "mine", "--json"
    )
    told = json.loads(out.splitlines()[-1])
    assert (told["set"], told["within"], told["compared"]) == ("mine", 8, 8)
    assert [row["length"] for row in told["orders"]] == list(range(2, 21, 2))
    assert "compared with 'truth'" in err
    assert "[3/3] Measure other orders" in err
    assert (tmp_path / "schemes.csv").read_text().splitlines()[1].startswith("alu,within,0.333")
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["mixes.csv", "orders.csv", "schemes.csv"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--machine", "box"], "no machine named 'box'"),
        (["--reference", "x"], "no port mapping named 'x'"),
        (["--permutations", "1"], "permutations must be a whole number from 2"),
        (["--csv", "/nowhere/at/all"], "there is no such folder"),
    ],
)
def test_wrong_options_end_it_before_anything_is_stored(options, complaint):
    make_simulated()
    with pytest.raises(CommandError, match=complaint):
        check("--schemes", "all", *options)
    assert not Run.objects.exists()
