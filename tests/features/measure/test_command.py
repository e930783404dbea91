"""`manage.py measure`: options in, one line of JSON out."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from inference.models import ExperimentSet, Run
from tests.runs.agents import TRUTH, make_machine
from tests.simulated import simulated_machine


def measure(*options):
    out, err = io.StringIO(), io.StringIO()
    call_command("measure", "--machine", "sim", *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def make_simulated():
    isa = make_machine(name="away", facts={}).isa
    return simulated_machine(isa, TRUTH)


def test_the_last_line_is_the_json_that_scripts_rely_on(site):
    make_simulated()
    out, err = measure("--schemes", "all", "--plan", "mixes", "--mixes", "30", "--name", "mine", "--json")
    answer = json.loads(out.splitlines()[-1])
    made = ExperimentSet.objects.get()
    assert set(answer) == {"set", "url", "experiments", "settled", "settled_share", "seconds"}
    assert (answer["set"], answer["url"]) == ("mine", f"/sets/{made.pk}/")
    assert answer["experiments"] == answer["settled"] == made.measurements.count() == 30
    assert answer["settled_share"] == 1
    assert "about 30 experiments" in err
    assert "[1/1] Measure on sim" in err


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--machine", "box"], "no machine named 'box'"),
        (["--machine", "away"], "has never connected"),
        (["--plan", "guess"], "invalid choice: 'guess'"),
        (["--schemes", "zzz"], "selects none of the 10 schemes of toy"),
        (["--schemes", "all", "--mixes", "0"], "mixes must be a whole number from 1"),
    ],
)
def test_wrong_options_end_it_before_anything_is_stored(options, complaint):
    make_simulated()
    with pytest.raises(CommandError, match=complaint):
        measure("--schemes", "all", *options)
    assert not Run.objects.exists()
