"""`manage.py front_end`: options in, one line of JSON out."""

from __future__ import annotations

import io
import json

from django.core.management import call_command

from inference.core.mapping import PortMapping as Mapping
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import MeasuredFrontEnd
from inference.storage.instruction_sets import store_isa
from tests.simulated import simulated_machine

ADD = "add GPR[64]:RW, GPR[64]:R"


def test_the_last_line_is_the_json_that_scripts_rely_on(site):
    found = scheme_and_form(ADD)
    assert found is not None
    simulated_machine(store_isa("x86-64", [found[0]], "a test"), Mapping(("0",), {ADD: ((1, 1),)}))
    out = io.StringIO()
    options = ("--machine", "sim", "--name", "mine", "--json")
    call_command("front_end", *options, stdout=out, stderr=io.StringIO())
    answer = json.loads(out.getvalue().splitlines()[-1])
    assert set(answer) == {"front_end", "url", "codes", "settled", "seconds", "numbers", "fusion", "issue"}
    made = MeasuredFrontEnd.objects.get()
    assert (answer["front_end"], answer["url"]) == ("mine", f"/front-ends/{made.pk}/")
    assert answer["codes"] == answer["settled"] == len(made.readings)
