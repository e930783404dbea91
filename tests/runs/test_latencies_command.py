"""`manage.py latencies`: options in, one line of JSON out."""

from __future__ import annotations

import io
import json

from django.core.management import call_command

from inference.core.mapping import PortMapping as Mapping
from inference.isa.x86.scheme_set import described
from inference.models import LatencySet
from inference.storage.instruction_sets import store_isa
from tests.simulated import simulated_machine

SCHEMES = ("add GPR[64]:RW, GPR[64]:R", "vaddpd XMM:W, XMM:R, XMM:R")


def test_the_last_line_is_the_json_that_scripts_rely_on(site):
    found = [described(text) for text in SCHEMES]
    isa = store_isa("x86-64", [one[0] for one in found if one is not None], "a test")
    simulated_machine(isa, Mapping(("0",), dict.fromkeys(SCHEMES, ((1, 1),))))
    out = io.StringIO()
    options = ("--machine", "sim", "--schemes", "all", "--name", "mine", "--json")
    call_command("latencies", *options, stdout=out, stderr=io.StringIO())
    answer = json.loads(out.getvalue().splitlines()[-1])
    assert set(answer) == {"latencies", "url", "schemes", "pairs", "isolated", "bounds", "seconds"}
    made = LatencySet.objects.get()
    assert (answer["latencies"], answer["url"]) == ("mine", f"/latencies/{made.pk}/")
    assert (answer["schemes"], answer["pairs"], answer["isolated"], answer["bounds"]) == (2, 6, 4, 2)
