"""Blocks of AArch64 are refused plainly at every door, never with a word about instructions of x86-64."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from inference.core.mapping import PortMapping as Value
from inference.features.asking.block_files.importer import reading_options
from inference.features.library.search.query import find, pasted_code
from inference.formats.block_sets import BlockSetOptions, summarise
from inference.formats.blocks_csv import BrokenRows
from inference.formats.problems import ExchangeError
from inference.isa.targets import AARCH64
from inference.models import Machine, PortMapping
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping

pytestmark = pytest.mark.django_db

CODE = "ldr x0, [x1]\nadd x0, x0, #1"
ADD = "add GPR[64]:W, GPR[64]:R, GPR[64]:R"
SAID = "blocks of AArch64 are not supported yet"
NO_WORD = re.compile(r"no instruction &#x27;|no instruction '|describes none of|is no register")


@pytest.fixture
def arm(db: None) -> PortMapping:
    """A mapping for AArch64."""
    isa = new_isa(AARCH64, [ADD], "by hand")
    return store_mapping("arm", isa, Value(("a",), {ADD: ((1, 1),)}), origin=PortMapping.Origin.IMPORT)


@pytest.fixture
def board(arm: PortMapping) -> Machine:
    """A machine for AArch64."""
    return Machine.objects.create(name="board", kind="agent", isa=arm.isa, facts={"blocks": True})


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    """Somebody who may do everything."""
    client.force_login(administrator)
    return client


def plain(text: str) -> bool:
    """Whether a text says so, and nothing of x86-64's instructions."""
    return SAID in text and NO_WORD.search(text) is None


def api(client: Client, path: str, body: dict[str, Any]) -> tuple[int, str]:
    answer = client.post(f"/api/v1{path}", body, content_type="application/json")
    return answer.status_code, answer.content.decode()


@pytest.mark.parametrize("code", [CODE, "add rax, rbx", "ret"])
def test_the_loop_tab_of_a_mapping(visitor: Client, arm: PortMapping, code: str) -> None:
    page = reverse("mapping", args=[arm.pk])
    assert "tab=loop" in visitor.get(page).text
    assert plain(visitor.get(page, {"tab": "loop"}).text)
    tried = visitor.get(page, {"tab": "loop", "code": code})
    assert (tried.status_code, plain(tried.text)) == (400, True)


@pytest.mark.parametrize("code", [CODE, "add rax, rbx", "4801d8"])
def test_the_load_of_ports_by_api_and_shell(
    visitor: Client, arm: PortMapping, tmp_path: Path, code: str
) -> None:
    status, said = api(visitor, f"/mappings/{arm.pk}/block-loads", {"code": code})
    assert (status, plain(said)) == (422, True)
    path = tmp_path / "code"
    path.write_text(code)
    with pytest.raises(CommandError, match=SAID):
        call_command("predict", str(path), "--ports", "arm")


@pytest.mark.parametrize(
    "name", ["mapping:mapping=arm", "mapping arm", "machine:machine=board", "machine board"]
)
def test_mappings_and_machines_as_predictors(
    visitor: Client, board: Machine, tmp_path: Path, name: str
) -> None:
    status, said = api(visitor, "/questions", {"code": "add rax, rbx", "predictors": [name]})
    assert (status, plain(said)) == (422, True), said
    status, said = api(visitor, "/explanations", {"code": "nop", "predictors": [name]})
    assert (status, plain(said)) == (422, True), said
    fields = {"code": "add rax, rbx", "predictors": [name], "press": "ask"}
    page = visitor.post(reverse("blocks"), fields)
    assert (page.status_code, plain(page.text)) == (400, True)
    path = tmp_path / "code"
    path.write_text("add rax, rbx")
    with pytest.raises(CommandError, match=SAID):
        call_command("predict", str(path), "--predictor", name)


@pytest.mark.parametrize("kind", ["mapping", "machine"])
def test_they_are_not_added_as_predictors(visitor: Client, board: Machine, kind: str) -> None:
    name = {"mapping": "arm", "machine": "board"}[kind]
    status, said = api(visitor, "/predictors/configurations", {"kind": kind, "options": {kind: name}})
    assert (status, plain(said)) == (422, True), said


def test_measuring_blocks_on_a_machine(visitor: Client, board: Machine, tmp_path: Path) -> None:
    path = tmp_path / "code"
    path.write_text(CODE)
    with pytest.raises(CommandError, match=SAID):
        call_command("measure-block", str(path), "--machine", "board")
    with pytest.raises(ConfigError, match=SAID):
        submit("block", {"machine": board.pk, "blocks": ["4801d8"]}, "a run")
    status, said = api(visitor, "/runs", {"kind": "block", "config": {"machine": board.pk, "blocks": ["90"]}})
    assert (status, plain(said)) == (422, True), said
    assert plain(visitor.get(reverse("blocks"), {"machine": board.pk}).text)


def test_code_pasted_where_that_of_x86_64_is_expected(visitor: Client, db: None, tmp_path: Path) -> None:
    page = visitor.get(reverse("blocks"), {"isa": "x86-64", "code": CODE})
    assert (page.status_code, plain(page.text)) == (400, True)
    for path in ("/blocks", "/questions"):
        status, said = api(visitor, path, {"code": CODE})
        assert (status, plain(said)) == (422, True), path
    status, said = api(visitor, "/explanations", {"code": CODE, "predictors": ["a", "b"]})
    assert (status, plain(said)) == (422, True)
    path = tmp_path / "code"
    path.write_text(CODE)
    with pytest.raises(CommandError, match=SAID):
        call_command("predict", str(path), "--predictor", "llvm-mca")


@pytest.mark.parametrize("text", [CODE, "ldr x0, [x1]", "ldr x0, [x1]; ret"])
def test_code_in_the_search_box(visitor: Client, db: None, text: str) -> None:
    assert plain(visitor.get(reverse("search"), {"q": text}, follow=True).text)
    found = pasted_code(text)
    assert found is not None
    assert not found.blocks
    assert SAID in found.complaint
    assert find(text, 5) == []


def test_rows_and_bounds_of_block_sets(arm: PortMapping) -> None:
    with pytest.raises(ExchangeError, match=SAID):
        reading_options({"bounds": "arm"})
    rows = b'bb,mca\n4801d8,1.0\n"ldr x0, [x1]; ret",1.0\n"nop\nadd w0, w1, w2",2.0\n'
    found = summarise(io.BytesIO(rows), "blocks.csv", BlockSetOptions(BrokenRows.SKIP))
    assert [(problem.row, SAID in str(problem)) for problem in found.problems.listed] == [
        (3, True),
        (4, True),
    ]
