"""`manage.py scheduler`: options in, one line of JSON out."""

from __future__ import annotations

import io
import json

from django.core.management import call_command

from inference.features.learning.core_model.storing import store_document
from inference.formats.core_model_json import core_model_json, read_core_model
from inference.isa.x86.scheme_set import scheme_and_form
from inference.storage.instruction_sets import store_isa
from tests.core.core_model.test_scheduler_inference import MODEL, PORTS
from tests.doors import printed
from tests.simulated import simulated_machine


def test_the_last_line_is_the_json_that_scripts_rely_on(site) -> None:
    found = [scheme_and_form(text) for text in PORTS.usage]
    isa = store_isa("x86-64", [one[0] for one in found if one is not None], "a test")
    simulated_machine(isa, PORTS)
    document = core_model_json(MODEL, name="lab", isa="x86-64")
    store_document(read_core_model(json.dumps(document)), "lab")
    out = io.StringIO()
    options = ("--machine", "sim", "--seconds", "5", "--json")
    call_command("scheduler", "lab", *options, stdout=out, stderr=io.StringIO())
    answer = json.loads(out.getvalue().splitlines()[-1])
    assert set(answer) == {
        *("core_model", "words", "scheduler", "reason", "error", "error_without", "alternatives"),
        *("experiments", "source", "tried", "finished", "blocks", "code", "unjudged", "slots"),
    }
    assert (answer["core_model"], answer["source"], answer["scheduler"]) == ("lab", "sim", None)
    assert answer["reason"]
    assert printed("scheduler", "lab", "--show") == f"core model 'lab': no scheduler: {answer['reason']}\n"
