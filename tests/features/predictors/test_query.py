"""From a stored configuration to a predictor, and the list of all that there are."""

from __future__ import annotations

import pytest

from inference.core.mapping import PortMapping as Mapping
from inference.features.asking.predictors.kinds import kinds
from inference.features.asking.predictors.opening import DatabaseAnswers, open_predictor
from inference.features.asking.predictors.query import predictor_listings, predictor_row, row_for
from inference.formats.mapping_json import write_mapping_json
from inference.isa.targets import X86
from inference.models import ISA, AnswerCache, Machine, PortMapping, Predictor
from inference.predictors.protocol import Answer, Failure, PredictorError
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import load_mapping, store_mapping
from tests.predictors.fakes import asked, script

pytestmark = pytest.mark.django_db

ADD = "add GPR[64]:RW, GPR[64]:R"
ADD_CODE, XOR_CODE = bytes.fromhex("4801d8"), bytes.fromhex("4831db")


@pytest.fixture
def isa() -> ISA:
    return new_isa(X86, [ADD], "by hand")


@pytest.fixture
def mapping(isa: ISA) -> PortMapping:
    value = Mapping(ports=("0", "1"), usage={ADD: ((3, 1),)})
    return store_mapping("two ports", isa, value, origin=PortMapping.Origin.IMPORT)


@pytest.fixture
def mine(tmp_path, monkeypatch, trusting_operator) -> dict[str, object]:
    """Options of a command that says 7, and appends a line to a file for every call."""
    monkeypatch.setenv("PMWEB_TOOL_CACHES", str(tmp_path))
    program = script(tmp_path / "mine", f"echo x >> {tmp_path}/calls; echo 7")
    return {"command": [program], "title": "sevens", "form": "hex"}


def test_equal_configurations_are_one_row(mine):
    first = row_for("command", mine, origin=Predictor.Origin.CONFIGURED, may_choose=True)
    assert row_for("command", {**mine, "processes": 1}, may_choose=True) == first  # which changes no answer
    other = row_for("command", {**mine, "scale": 2.0}, may_choose=True)
    assert other != first
    assert (first.name, other.name) == ("sevens", "sevens (2)")
    assert first.identity["kind"] == "command"


def test_options_may_be_texts_as_forms_and_shells_give_them(mine):
    row = row_for(
        "command", {"command": " ".join(mine["command"]), "scale": "0.5", "form": "hex"}, may_choose=True
    )
    with_answer = open_predictor(row, isa=X86)
    assert with_answer.predict([ADD_CODE]) == [Answer(cycles=3.5)]
    with_answer.close()


def test_answers_are_remembered_beyond_the_process(mine, tmp_path):
    row = row_for("command", mine, may_choose=True)
    for _ in range(2):
        predictor = open_predictor(row, isa=X86)
        assert [one.cycles for one in predictor.predict([ADD_CODE, XOR_CODE, ADD_CODE])] == [7.0] * 3
        predictor.close()
    assert (tmp_path / "calls").read_text() == "x\n" * 2
    assert AnswerCache.objects.count() == 2
    anew = open_predictor(row, isa=X86, use_cache=False)
    anew.predict([ADD_CODE])
    anew.close()
    assert (tmp_path / "calls").read_text() == "x\n" * 3


def test_a_tool_that_has_changed_does_not_answer_under_its_old_name(mine, tmp_path):
    row = row_for("command", mine, may_choose=True)
    script(tmp_path / "mine", "echo 88")
    with pytest.raises(PredictorError, match="is not what it was when it was stored: files was"):
        open_predictor(row, isa=X86)


def test_failures_are_remembered_as_what_they_are():
    row = Predictor.objects.create(name="x", kind="command", key="k")
    store = DatabaseAnswers(row, X86)
    answers = {
        bytes([number]): Answer(failure=failure, detail="d" * 600) for number, failure in enumerate(Failure)
    }
    store.remember({**answers, b"good": Answer(cycles=1.25)})
    assert store.known([b"good"]) == {b"good": Answer(cycles=1.25)}  # before they are written
    store.flush()
    assert AnswerCache.objects.count() == 5
    fresh = DatabaseAnswers(row, X86).known([*answers, b"good", b"other"])
    assert {block: answer.failure for block, answer in fresh.items()} == {
        **{block: answer.failure for block, answer in answers.items()},
        b"good": None,
    }
    store.remember(answers)
    store.flush()
    assert AnswerCache.objects.count() == 5


def test_the_oldest_answers_give_way():
    row = Predictor.objects.create(name="x", kind="command", key="k")
    store = DatabaseAnswers(row, X86, max_answers=10)
    for begin in range(0, 30, 6):
        store.remember({bytes([number]): Answer(cycles=1.0) for number in range(begin, begin + 6)})
        store.flush()
    kept = DatabaseAnswers(row, X86).known([bytes([number]) for number in range(30)])
    assert sorted(block[0] for block in kept) == list(range(20, 30))


def test_a_mapping_of_this_site_predicts(mapping):
    row = predictor_row("mapping:mapping=two ports")
    predictor = open_predictor(row, isa=X86)
    assert predictor.predict([ADD_CODE])[0].cycles == 0.5
    assert predictor.predict([XOR_CODE])[0].failure == Failure.UNSUPPORTED
    predictor.close()
    with pytest.raises(PredictorError, match="no port mapping and no resource mapping 'three ports'"):
        predictor_row("mapping:mapping=three ports")


def test_a_machine_answers_within_a_run_alone(isa):
    Machine.objects.create(name="lab", kind=Machine.Kind.AGENT, isa=isa, facts={"flags": []})
    predictor = open_predictor(predictor_row("machine:machine=lab,mode=loop"), isa=X86)
    with pytest.raises(PredictorError, match="measures only within a run"):
        predictor.predict([ADD_CODE])


def test_a_simulated_machine_measures_for_a_run(isa, mapping):
    document = write_mapping_json(load_mapping(mapping), name="toy", isa=X86)
    facts = {"mapping": document, "noise": 0.0, "seed": 1}
    Machine.objects.create(name="toy", kind=Machine.Kind.SIMULATED, isa=isa, facts=facts)
    predictor = open_predictor(
        predictor_row("machine:machine=toy"), isa=X86, task=object()
    )  # which a simulated one does not ask
    known, unknown = predictor.predict([ADD_CODE, XOR_CODE])
    predictor.close()
    assert known.cycles == pytest.approx(0.5)
    assert unknown.failure == Failure.UNSUPPORTED


def test_what_an_imported_file_names_cannot_be_asked():
    row = Predictor.objects.create(name="llvm-mca.9", kind="imported", key="k")
    with pytest.raises(PredictorError, match="comes from an imported file"):
        open_predictor(row, isa=X86)


def test_the_list_has_what_is_usable_and_why_the_rest_is_not(mapping, mine, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    configured = row_for("command", mine, origin=Predictor.Origin.CONFIGURED, may_choose=True)
    broken = row_for(
        "command",
        {**mine, "scale": 3.0},
        name="broken",
        origin=Predictor.Origin.CONFIGURED,
        may_choose=True,
    )
    broken.options["command"] = ["/nowhere/tool"]
    broken.save()
    found = predictor_listings()
    assert {one.kind.name for one in found} == kinds().keys()
    by_name = {one.name: one for one in found if one.name}
    assert by_name["mapping two ports"].usable
    assert by_name["sevens"].row == configured
    assert "there is no program /nowhere/tool" in by_name["broken"].reason
    without = {one.kind.name: one.reason for one in found if not one.name}
    assert "git clone https://github.com/andreas-abel/uiCA" in without["uica"]
    assert all(without.values())


def test_names_are_found_without_their_signs_and_missed_with_a_hint(mapping):
    assert predictor_row("Mapping two  ports") == predictor_row("mapping two ports")
    with pytest.raises(PredictorError, match="is it 'mapping two ports'"):
        predictor_row("mapping too ports")
    with pytest.raises(PredictorError, match="written name=value"):
        predictor_row("llvm-mca:13")


def test_a_command_that_is_asked_line_by_line_can_be_stored(tmp_path, trusting_operator):
    options = {"command": [asked(tmp_path / "asked")], "protocol": "lines", "form": "hex", "scale": 0.01}
    predictor = open_predictor(row_for("command", options, may_choose=True), isa=X86)
    assert predictor.predict([ADD_CODE])[0].cycles == 1.5
    predictor.close()
