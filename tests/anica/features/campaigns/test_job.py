"""Campaigns as durable runs, in this process with predictors in which something is planted."""

from __future__ import annotations

import json
import random
import zlib

import pytest

from anica_app.core.domain.wording import block_wording
from anica_app.models import Campaign, Discovery, Generalisation, GeneralisationStep
from anica_app.storage import domains as opening
from inference.core.mapping import PortMapping as Mapping
from inference.features.asking.predictors import opening as opened_predictors
from inference.models import PortMapping, Predictor
from inference.predictors.protocol import PredictorError
from inference.predictors.samples import unpack
from inference.runs import leases, lifecycle
from inference.runs.fork_server import StopRequests, execute
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from tests.anica.core.search.planted import Decoding, crashing_pair, few_schemes, forwarded_store, slow_scan
from tests.runs.fixtures import numbers, payloads

pytestmark = pytest.mark.django_db


def both(instructions):
    """A slow load of what was stored, and slow bit scans."""
    return forwarded_store(instructions) + slow_scan(instructions)


@pytest.fixture
def tools(monkeypatch):
    """Rows of a faulty, a plain and a crashing predictor; a dictionary of those that were opened, by name."""
    planted = {"faulty": both, "plain": lambda instructions: 0.0, "crashing": crashing_pair}
    rows = {
        name: Predictor.objects.create(name=name, kind="planted", key=f"{number:064}")
        for number, name in enumerate(planted)
    }
    made = {}

    def opened(row, task=None, *, isa):
        made[row.name] = Decoding(planted[row.name], row.name)
        return made[row.name]

    monkeypatch.setattr(opened_predictors, "open_predictor", opened)
    return {"rows": rows, "made": made, "isa": new_isa("x86-64", few_schemes(), "a few")}


QUICK = {"batch": 40, "samples": 30, "first_look": 10, "confirming": 30, "orders": 2, "longest": 3}


def config(tools, *names, **more):
    return {
        "predictors": [tools["rows"][name].pk for name in names],
        "scheme_filter": "-nothing",  # of those that are loaded
        "settings": QUICK,
        "end": {"blocks": 120},
        "evaluate": 0,
        **more,
    }


def do(kind, description, name="a campaign", wishes=StopRequests):
    run = lifecycle.submit(kind, description, name)
    lease = leases.claim("w")
    execute(lease, wishes(lease))
    run.refresh_from_db()
    return run


def test_a_campaign_ends_with_discoveries_their_generalisations_and_every_sample(tools):
    run = do("campaign", config(tools, "faulty", "plain", evaluate=200))
    assert run.state == "done", run.error
    campaign = Campaign.objects.get(run=run)
    assert (campaign.name, campaign.kind, campaign.origin) == ("a campaign", "campaign", "run")
    assert [seat.predictor.name for seat in campaign.seats.all()] == ["faulty", "plain"]
    assert campaign.sampled == 120 == sum(batch.n for batch in campaign.batches.all())
    standing = campaign.discoveries.filter(subsumed_by=None)
    assert run.result["discoveries"] == standing.count() > 1
    said = [
        phrase
        for one in standing
        for phrases in block_wording(one.abstract).instructions
        for phrase in phrases
    ]
    assert any("bs" in phrase for phrase in said)
    assert any(phrase.startswith(("writes", "accesses", "operand `MEM")) for phrase in said)
    for one in campaign.generalisations.all():
        steps = list(one.steps.all())
        assert [step.number for step in steps] == list(range(one.steps_count + 1))
        assert one.taken_count == sum(step.taken for step in steps[1:])
        for step in steps:
            samples = unpack(bytes(step.samples))
            assert len(samples) == step.n
            assert all(len(sample.answers) == 2 for sample in samples)
    assert campaign.facts["explained"] == run.result["explained"]
    assert run.result["explained"]["blocks"] == 200
    assert run.result["explained"]["share"] > 0.8
    support = json.loads(zlib.decompress(bytes(campaign.files.get(path=opening.SUPPORT).content)))
    assert len(support["supported"]) == campaign.facts["schemes"]
    assert all(tool.closed for tool in tools["made"].values())
    assert [p["name"] for p in payloads(run, "phase")] == ["support", "search", "judge", "families"]
    assert [p["round"] for p in payloads(run, "batch")] == [0, 1, 2]
    told = [p["number"] for p in payloads(run, "discovery")]
    assert told == list(range(campaign.discoveries.count()))
    growing = payloads(run, "families")[-1]["families"]
    assert sum(one["members"] for one in growing) == standing.count()
    assert all(len(one["predictions"]) == 2 for one in growing)
    assert numbers(run) == list(range(1, len(numbers(run)) + 1))


def test_discoveries_are_there_while_the_campaign_goes_on(tools):
    seen = []

    class Watching(StopRequests):
        def __call__(self):
            seen.append(Discovery.objects.count())
            return super().__call__()

    do("campaign", config(tools, "faulty", "plain"), wishes=Watching)
    assert 0 in seen
    assert any(count > 0 for count in seen)


def test_interruptions_at_random_moments_leave_the_same_rows(tools):
    undisturbed = do("campaign", config(tools, "faulty", "plain"), "undisturbed")
    run = lifecycle.submit("campaign", config(tools, "faulty", "plain"), "disturbed")
    assert interrupted(run, most=12) > 4, "the run was meant to be interrupted"
    assert rows(run) == rows(undisturbed)
    assert numbers(run) == list(range(1, len(numbers(run)) + 1))
    for kind, key in (("batch", "round"), ("discovery", "number")):
        told = [payload[key] for payload in payloads(run, kind)]
        assert told == list(range(len(told))) != [], "nothing is told twice, nothing is lost"


class Impatient(StopRequests):
    """Stops a run that has asked `left` times."""

    left = 0

    def __call__(self):
        self.left -= 1
        return "stop" if self.left < 0 else super().__call__()


def interrupted(run, most):
    """Do a run whose first ten attempts are stopped after at most so many questions; the attempts it took."""
    moments, attempts = random.Random(3), 0
    while run.state != "done":
        lease = leases.claim(f"w{attempts}")
        wishes = Impatient(lease) if attempts < 10 else StopRequests(lease)
        wishes.left = moments.randint(1, most)
        execute(lease, wishes)
        run.refresh_from_db()
        attempts += 1
        assert attempts < 30, run.error
    return attempts


def rows(run):
    """Everything a campaign has found, as bytes and JSON."""
    campaign = Campaign.objects.get(run=run)
    discoveries = campaign.discoveries.values_list(
        "number", "abstract", "code", "start_code", "interestingness", "generality", "subsumed_by__number"
    )
    generalisations = Generalisation.objects.filter(campaign=campaign).values_list(
        "number", "order", "became", "discovery__number", "start", "result"
    )
    steps = GeneralisationStep.objects.filter(generalisation__campaign=campaign).order_by(
        "generalisation__number", "number"
    )
    return (
        list(discoveries),
        list(generalisations),
        list(steps.values_list("number", "expansion", "taken", "reason", "n", "samples")),
        list(campaign.batches.values_list("number", "n", "interesting", "samples")),
        (campaign.rounds, campaign.sampled, campaign.interesting, campaign.subsumed),
    )


def test_one_predictor_is_searched_for_crashes(tools):
    run = do("campaign", config(tools, "crashing", preset="crashes", end={"blocks": 400}))
    assert run.state == "done", run.error
    found = Discovery.objects.get(subsumed_by=None)
    assert (found.kind, found.concrete) == ("crash of 1", False)
    assert found.interestingness == float("inf")


def test_what_is_excluded_is_not_found_again(tools):
    first = do("campaign", config(tools, "faulty", "plain"))
    excluded = list(Discovery.objects.filter(campaign__run=first).values_list("pk", flat=True))
    run = do("campaign", config(tools, "faulty", "plain", excluded=excluded), "again")
    assert run.state == "done", run.error
    assert run.result["discoveries"] < first.result["discoveries"]
    assert run.config["excluded"][0]["abstract"] == Discovery.objects.get(pk=excluded[0]).abstract


def test_a_mapping_gives_the_numbers_of_uops_for_a_feature(tools):
    usage = {text: ((1, 1), (2, 1)) if "MEM" in text else ((1, 1),) for text in few_schemes()}
    mapping = store_mapping(
        "ports", tools["isa"], Mapping(("0", "1"), usage), origin=PortMapping.Origin.IMPORT
    )
    run = do("campaign", config(tools, "faulty", "plain", uops=mapping.pk))
    assert run.state == "done", run.error
    start = Generalisation.objects.filter(campaign__run=run).first().start
    assert all(one["uops"]["fewer_than"] in (2, 4) for one in start["instructions"])


def test_a_predictor_that_cannot_work_fails_the_run_with_what_to_do(tools, monkeypatch):
    def broken(row, task=None, *, isa):
        raise PredictorError("llvm-mca 3 is not installed: apt install llvm")

    monkeypatch.setattr(opened_predictors, "open_predictor", broken)
    run = do("campaign", config(tools, "faulty", "plain"))
    assert (run.state, run.error) == ("failed", "llvm-mca 3 is not installed: apt install llvm")


def test_why_tools_disagree_about_one_block(tools):
    block = "48894308488b4308ffc1"  # mov [rbx+8],rax; mov rax,[rbx+8]; inc ecx: too long by one
    block = "48894308488b430831c9"
    run = do("generalise", {**single(tools, "faulty", "plain"), "block": block})
    assert run.state == "done", run.error
    campaign = Campaign.objects.get(run=run)
    assert campaign.kind == "generalisation"
    found = campaign.discoveries.filter(subsumed_by=None)
    assert {bytes(one.code).hex() for one in found} == {"48894308488b4308"}, (
        "what does not matter is left out"
    )
    assert {bytes(one.start_code).hex() for one in found} == {block}
    said = [block_wording(one.abstract) for one in found]
    assert any(
        one.aliasing == ("memory operand of instruction 1 is the same as memory operand of instruction 2",)
        for one in said
    )
    assert run.result["generalisations"] == 2


def test_an_interrupted_generalisation_counts_as_an_undisturbed_one(tools):
    asked = {**single(tools, "faulty", "plain"), "block": "48894308488b430831c9"}
    undisturbed = do("generalise", asked, "undisturbed")
    run = lifecycle.submit("generalise", asked, "disturbed")
    assert interrupted(run, most=12) > 4, "the run was meant to be interrupted"
    assert rows(run) == rows(undisturbed)
    assert run.result["judged"] == undisturbed.result["judged"]
    facts, others = (Campaign.objects.get(run=each).facts for each in (run, undisturbed))
    assert facts == others


def test_what_a_prediction_rests_on(tools):
    run = do("generalise", {**single(tools, "faulty"), "block": "0fbcc3"})  # bsf eax, ebx
    assert run.state == "done", run.error
    campaign = Campaign.objects.get(run=run)
    assert campaign.kind == "explanation"
    said = [
        phrase for one in campaign.discoveries.all() for phrase in block_wording(one.abstract).instructions[0]
    ]
    assert any("`bsf`" in phrase for phrase in said)


def test_a_block_about_which_tools_agree_is_not_explained(tools):
    run = do("generalise", {**single(tools, "faulty", "plain"), "block": "4801d8"})
    assert run.state == "failed"
    assert "faulty: 1 cycles; plain: 1 cycles" in run.error
    run = do("generalise", {**single(tools, "faulty", "plain"), "block": "0fa2"}, "cpuid")
    assert run.state == "failed"
    assert "cannot be generalised" in run.error


def single(tools, *names):
    return {
        "predictors": [tools["rows"][name].pk for name in names],
        "settings": {**QUICK, "extensions": "BASE X64"},
    }
