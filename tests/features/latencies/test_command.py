"""`manage.py latencies`: options in, one line of JSON out."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from inference.core.mapping import PortMapping as Mapping
from inference.isa.x86.chains import links_of, pair_chains
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import LatencySet, Machine, PortMapping
from inference.runs import lifecycle
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from tests.doors import printed
from tests.simulated import simulated_machine
from tests.work import work_off

SCHEMES = ("add GPR[64]:RW, GPR[64]:R", "vaddpd XMM:W, XMM:R, XMM:R")


@pytest.mark.parametrize("kind", [Machine.Kind.SIMULATED, Machine.Kind.AGENT])
def test_the_last_line_is_the_json_that_scripts_rely_on(site, kind):
    """Be the processor simulated by this site or by an agent."""
    schemes = (*SCHEMES, "div GPR[64]:R")  # of the default set of latencies alone
    found = [scheme_and_form(text) for text in schemes]
    isa = store_isa("x86-64", [one[0] for one in found if one is not None], "a test")
    machine = simulated_machine(isa, Mapping(("0",), dict.fromkeys(schemes, ((1, 1),))))
    machine.kind, machine.facts = kind, {**machine.facts, "simulated": True}
    machine.save()
    out = io.StringIO()
    options = ("--machine", "sim", "--schemes", "default", "--name", "mine", "--json")
    call_command("latencies", *options, stdout=out, stderr=io.StringIO())
    answer = json.loads(out.getvalue().splitlines()[-1])
    assert set(answer) == {"latencies", "url", "schemes", "pairs", "isolated", "bounds", "seconds"}
    made = LatencySet.objects.get()
    assert (answer["latencies"], answer["url"]) == ("mine", f"/latencies/{made.pk}/")
    pairs = [pair_chains(link) for text in schemes for link in links_of(text)]
    isolated = sum(pair.isolated for pair in pairs)
    assert (answer["schemes"], answer["pairs"]) == (3, len(pairs))
    assert (answer["isolated"], answer["bounds"]) == (isolated, len(pairs) - isolated)


def shown(*options: str) -> dict:
    return json.loads(printed("latencies", *options, "--json").splitlines()[-1])


def test_a_mapping_is_simulated_and_recorded_readings_say_the_same_again(site):
    found = [scheme_and_form(text) for text in SCHEMES]
    isa = store_isa("x86-64", [one[0] for one in found if one is not None], "a test")
    truth = Mapping(("0",), dict.fromkeys(SCHEMES, ((1, 1),)))
    mapping = store_mapping("mine", isa, truth, origin=PortMapping.Origin.IMPORT)
    options = ("--schemes", "all", "--simulate", mapping.name, "--set", "noise=0.01", "--seed", "7")
    first = shown(*options, "--name", "first")
    again = shown("--dataset", "first", "--name", "again")  # all schemes that it has
    counted = ("schemes", "pairs", "isolated", "bounds")
    assert [first[key] for key in counted] == [again[key] for key in counted]
    one, other = LatencySet.objects.order_by("pk")
    assert one.machine == other.machine == Machine.objects.get()
    assert one.memory == other.memory
    for mine, theirs in zip(one.schemes.order_by("pk"), other.schemes.order_by("pk"), strict=True):
        assert (mine.pairs, mine.idioms) == (theirs.pairs, theirs.idioms)


def test_what_is_not_in_the_recorded_data_says_so(site):
    found = [scheme_and_form(text) for text in SCHEMES]
    isa = store_isa("x86-64", [one[0] for one in found if one is not None], "a test")
    machine = simulated_machine(isa, Mapping(("0",), dict.fromkeys(SCHEMES, ((1, 1),))))
    adds = list(isa.schemes.filter(mnemonic="add").values_list("pk", flat=True))
    work_off(lifecycle.submit("latencies", {"machine": machine.pk, "schemes": adds}, "adds"))
    recorded = LatencySet.objects.get(name="adds")
    run = work_off(lifecycle.submit("latencies", {"recorded": recorded.pk, "schemes": "all"}, "all of them"))
    assert run.result["schemes"] == 2
    (missing,) = LatencySet.objects.get(name="all of them").schemes.filter(scheme__text=SCHEMES[1])
    assert missing.isolated == 0
    assert "not in the recorded data" in missing.pairs[0]["why"]


@pytest.mark.parametrize(
    ("options", "said"),
    [(("--simulate", "none"), "none"), (("--dataset", "none"), "none"), ((), "one of the arguments")],
)
def test_bad_options_are_refused_and_change_nothing(site, options, said):
    with pytest.raises(CommandError, match=said):
        call_command("latencies", *options, stdout=io.StringIO(), stderr=io.StringIO())
    assert not LatencySet.objects.exists()
    assert not Machine.objects.exists()
