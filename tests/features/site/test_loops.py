"""Explained loops as published pages: of predictions and of measurements, without names of computers."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from inference.core.simulation.steady_state import compile_simulation
from inference.features.asking.questions.query import PredictorReport, event_of
from inference.features.publishing.site.loops import loops_page
from inference.formats.problems import ExchangeError
from inference.isa.blocks import block_of_text
from inference.models import Machine, Predictor, Run, RunEvent
from inference.predictors.protocol import Answer
from inference.runs import lifecycle
from inference.web.published_page import PublishedTable
from tests.features.site.test_pages import site
from tests.rows.lab import machine

__all__ = ["machine"]

pytestmark = pytest.mark.usefixtures("compiled")

HASH = block_of_text("xor eax, ecx\nimul eax, eax, 16777619\nadd rdi, 1").code
UNKNOWN = block_of_text("cpuid").code


@pytest.fixture(scope="module")
def compiled() -> None:
    """Pages have no timelines while the simulation is being compiled."""
    compile_simulation()


def done(kind: str, config: dict[str, Any], result: Any = None) -> Run:
    run = lifecycle.submit(kind, config, "a run of buildhost17")
    Run.objects.filter(pk=run.pk).update(state=Run.State.DONE, result=result or {})
    run.refresh_from_db()
    return run


def asked(*blocks: bytes) -> Run:
    row = Predictor.objects.create(name="a tool", kind="planted", key="a" * 64)
    run = done("ask", {"predictors": [row.pk], "blocks": [block.hex() for block in blocks]})
    report = PredictorReport(row.pk, "a tool", {block: Answer(cycles=4.25) for block in blocks})
    event = event_of(report, "x86-64")
    RunEvent.objects.create(run=run, seq=run.events.count() + 1, kind=event.kind, payload=event.payload())
    return run


def table(run: Run, key: str) -> PublishedTable:
    (section,) = (section for section in loops_page(run.pk).sections if section.key == key)
    assert isinstance(section, PublishedTable)
    return section


def test_a_predicted_loop_is_explained_beside_the_answers(db: None) -> None:
    run = asked(HASH)
    files = site(("loop", run.pk))
    assert {"data/bounds.csv", "data/instructions.csv", "data/answers.csv"} <= files.keys()
    for name in ("dependencies", "timeline"):
        assert ElementTree.fromstring(files[f"pictures/{name}.svg"]).tag.endswith("svg")
    page = files["index.html"].decode()
    assert 'class="edge' in page
    assert " style=" not in page
    assert table(run, "answers").rows == (("a tool", 1, 4.25, ""),)
    assert table(run, "bounds").rows[0][0] == "dependencies"
    assert table(run, "bounds").note.startswith("4.0 cycles: ")


def test_each_of_several_blocks_has_its_sections(db: None) -> None:
    page = loops_page(asked(HASH, UNKNOWN).pk)
    titles = [section.title for section in page.sections]
    assert titles.count("Block 1: bounds") == titles.count("Block 2: bounds") == 1
    assert "Block 2: timeline" not in titles  # no µops are known
    assert len({section.key for section in page.sections}) == len(page.sections)


def test_a_measured_loop_has_its_cycles_and_no_name_of_the_machine(machine: Machine) -> None:
    machine.name = "buildhost17"
    machine.save()
    config = {"machine": machine.pk, "blocks": [HASH.hex()], "options": {"mode": "loop"}}
    run = done("block", config, {"blocks": [{"hex": HASH.hex(), "state": "settled", "cycles": 4.02}]})
    files = site(("loop", run.pk))
    assert b"4.02" in files["data/answers.csv"]
    assert not any(b"buildhost17" in content for content in files.values())


def test_runs_that_are_not_done_are_not_published(db: None) -> None:
    run = asked(HASH)
    Run.objects.filter(pk=run.pk).update(state=Run.State.CANCELLED)
    with pytest.raises(ExchangeError, match="there is no loop"):
        site(("loop", run.pk))
