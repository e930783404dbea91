"""The pages about predictors: what is listed, tried, added and removed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from inference.core.mapping import PortMapping as Mapping
from inference.features.asking.predictors.kinds import all_kinds
from inference.features.asking.predictors.query import predictor_listings, row_for
from inference.isa.targets import X86
from inference.models import PortMapping, Predictor, Run
from inference.predictors import permission
from inference.runs.lifecycle import submit
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from tests.predictors.fakes import script
from tests.runs.agents import attempt

ADD = "add GPR[64]:RW, GPR[64]:R"
MAPPED = "mapping:mapping=two ports"


@pytest.fixture
def mapping(transactional_db: None) -> PortMapping:
    value = Mapping(ports=("0", "1"), usage={ADD: ((3, 1),)})
    isa = new_isa(X86, [ADD], "by hand")
    return store_mapping("two ports", isa, value, origin=PortMapping.Origin.IMPORT)


@pytest.fixture
def admin(client: Client, mapping: PortMapping, trusting_operator: None, monkeypatch, tmp_path) -> Client:
    """Somebody logged in as administrator, where the PATH has no tool."""
    from pmweb.accounts.people import ensure_administrator

    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    user: User = ensure_administrator()
    client.force_login(user)
    return client


def said(response) -> str:
    return response.content.decode()


def test_the_list_has_what_can_be_asked_and_what_the_rest_needs(admin, monkeypatch):
    monkeypatch.delenv("PMWEB_UICA", raising=False)
    text = said(admin.get(reverse("predictors")))
    assert "mapping two ports" in text
    assert "git clone https://github.com/andreas-abel/uiCA" in text
    assert reverse("predictor-add", args=["command"]) in text


def test_blocks_are_predicted_by_a_question_with_a_page_of_its_own(admin):
    box = admin.get(reverse("predictors")).context["form"]
    fields = {field.name: field.value() for field in box.harness_fields}
    asked = {"code": "add rax, rbx\nadd rcx, rdx\n\nxor rax, rax", "predictors": [MAPPED], **fields}
    answer = admin.post(reverse("blocks"), asked)
    run = Run.objects.get(kind="ask")
    attempt(run)
    assert run.state == "done", run.error
    assert answer.headers["Location"] == reverse("asked-blocks", args=[run.pk])
    assert ">1.00" in said(admin.get(answer.headers["Location"]))
    assert "the mapping does not describe xor" in said(admin.get(answer.headers["Location"], {"block": 2}))


def test_a_command_is_added_tried_and_removed(admin, tmp_path):
    path = script(tmp_path / "mine", 'echo "$1 7"')
    fields = {
        "command": f"{path} 'two words'",
        "form": "hex",
        "around": "nothing",
        "protocol": "once",
        "pattern": r"two words (\d+)",
        "scale": "0.5",
        "processes": "0",
        "seconds": "9",
        "memory": "512",
    }
    response = admin.post(
        reverse("predictor-add", args=["command"]), {**fields, "name": "halves"}, follow=True
    )
    assert "halves was added. Here is its answer" in said(response)
    run = Run.objects.get(kind="ask")
    attempt(run)
    assert run.state == "done", run.error
    assert ">3.50" in said(admin.get(reverse("asked-blocks", args=[run.pk])))
    row = Predictor.objects.get(name="halves")
    assert row.options["command"] == [path, "two words"]
    assert "around" not in row.options  # as usual
    taken = admin.post(reverse("predictor-add", args=["command"]), {**fields, "name": "halves"})
    assert taken.status_code == 400
    admin.post(reverse("predictor-remove", args=[row.pk]))
    assert not Predictor.objects.exists()


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("command", {"command": "/nowhere/tool", "pattern": "x"}, "Pattern must have one group"),
        ("command", {"command": "/nowhere/tool", "pattern": "(x)"}, "There is no program /nowhere/tool"),
        ("command", {"command": "'open", "pattern": "(x)"}, "Not understood: No closing quotation"),
        ("uica", {"arch": "HSW", "program": "uiCA.py"}, "Program must be an absolute path"),
        ("iaca", {"arch": "Z80"}, "Z80 is not one of the available choices"),
        ("mapping", {"mapping": "none"}, "There is no port mapping and no resource mapping"),
    ],
)
def test_an_option_that_is_wrong_is_told_on_the_form(admin, kind, fields, words):
    usual = {"form": "hex", "around": "nothing", "protocol": "once", "scale": "1", "init": "diff"}
    usual |= {"processes": "0", "seconds": "9", "memory": "512"}
    options = {option.name for option in all_kinds()[kind].options}
    asked = {name: value for name, value in usual.items() if name in options} | fields
    response = admin.post(reverse("predictor-add", args=[kind]), asked)
    assert response.status_code == 400
    assert words in said(response)
    assert not Predictor.objects.exists()


def test_a_kind_that_there_is_not_has_no_form(admin):
    assert admin.get(reverse("predictor-add", args=["oracle"])).status_code == 404


def test_the_about_page_says_which_tools_are_missing(admin):
    text = said(admin.get(reverse("about")))
    assert "download MAQAO" in text
    assert reverse("predictors") in text


def test_without_the_operators_leave_no_program_of_somebodys_own_is_offered_or_run(
    admin, tmp_path, monkeypatch
):
    path = script(tmp_path / "mine", f"touch {tmp_path}/ran; echo 7")
    options = {"command": [path], "form": "hex", "title": "sevens"}
    row = row_for("command", options, origin=Predictor.Origin.CONFIGURED, may_choose=True)
    monkeypatch.setattr(permission._operator, "allows_commands", False)
    page = said(admin.get(reverse("predictors")))
    assert "PMWEB_ALLOW_COMMANDS=1" in page
    assert reverse("predictor-add", args=["command"]) not in page
    assert admin.get(reverse("predictor-add", args=["command"])).status_code == 404
    assert admin.get(reverse("predictor-add", args=["nanobench"])).status_code == 404
    offered = {kind["kind"] for kind in admin.get("/api/v1/predictors/kinds").json()}
    assert offered.isdisjoint({"command", "nanobench"})
    assert "sevens" in page
    assert path in page
    (reason,) = [one.reason for one in predictor_listings() if one.row == row]
    assert "runs no programs of its users" in reason
    admin.post("/api/v1/questions", {"code": "90"}, content_type="application/json")
    run = submit("ask", {"predictors": [row.pk], "blocks": ["90"]}, "asked")
    attempt(run)
    assert "runs no programs of its users" in run.result["asked"][0]["error"]
    assert not (tmp_path / "ran").exists()
    monkeypatch.setattr(permission._operator, "allows_commands", True)
    assert "sevens" in {one.name for one in predictor_listings() if one.usable}


@pytest.mark.parametrize(("text", "allowed"), [("1", "True"), ("0", "False"), ("", "False")])
def test_what_the_environment_allows_reaches_the_kinds(text, allowed, settings, tmp_path):
    code = (
        "import django; django.setup()\n"
        "from inference.predictors.permission import are_commands_allowed; print(are_commands_allowed())"
    )
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "pmweb.settings",
        "PMWEB_ALLOW_COMMANDS": text,
        "PMWEB_HOME": str(tmp_path),
    }
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, env=environment, cwd=settings.BASE_DIR, capture_output=True, check=True)
    assert ended.stdout.decode().strip() == allowed
