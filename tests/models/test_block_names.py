"""Blocks are named by instruction set and digits wherever they are kept: digits alone name none."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest
from django.apps import apps
from django.db.models import CASCADE, BinaryField, Model
from django.test import Client
from django.urls import reverse
from ninja import Schema
from pydantic import BaseModel

from anica_app.features.discoveries.query import stored_answers
from anica_app.features.explanations.panel import explanations_of
from anica_app.models import Campaign
from inference.features.asking.predictors.opening import DatabaseAnswers, open_predictor
from inference.features.asking.questions import form
from inference.features.asking.questions.job import AskJob
from inference.features.asking.questions.query import memory_run
from inference.formats.block_sets import BlockSetOptions
from inference.isa import targets
from inference.isa.blocks import BlockName, block_of_bytes, isa_of_fields, read
from inference.isa.targets import X86
from inference.models import BasicBlockSet, Predictor, Run
from inference.predictors.protocol import Answer, PredictorError
from inference.runs.errors import ConfigError
from inference.runs.kinds import RUN_KINDS
from inference.runs.request import RunRequest
from inference.storage.block_sets import export, store
from inference.storage.errors import RefusedError
from inference.storage.instruction_sets import store_isa
from inference.web.api.site import api
from tests.isa.toy.target import TARGET as TOY
from tests.syntax import trees_with

CODE = bytes.fromhex("0100")
OURS, THEIRS = BlockName(X86, CODE), BlockName(TOY.name, CODE)
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(targets.FOLDERS, TOY.name, lambda: TOY)


# The same digits of two instruction sets, in each place that keeps blocks.


def _answers() -> Callable[[BlockName], object]:
    row = Predictor.objects.create(name="tool", kind="command", key="k")
    for cycles, name in enumerate((OURS, THEIRS), start=1):
        answers = DatabaseAnswers(row, name.isa)
        answers.remember({name.code: Answer(cycles=float(cycles))})
        answers.flush()
    return lambda name: DatabaseAnswers(row, name.isa).known([name.code])[name.code].cycles


def _answers_of_others() -> Callable[[BlockName], object]:
    _answers()
    return lambda name: [answer.cycles for _, answer in stored_answers(name, [])]


def _memory_questions() -> Callable[[BlockName], object]:
    about = {"about": {"memory": OURS.hex}, "predictors": [], "blocks": []}
    Run.objects.create(kind="ask", name="of an earlier version", config=about)
    Run.objects.create(kind="ask", name="of the toy", config={"isa": THEIRS.isa, **about})
    return lambda name: getattr(memory_run(name), "name", None)


def _explanations() -> Callable[[BlockName], object]:
    for given in ({}, {"isa": THEIRS.isa}):
        config = {**given, "block": OURS.hex}
        run = Run.objects.create(kind="generalise", name=f"run {len(given)}", config=config)
        Campaign.objects.create(name=run.name, run=run, origin="run", config=config)
    return lambda name: [row.name for row in explanations_of(name)]


def _block_sets() -> Callable[[BlockName], object]:
    store_isa(TOY.name, TOY.schemes.schemes(), "")
    for name in (OURS, THEIRS):
        file = f"# instruction set: {name.isa}\nbb\n{name.hex}\n".encode()
        store(BytesIO(file), "blocks.csv", name.isa, BlockSetOptions())
        again = "".join(export(BasicBlockSet.objects.get(name=name.isa))).encode()
        store(BytesIO(again), "again.csv", f"{name.isa} again", BlockSetOptions())
    return lambda name: list(
        BasicBlockSet.objects.get(name=f"{name.isa} again").blocks.values_list("mnemonics", flat=True)
    )


def _questions() -> Callable[[BlockName], object]:
    row = Predictor.objects.create(name="tool", kind="command", key="k")
    asked = {"predictors": [row.pk], "blocks": [OURS.hex]}

    def texts(name: BlockName) -> object:
        config = AskJob().check({**asked, **({} if name is OURS else {"isa": name.isa})})
        (digits,) = config["blocks"]
        return block_of_bytes(bytes.fromhex(digits), isa_of_fields(config)).text

    return texts


STORES = (_answers, _answers_of_others, _memory_questions, _explanations, _block_sets, _questions)


@pytest.mark.parametrize("kept", STORES, ids=lambda kept: kept.__name__.strip("_"))
def test_the_same_digits_of_another_set_are_another_block(kept: Callable[[], Callable[..., object]]) -> None:
    look_up = kept()
    ours, theirs = look_up(OURS), look_up(THEIRS)
    assert ours
    assert theirs
    assert ours != theirs


def test_a_name_has_one_text_and_two_fields() -> None:
    assert str(THEIRS) == "toy:0100"
    assert OURS.as_json() == {"isa": X86, "hex": "0100"}
    assert len({OURS, THEIRS, BlockName(X86, CODE)}) == 2
    assert isa_of_fields({"hex": "0100"}) == X86  # as documents of earlier versions are
    assert block_of_bytes(CODE, TOY.name).name == THEIRS


def test_a_predictor_is_not_asked_about_blocks_that_it_does_not_know() -> None:
    row = Predictor.objects.create(name="tool", kind="command", key="k")
    with pytest.raises(PredictorError, match="tool answers for blocks of x86-64, not of toy"):
        open_predictor(row, isa=TOY.name)


def test_an_unknown_set_is_refused() -> None:
    row = Predictor.objects.create(name="tool", kind="command", key="k")
    with pytest.raises(ConfigError, match="number 1: blocks of vax are not supported yet"):
        AskJob().check({"predictors": [row.pk], "blocks": ["01"], "isa": "vax"})
    for isa, problem in (("vax", "vax is not loaded"), (TOY.name, "toy is not loaded")):
        with pytest.raises(RefusedError, match=problem):
            store(BytesIO(f"# instruction set: {isa}\nbb\n0100\n".encode()), "f", "f", BlockSetOptions())


def test_digits_in_an_address_without_a_set_are_of_x86_64(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(form, "read", read)  # a process of its own knows no toy
    old = admin_client.get(reverse("blocks"), {"code": "0100", "registers": "0x1000"})
    assert [one.block.name for one in old.context["shown"]] == [OURS]
    other = admin_client.get(reverse("blocks"), {"isa": TOY.name, "code": "0100"})
    assert [one.block.name for one in other.context["shown"]] == [THEIRS]


# What would forget the set: each such place is found, and says why it needs none.


NO_BLOCKS = {"Upload.beginning", "UploadPart.content", "Upload.parsed", "RunCheckpoint.data"}
"""Whatever a file says, and what a run keeps for itself."""


def _models() -> Iterator[type[Model]]:
    for app in ("inference", "anica_app"):
        yield from apps.get_app_config(app).get_models()


def _has_set(model: type[Model]) -> bool:
    """Whether it has an instruction set, or belongs to a row that has one."""
    fields = model._meta.concrete_fields
    if any(field.name == "isa" for field in fields):
        return True
    owners = [field for field in fields if field.many_to_one and field.remote_field.on_delete is CASCADE]
    return any(field.related_model not in (Run, model) and _has_set(field.related_model) for field in owners)


def test_each_row_with_machine_code_has_its_set() -> None:
    columns = {
        f"{model.__name__}.{field.name}": model
        for model in _models()
        for field in model._meta.concrete_fields
        if isinstance(field, BinaryField)
    }
    assert {name for name, model in columns.items() if not _has_set(model)} == NO_BLOCKS
    for name, model in columns.items():
        for constraint in model._meta.total_unique_constraints:
            assert name.split(".")[1] not in constraint.fields or "isa" in constraint.fields, constraint


def _below(parent: type) -> Iterator[type]:
    for child in parent.__subclasses__():
        yield child
        yield from _below(child)


def test_each_description_of_a_run_with_blocks_has_their_set() -> None:
    for kind in RUN_KINDS.values():
        kind.job()
    found = {model for model in _below(RunRequest) if {"block", "blocks"} & _texts(model)}
    assert {model.__name__ for model in found} >= {"BlockConfig", "AskConfig", "GeneraliseConfig"}
    assert [model.__name__ for model in found if "isa" not in model.model_fields] == []


def _texts(model: type[BaseModel]) -> set[str]:
    return {name for name, field in model.model_fields.items() if "str" in str(field.annotation)}


def test_each_object_of_the_api_with_a_block_names_its_set() -> None:
    api()  # which loads all operations
    shapes = {shape for shape in _below(Schema) if {"hex", "witness"} & _texts(shape)}
    assert len(shapes) > 8
    lacking = {shape.__name__ for shape in shapes if "isa" not in shape.model_fields}
    assert lacking == {"InstructionOut"}  # bytes of a block that is named


PARENTS = {
    # file: {key of a document: what has the set instead}
    "inference/features/asking/blocks/api.py": {"instructions": "the block around them"},
    "inference/features/learning/front_end/query.py": {"code": "the front end"},
    "inference/formats/scheduler_json.py": {"block": "the core model"},
    "inference/storage/core_models.py": {"code": "the front end"},
    "inference/web/code_reading.py": {"code": "the question to the process that reads"},
    "inference/core/latency/idioms.py": {"code": "the latencies"},
    "inference/core/latency/reading.py": {"code": "the latencies"},
    "inference/core/latency/memory.py": {"code": "the latencies"},
    "anica_app/features/discoveries/pages.py": {"hex": "the campaign, for its template"},
    "anica_app/features/discoveries/steps.py": {"hex": "the campaign, for its template"},
    "inference/features/asking/block_files/importer.py": {"code": "the program"},
    "inference/features/asking/block_files/job.py": {"code": "the program"},
    "anica_app/features/explanations/job.py": {"block": "the description"},
    "anica_app/features/families/pages.py": {"hex": "the campaign, for its template"},
    "anica_app/features/families/referee.py": {"block": "the campaign"},
    "anica_app/features/families/earlier_campaign.py": {"witness": "the campaign"},
    "anica_app/features/families/family_rows.py": {"block": "the campaign"},
    "anica_app/core/search/campaign_state.py": {"code": "the run", "start_code": "the run"},
    "anica_app/core/families/causes.py": {"code": "the campaign"},
}


def test_each_document_with_digits_has_their_set_or_belongs_to_one() -> None:
    found = sorted(set(_digits_alone()))
    assert found == sorted((file, key) for file, keys in PARENTS.items() for key in keys)


def _digits_alone() -> Iterator[tuple[str, str]]:
    """(file, key) of each JSON object that is written with digits and without a set."""
    for path, tree in trees_with([".hex"], "inference", "anica_app"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
                for key, value in zip(keys, node.values, strict=True):
                    if key is not None and "isa" not in keys and _has_digits(value):
                        yield path.relative_to(ROOT).as_posix(), str(key)


def _has_digits(node: ast.AST) -> bool:
    """Whether digits are part of it, those in objects of their own left out."""
    if isinstance(node, ast.Attribute) and node.attr == "hex":
        return True
    return not isinstance(node, ast.Dict) and any(map(_has_digits, ast.iter_child_nodes(node)))


def test_no_template_makes_an_address_of_digits_alone() -> None:
    for path in (ROOT / "templates").rglob("*.html"):
        assert "{% url 'blocks' %}?code=" not in path.read_text(), path
