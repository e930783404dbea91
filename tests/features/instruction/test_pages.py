"""The instruction card: forms in order, CPUs side by side, what is certain, who says otherwise."""

from __future__ import annotations

import json
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.features.library.instruction import cpus
from inference.features.library.instruction.evidence import AloneTime, Certainty, differ
from inference.features.library.instruction.pages import CardLine
from inference.features.library.instruction.query import InstructionCard, card_of
from inference.features.library.instruction.request import InstructionRequest
from inference.isa.scheme import Operand, Scheme
from inference.models import (
    ISA,
    ExperimentSet,
    LatencySet,
    Machine,
    PortMapping,
    SchemeLatencies,
    StoredCoreModel,
)
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.rows import store_measurements
from inference.web.validation import RequestError
from tests.rows.lab import machine

__all__ = ["machine"]

NARROW, WIDE, LOADING = (
    "imul GPR[32]:RW, GPR[32]:R",
    "imul GPR[64]:RW, GPR[64]:R",
    "imul GPR[64]:RW, MEM[64]:R",
)
CONSTANT, SILENT = "imul GPR[64]:W, GPR[64]:R, IMM[8]:R", "imul GPR[16]:RW, GPR[16]:R"
PORTS = ("0", "1", "5", "2")


def form(text: str, memory: str = "") -> Scheme:
    """A scheme with operands as their texts say."""
    mnemonic, _, rest = text.partition(" ")
    operands = []
    for part in rest.split(", "):
        name, _, access = part.partition(":")
        kind = {"G": "register", "M": "memory", "I": "immediate"}[name[0]]
        operands.append(Operand(kind, name, access, int(name[name.index("[") + 1 : -1]), ()))
    width = max(each.width for each in operands)
    return Scheme(text, mnemonic, tuple(operands), "X64", "multiply", "legacy", memory, width, "", False)


@pytest.fixture(autouse=True)
def no_gallery(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Recorded cores are on every card: `undo` brings them back."""
    monkeypatch.setattr(cpus, "recorded_cores", tuple)
    return monkeypatch


@pytest.fixture
def isa(db: None) -> ISA:
    """The forms of `imul` in an order that is none, and a vector instruction in both encodings."""
    schemes = [form(CONSTANT), form(LOADING, "R"), form(WIDE), form(SILENT), form(NARROW)]
    vectors = [form("paddd GPR[128]:RW, GPR[128]:R"), form("vpaddd GPR[128]:W, GPR[128]:R")]
    return store_isa("x86-64", [*schemes, *vectors], "a test")


@pytest.fixture
def measured(machine: Machine) -> ExperimentSet:
    """Forms alone on the machine; one takes longer than any mapping here says."""
    row = ExperimentSet.objects.create(name="alone", isa=machine.isa, machine=machine, origin="run")
    times = [(WIDE, 1.0), (WIDE, 1.02), (WIDE, 1.01), (LOADING, 2.5)]
    store_measurements(row, [Measured(Experiment.of({text: 1}), cycles) for text, cycles in times])
    return row


@pytest.fixture
def inferred(machine: Machine) -> PortMapping:
    """On the machine: all forms but one."""
    usage = {NARROW: ((2, 1),), WIDE: ((2, 1),), LOADING: ((2, 1), (8, 1)), CONSTANT: ((2, 1),)}
    value = Mapping(PORTS, usage, issue_width=4.0, slots={LOADING: 2})
    return store_mapping("own", machine.isa, value, origin=PortMapping.Origin.RUN, machine=machine)


@pytest.fixture
def documented(isa: ISA) -> PortMapping:
    """What a file says: another width of one form."""
    value = Mapping(PORTS, {WIDE: ((3, 1),)})
    return store_mapping("a file", isa, value, origin=PortMapping.Origin.IMPORT, source="a.xml")


@pytest.fixture
def latencies(machine: Machine) -> LatencySet:
    """3 to 4 cycles of one form."""
    row = LatencySet.objects.create(name="chains", isa=machine.isa, machine=machine)
    pair = {"source": "reg2", "destination": "reg1", "least": 3.0, "most": 4.0, "at_most": None, "why": ""}
    SchemeLatencies.objects.create(
        latency_set=row,
        scheme=machine.isa.schemes.get(text=WIDE),
        pairs=[{**pair, "breaks": False, "throughput_limited": False}],
        chains=[[]],
        isolated=1,
        least=3.0,
        most=4.0,
    )
    return row


def card(cpus: str = "", mnemonic: str = "imul") -> InstructionCard:
    return card_of(InstructionRequest(mnemonic=mnemonic, cpus=cpus))


def test_forms_stand_registers_first_then_memory_then_immediates(
    inferred: PortMapping, documented: PortMapping
):
    found = card()
    assert [each.scheme.text for each in found.forms] == [NARROW, WIDE, LOADING, CONSTANT]
    assert [each.text for each in found.silent] == [SILENT]
    assert [cpu.name for cpu in found.cpus] == ["lab", "a file"]


def test_a_cell_has_ports_slots_cycles_and_latency(
    measured: ExperimentSet, inferred: PortMapping, latencies: LatencySet
):
    by_text = {each.scheme.text: each.cells[0] for each in card().forms}
    wide = by_text[WIDE]
    assert (wide.uops, wide.slots, wide.predicted) == (((2, 1),), 1, 1.0)
    assert wide.alone is not None
    assert wide.alone.cycles == 1.01
    assert wide.latency is not None
    assert (wide.latency.least, wide.latency.most) == (3.0, 4.0)
    assert wide.certainty is Certainty.UNSETTLED
    assert wide.why.startswith(
        "best of 1, 0 experiments unexplained, none held out; no experiment was held out"
    )
    assert by_text[LOADING].slots == 2
    assert by_text[LOADING].certainty is Certainty.CONTRADICTED
    assert by_text[LOADING].off == 1.5
    assert by_text[NARROW].certainty is Certainty.UNCHECKED


def test_a_mapping_of_the_same_machine_that_says_otherwise_is_named(
    machine: Machine, inferred: PortMapping, measured: ExperimentSet
):
    usage = {WIDE: ((3, 1),), NARROW: ((1, 1),)}
    other = store_mapping(
        "older", machine.isa, Mapping(PORTS, usage), origin=PortMapping.Origin.RUN, machine=machine
    )
    by_text = {each.scheme.text: each.cells[0] for each in card().forms}
    assert [each.mapping for each in by_text[WIDE].other_usages] == [other]
    assert by_text[NARROW].other_usages == ()  # another port, which may be the same one by another name


def test_of_mappings_that_say_as_much_that_of_the_core_model_is_shown(
    machine: Machine, inferred: PortMapping
):
    store_mapping(
        "stopped early", machine.isa, load_mapping(inferred), origin=PortMapping.Origin.RUN, machine=machine
    )
    StoredCoreModel.objects.create(name="core", isa=machine.isa, machine=machine, mapping=inferred)
    assert card().cpus[0].mapping == inferred


def test_only_what_no_renaming_makes_equal_differs():
    assert not differ(((1, 2), (6, 1)), ((4, 2), (3, 1)))
    assert differ(((1, 2),), ((1, 1),))
    assert differ(((1, 1),), ((3, 1),))


def test_cpus_are_chosen_by_their_keys(inferred: PortMapping, documented: PortMapping):
    found = card(f"p{documented.pk}")
    assert [cpu.name for cpu in found.cpus] == ["a file"]
    assert [cpu.name for cpu in found.further] == ["lab"]
    with pytest.raises(RequestError, match="there are no facts"):
        card("m999")


def test_a_card_takes_a_bounded_number_of_queries(
    measured: ExperimentSet, inferred: PortMapping, documented: PortMapping, latencies: LatencySet
):
    with CaptureQueriesContext(connection) as queries:
        card()
    assert len(queries) <= 24


def test_the_page_leads_to_all_evidence(
    visitor: Client, measured: ExperimentSet, inferred: PortMapping, latencies: LatencySet
):
    page = visitor.get("/i/x86-64/imul/").text
    wide = inferred.isa.schemes.get(text=WIDE)
    alone = measured.measurements.filter(length=1).first()
    assert alone is not None
    for address in (
        reverse("experiment", args=[alone.experiment_id]),
        reverse("latency-scheme", args=[latencies.pk, wide.pk]),
        f"{reverse('mapping', args=[inferred.pk])}?tab=graph&amp;pin=i{wide.pk}",
        reverse("scheme", args=[wide.pk]),
    ):
        assert address in page


def test_a_range_that_looks_like_one_number_is_one(
    visitor: Client, inferred: PortMapping, latencies: LatencySet
):
    row = latencies.schemes.get()
    row.most = row.pairs[0]["most"] = 3.003
    row.save()
    out = StringIO()
    call_command("instruction", "imul", on=["lab"], stdout=out)
    addresses = ("/i/x86-64/imul/", reverse("latency-scheme", args=[latencies.pk, row.scheme_id]))
    for told in (*(visitor.get(address).text for address in addresses), out.getvalue()):
        assert "3.00" in told
        assert "3.00–3.00" not in told


def test_the_search_box_leads_a_mnemonic_to_its_card(visitor: Client, inferred: PortMapping):
    for word in ("imul", "IMUL"):
        answer = visitor.get(reverse("search"), {"q": word})
        assert answer["Location"] == "/i/x86-64/imul/"
    assert visitor.get(reverse("search"), {"q": "imul", "all": "1"}).status_code == 200


def test_an_address_without_the_last_slash_and_other_letters_lead_there(visitor: Client, isa: ISA):
    assert visitor.get("/i/x86-64/imul", follow=True).redirect_chain[-1][0] == "/i/x86-64/imul/"
    assert visitor.get("/i/x86-64/IMUL/")["Location"] == "/i/x86-64/imul/"


def test_relatives_are_linked_and_an_empty_card_says_what_to_do(visitor: Client, isa: ISA):
    page = visitor.get("/i/x86-64/paddd/")
    assert page.status_code == 200
    assert "/i/x86-64/vpaddd/" in page.text


def test_what_is_not_there_is_said(visitor: Client, isa: ISA):
    assert visitor.get("/i/x86-64/frobnicate/").status_code == 404
    assert visitor.get("/i/z80/imul/").status_code == 400
    assert visitor.get("/i/x86-64/imul/", {"cpus": "x"}).status_code == 400


def test_the_shell_prints_the_same(measured: ExperimentSet, inferred: PortMapping, latencies: LatencySet):
    out = StringIO()
    call_command("instruction", "imul", json=True, stdout=out)
    told = json.loads(out.getvalue())
    wide = next(each for each in told["forms"] if each["scheme"] == WIDE)["cells"][0]
    assert wide["measured"] == 1.01
    assert wide["uops"] == [{"count": 1, "ports": ["1"]}]
    out = StringIO()
    call_command("instruction", "imul", on=["lab"], stdout=out)
    assert "latency 3.00–4.00" in out.getvalue()
    with pytest.raises(CommandError, match="right would be lab"):
        call_command("instruction", "imul", on=["nowhere"])


def test_recorded_cores_are_on_the_card_after_the_computer(
    no_gallery: pytest.MonkeyPatch, machine: Machine, inferred: PortMapping
):
    no_gallery.undo()
    found = card()
    assert [cpu.key for cpu in found.cpus if cpu.machine] == [f"m{machine.pk}"]
    assert not found.cpus[0].is_recorded
    recorded = next(cpu for cpu in found.cpus if cpu.key == "r-zen-5")
    wide = next(row for row in found.forms if row.scheme.text == WIDE)
    cell = wide.cells[found.cpus.index(recorded)]
    assert cell.certainty is Certainty.RECORDED
    assert "mean error" in cell.why
    assert cell.uops
    assert cell.latency is not None
    assert cell.latency.most == pytest.approx(3.0, abs=0.1)
    assert len(recorded.port_labels) == len(recorded.ports)
    assert [cpu.key for cpu in card("r-zen-5").cpus] == ["r-zen-5"]


def test_an_imported_core_model_is_a_cpu(no_gallery: pytest.MonkeyPatch, isa: ISA, visitor: Client):
    document = {
        "format": "pmweb-core-model",
        "version": 1,
        "isa": "x86-64",
        "mapping": {"ports": ["0", "MUL"], "usage": {WIDE: [{"ports": ["MUL"], "count": 1}]}},
        "latencies": {
            WIDE: [
                {"source": "2", "destination": "1", "cycles": 3.0},
                {"source": "2", "destination": "flags", "cycles": 5.0, "basis": "a bound"},
            ]
        },
        "idioms": {"free": [WIDE]},
        "front_end": {"fused": ["imul reg, reg + je"]},
    }
    row = StoredCoreModel.objects.create(name="theirs", isa=isa, document=document)
    (cpu,) = card().cpus
    assert cpu.key == f"c{row.pk}"
    (form_on_cpu,) = card().forms
    (cell,) = form_on_cpu.cells
    assert cell.latency is not None
    assert (cell.latency.most, cell.latency.at_most) == (3.0, 5.0)
    assert list(cell.conditions) == [
        "dependency-breaking: with equal registers it waits for nothing",
        "fused with je behind it",
    ]
    page = visitor.get("/i/x86-64/imul/").text
    assert ">MUL<" in page
    assert "https://uops.info/html-instr/IMUL_R64_R64.html" in page
    answer = visitor.get(f"/api/v1/isas/{isa.pk}/instructions/imul").json()
    assert answer["forms"][0]["cells"][0]["latencies"][0]["least"] == 3.0


def test_latencies_that_depend_on_values_name_these(
    machine: Machine, latencies: LatencySet, inferred: PortMapping
):
    row = SchemeLatencies.objects.get()
    value = {"least": 3.0, "most": 3.0, "at_most": None, "why": ""}
    quick = {**value, "values": "quick", "told": "0 / 1"}
    slow = {**value, "values": "slow", "told": "9 / 7", "most": 4.0}
    row.pairs = [{**row.pairs[0], "values": [quick, slow]}]
    row.save()
    by_text = {each.scheme.text: each.cells[0] for each in card().forms}
    assert list(by_text[WIDE].conditions) == [
        "quick values (0 / 1): latency 3.00",
        "slow values (9 / 7): latency 4.00",
    ]


def test_forms_of_unusual_widths_are_last(no_gallery: pytest.MonkeyPatch, isa: ISA):
    value = Mapping(PORTS, dict.fromkeys((SILENT, WIDE, LOADING), ((2, 1),)))
    store_mapping("a file", isa, value, origin=PortMapping.Origin.IMPORT, source="a.xml")
    assert [each.scheme.text for each in card().forms] == [WIDE, LOADING, SILENT]


def test_conflicts_name_ports_as_the_page_does() -> None:
    cpu: Any = SimpleNamespace(ports=["8", "10", "17"], port_labels=("ALU0", "ALU2", "LD0"))
    cell: Any = SimpleNamespace(
        conflicts=["Profile this CPU: 1×[10] + 1×[17,18]; PMEvo: 4 µops; not settled"]
    )
    assert CardLine(cpu, cell, None, None).conflicts == [
        "Not settled: Profile this CPU: 1×[ALU2] + 1×[LD0,18]; PMEvo: 4 µops"
    ]


def test_the_spread_of_a_time_is_the_larger_of_passes_and_measurements() -> None:
    assert AloneTime(1.0, 7, 0.04).half_spread == 0.02
    assert AloneTime(1.0, None).half_spread is None
