"""Schemes that a core model lacks: measured, and added to parts of their own."""

from __future__ import annotations

import pytest
from django.test import Client

from inference.core.core_model import Assumptions
from inference.core.mapping import PortMapping as Mapping
from inference.features.asking.loop.query import analysis_of
from inference.features.learning.completing import query
from inference.features.learning.completing.job import CompletionJob
from inference.features.learning.core_model.storing import store_parts
from inference.features.library.instruction.query import card_of
from inference.features.library.instruction.request import InstructionRequest
from inference.isa.blocks import block_of_text
from inference.isa.x86.scheme_set import scheme_and_form
from inference.measuring.simulated_agent import SimulatedHarness, simulated_facts
from inference.models import ISA, ExperimentSet, LatencySet, Machine, PortMapping, Run, StoredCoreModel
from inference.runs import leases, lifecycle
from inference.runs.errors import ConfigError
from inference.runs.fork_server import StopRequests
from inference.runs.kinds import Task
from inference.runs.reporter import JournalReporter
from inference.storage.core_models import core_model_of
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import load_mapping, store_mapping
from tests.runs.agents import attempt, impatient, put_agent
from tests.simulated import simulated_machine
from tests.work import work_off

ADD, SHL, ROL = "add GPR[64]:RW, GPR[64]:R", "shl GPR[64]:RW, IMM[8]:R", "rol GPR[64]:RW, IMM[8]:R"
IMUL, VADD = "imul GPR[64]:RW, GPR[64]:R", "vaddpd XMM:W, XMM:R, XMM:R"
LOAD, ADD_LOAD = "mov GPR[64]:W, MEM[64]:R", "add GPR[64]:RW, MEM[64]:R"
VMUL, MUL = "vmulpd XMM:W, XMM:R, XMM:R", "mulpd XMM:RW, XMM:R"
DIV = "div GPR[64]:R"
TRUTH = Mapping(
    ("0", "1", "2", "3", "4"),
    {
        ADD: ((0b00111, 1),),
        IMUL: ((0b00010, 1),),
        SHL: ((0b00110, 1),),
        ROL: ((0b00110, 1),),
        VADD: ((0b10000, 1),),
        LOAD: ((0b01000, 1),),
        ADD_LOAD: ((0b00111, 1), (0b01000, 1)),
        VMUL: ((0b10000, 1),),
    },
    6.0,
)
KNOWN = (ADD, SHL, LOAD, VADD)
FURTHER = (ROL, ADD_LOAD, MUL)


@pytest.fixture
def isa(db: None) -> ISA:
    schemes = [scheme_and_form(text) for text in (*TRUTH.usage, MUL, DIV)]
    return store_isa("x86-64", [pair[0] for pair in schemes if pair is not None], "a test")


@pytest.fixture
def machine(isa: ISA) -> Machine:
    return simulated_machine(isa, TRUTH)


@pytest.fixture
def model(isa: ISA, machine: Machine) -> StoredCoreModel:
    value = Mapping(TRUTH.ports, {text: TRUTH.usage[text] for text in KNOWN}, TRUTH.r_max)
    mapping = store_mapping("ports", isa, value, origin=PortMapping.Origin.RUN, machine=machine)
    ids = list(isa.schemes.filter(text__in=KNOWN).values_list("pk", flat=True))
    work_off(lifecycle.submit("latencies", {"machine": machine.pk, "schemes": ids}, "latencies"))
    return store_parts("core", mapping, LatencySet.objects.get(), None)


def completed(model: StoredCoreModel, *texts: str, name: str = "more") -> Run:
    ids = [model.isa.schemes.get(text=text).pk for text in texts]
    run = work_off(lifecycle.submit("complete", {"core_model": model.pk, "schemes": ids}, name))
    model.refresh_from_db()
    return run


def test_a_core_model_gets_latencies_and_ports_of_what_it_lacked(model):
    before = model.mapping, model.latencies
    run = completed(model, *FURTHER)
    assert run.state == "done", run.error
    assert run.result["unmeasured"] == {}
    value = core_model_of(model)
    for text in (ROL, ADD_LOAD):
        assert value.mapping.usage[text] == TRUTH.usage[text]
    assert value.mapping.usage[MUL] == TRUTH.usage[VMUL]
    assert {*FURTHER} <= value.latencies.keys()
    assert (model.mapping, model.latencies) != before
    # What was measured before stays, in the rows where it was and in the new ones.
    mapping, latencies = before
    assert set(load_mapping(mapping).usage) == {*KNOWN}
    assert latencies.schemes.count() == 4
    for text in KNOWN:
        assert value.mapping.usage[text] == TRUTH.usage[text]
        (old,), (new,) = (row.schemes.filter(scheme__text=text) for row in (latencies, model.latencies))
        assert (old.pairs, old.chains, old.idioms) == (new.pairs, new.chains, new.idioms)
    assert model.latencies.memory == latencies.memory
    assert model.mapping.report["extends"]["mapping"] == mapping.pk
    assert sorted(model.mapping.report["extends"]["schemes"]) == sorted([ROL, ADD_LOAD, VMUL])


def test_the_evidence_stays(model):
    completed(model, ROL)
    verdict = model.mapping.characterisations.get(scheme__text=ROL)
    assert {witness.blocker.text for witness in verdict.witnesses.all()} >= {SHL, ADD}
    assert ExperimentSet.objects.get(run__name="more").measurements.exists()


def test_one_completion_follows_another(model):
    completed(model, ROL)
    completed(model, ADD_LOAD, name="again")
    assert set(load_mapping(model.mapping).usage) == {*KNOWN, ROL, ADD_LOAD}
    assert model.latencies.schemes.count() == 6


def test_what_cannot_be_measured_says_why(model):
    run = completed(model, ROL, IMUL, DIV)
    assert run.state == "done"
    reasons = run.result["unmeasured"]
    assert set(reasons) == {IMUL, DIV}
    # Its port is one of two that only floods of both block.
    assert reasons[IMUL]["ports"] == "takes 1 cycles alone; its µops explain 0.5"
    assert reasons[DIV]["ports"]
    assert query.unmeasured([run]) == reasons
    assert set(load_mapping(model.mapping).usage) == {*KNOWN, ROL}
    assert core_model_of(model).alone[IMUL] == 1.0


def test_two_completions_that_overlap_lose_nothing(model):
    """The second one was measured against the parts that the first one replaced."""
    stores = []
    for text in (ROL, ADD_LOAD):
        schemes = [model.isa.schemes.get(text=text).pk]
        run = lifecycle.submit("complete", {"core_model": model.pk, "schemes": schemes}, text)
        lease = leases.claim("w", only=run.pk)
        task = Task(run, lease, JournalReporter(lease, StopRequests(lease)), None)
        stores.append((lease, CompletionJob().work(task)))
    for lease, store in stores:
        leases.finish(lease, store)
    model.refresh_from_db()
    assert set(load_mapping(model.mapping).usage) == {*KNOWN, ROL, ADD_LOAD}
    assert model.latencies.schemes.count() == 6


@pytest.mark.parametrize("calls", [5, 40])
def test_an_interrupted_completion_measures_nothing_twice(model, machine, monkeypatch, calls):
    Machine.objects.filter(pk=machine.pk).update(kind="agent", facts=simulated_facts("toy", TRUTH))
    boards = put_agent(monkeypatch, SimulatedHarness(TRUTH))
    schemes = [model.isa.schemes.get(text=text).pk for text in FURTHER]
    run = lifecycle.submit("complete", {"core_model": model.pk, "schemes": schemes}, "interrupted")
    attempt(run, impatient(calls))
    Run.objects.filter(pk=run.pk).update(state=Run.State.QUEUED, wanted="")
    attempt(run)
    assert run.state == "done", run.error
    posted = [item.id for board in boards.opened for batch in board.posted for item in batch.items]
    model.refresh_from_db()
    assert load_mapping(model.mapping).usage[ROL] == TRUTH.usage[ROL]
    assert ExperimentSet.objects.filter(run=run).count() == 1
    repeated = len(posted) - len({*posted})
    assert repeated < len(posted) / 2


def test_a_core_model_without_ports_gets_latencies_alone(model):
    model.mapping = None
    model.save()
    run = completed(model, ROL)
    assert run.state == "done", run.error
    assert "profile the CPU" in run.result["unmeasured"][ROL]["ports"]
    assert model.mapping is None
    assert model.latencies.schemes.count() == 5


def test_a_core_model_that_was_not_measured_here_is_refused(model):
    model.mapping = model.latencies = None
    model.document = {"mapping": None}
    model.save()
    with pytest.raises(ConfigError, match="imported as a document"):
        completed(model, ROL)


def test_the_answer_fills_in(model):
    block = block_of_text("rol rax, 3")
    before = analysis_of(block, model, Assumptions(in_loop=True))
    completed(model, ROL)
    after = analysis_of(block, StoredCoreModel.objects.get(pk=model.pk), Assumptions(in_loop=True))
    assert before.instructions[0].unknown
    assert not after.instructions[0].unknown
    assert after.usual >= 1.0


def test_a_card_offers_to_measure_what_this_computer_lacks(
    model: StoredCoreModel, machine: Machine, visitor: Client
):
    card = card_of(InstructionRequest(mnemonic="rol"))
    assert query.card_context(card) is None  # it is not the computer that the site runs on
    Machine.objects.filter(pk=machine.pk).update(local=True)
    context = query.card_context(card)
    assert context is not None
    assert context["measurable"] == [ROL]
    assert query.card_context(card_of(InstructionRequest(mnemonic="shl"))) is None
    address = "/i/x86-64/rol/"
    assert "Measure 1 form here" in visitor.get(address).text
    assert visitor.post(address, {"press": "measure-here"}).url == address
    run = Run.objects.get(kind="complete")
    assert run.config["schemes"] == [model.isa.schemes.get(text=ROL).pk]
    page = visitor.get(address).text
    assert 'id="measuring-here"' in page
    assert "data-poll" in page
    work_off(run)
    assert query.card_context(card) is None
