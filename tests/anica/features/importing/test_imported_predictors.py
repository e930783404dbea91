"""A file may name any program: what it says of a predictor is shown, and never run."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from anica_app.features.discoveries.report_parts import measures
from anica_app.features.discoveries.tool_commands import commands_for
from anica_app.formats.campaign_zip import read_archive
from anica_app.models import Campaign
from anica_app.storage.campaigns import store_campaign, write_campaign
from inference.features.asking.predictors.kinds import kinds
from inference.features.asking.predictors.offers import offers
from inference.features.asking.predictors.opening import open_predictor
from inference.features.asking.predictors.query import predictor_listings, predictor_row, row_for
from inference.features.asking.questions.query import with_aliasing_variants
from inference.formats.file_trees import ZipTree
from inference.isa.targets import X86
from inference.models import Predictor, identity_key
from inference.predictors.protocol import PredictorError
from inference.runs import lifecycle
from pmweb.models import AuditEntry
from tests.predictors.fakes import script
from tests.work import work_off

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("trusting_operator")]

ADD = bytes.fromhex("4801d8")


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A program that leaves a trace wherever it is run."""
    return script(tmp_path / "evil", f"touch {tmp_path}/ran; echo 1")


@pytest.fixture
def options(program: str) -> dict[str, Any]:
    return {"command": [program], "title": "harmless", "form": "hex"}


@pytest.fixture
def identity(options: dict[str, Any], trusting_operator: None) -> dict[str, Any]:
    """What anybody can compute who knows the program."""
    predictor = kinds()["command"].predictor(options)
    predictor.close()
    return dict(predictor.identity)


def stored(options: Any, identity: dict[str, Any], kind: str = "command") -> Predictor:
    """As earlier versions have stored what a file said."""
    return Predictor.objects.create(
        name="harmless",
        kind=kind,
        options=options,
        identity=identity,
        key=identity_key(identity),
        origin=Predictor.Origin.IMPORTED,
    )


def imported(options: Any, identity: dict[str, Any], kind: str = "command") -> Campaign:
    """From an archive in which somebody has written this."""
    document = {"name": "tool", "note": "", "kind": "toy", "options": {}, "identity": {}, "origin": "found"}
    own = Predictor.objects.create(name="tool", kind="toy", key="toy")
    row = Campaign.objects.create(name="given", origin="run")
    row.seats.create(position=0, predictor=own)
    out, changed = io.BytesIO(), io.BytesIO()
    write_campaign(row, out)
    row.delete()
    own.delete()
    with zipfile.ZipFile(out) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            data = json.loads(old.read(name))
            if name == "campaign.json":
                data["predictors"] = [
                    {**document, "name": "harmless", "kind": kind, "options": options, "identity": identity}
                ]
            new.writestr(name, json.dumps(data))
    return store_campaign(read_archive(ZipTree(changed, "given.zip")))


def test_what_a_file_says_of_how_to_ask_is_not_stored(
    options: dict[str, Any], identity: dict[str, Any]
) -> None:
    row = imported(options, identity).seats.get().predictor
    assert (row.kind, row.options, row.origin) == ("imported", {}, "imported")
    assert (row.name, row.identity, row.key) == ("harmless", identity, identity_key(identity))


def test_a_campaign_with_such_a_predictor_goes_round(
    options: dict[str, Any], identity: dict[str, Any]
) -> None:
    first = imported(options, identity)
    out, again = io.BytesIO(), io.BytesIO()
    write_campaign(first, out)
    first.delete()
    Predictor.objects.all().delete()
    write_campaign(store_campaign(read_archive(ZipTree(out, "given.zip"))), again)
    assert again.getvalue() == out.getvalue()


def test_nothing_of_it_is_run_whatever_is_asked(
    options: dict[str, Any], identity: dict[str, Any], tmp_path: Path
) -> None:
    row = stored(options, identity)
    with pytest.raises(PredictorError, match="comes from an imported file"):
        open_predictor(row, isa=X86)
    with pytest.raises(PredictorError, match="comes from an imported file"):
        predictor_row("harmless")
    assert "harmless" not in {one.name for one in predictor_listings()}
    assert "harmless" not in {one.label for one in offers().all}
    run = work_off(lifecycle.submit("ask", {"predictors": [row.pk], "blocks": ["4801d8"]}, "asked"))
    assert run.state == "done", run.error
    assert "comes from an imported file" in run.result["asked"][0]["error"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", ["osaca", "llvm-mca", "uica", "machine", "mapping"])
def test_no_kind_of_it_is_tried_when_predictors_are_listed(kind: str, program: str, tmp_path: Path) -> None:
    row = stored({"program": program, "machine": "x", "mapping": "y"}, {"kind": kind}, kind)
    assert row.name not in {one.name for one in predictor_listings()}
    assert row.name not in {one.label for one in offers().all}
    assert with_aliasing_variants([row]) == [row]
    assert not (tmp_path / "ran").exists()


def test_an_administrators_own_predictor_takes_the_place_of_what_a_file_named(
    options: dict[str, Any], identity: dict[str, Any]
) -> None:
    row = stored({"command": ["/bin/false"]}, identity)
    mine = row_for(
        "command", {**options, "title": "mine"}, origin=Predictor.Origin.CONFIGURED, may_choose=True
    )
    assert mine == row
    row.refresh_from_db()
    assert (row.kind, row.origin, row.name) == ("command", "configured", "mine")
    assert row.options == {**options, "title": "mine"}
    predictor = open_predictor(row, isa=X86)
    assert predictor.predict([ADD])[0].cycles == 1.0
    predictor.close()


def test_adding_what_a_file_had_named_is_told_and_noted_as_adding(
    client: Client, administrator: User, options: dict[str, Any], identity: dict[str, Any]
) -> None:
    row = stored({}, identity)
    client.force_login(administrator)
    AuditEntry.objects.all().delete()
    given = {"kind": "command", "options": options, "name": "sevens", "note": "mine"}
    answer = client.post("/api/v1/predictors/configurations", given, content_type="application/json")
    assert answer.status_code == 201, answer.content
    row.refresh_from_db()
    assert (row.name, row.note, row.origin) == ("sevens", "mine", "configured")
    assert AuditEntry.objects.filter(name="sevens").exists()


@pytest.mark.parametrize("origin", ["found", "configured", "imported"])
@pytest.mark.parametrize(
    "options", [{"command": 5}, {"command": [[5]]}, {"title": 5}, [], {"command": "a 'b"}]
)
def test_one_odd_row_keeps_no_page_from_showing_the_others(
    client: Client, administrator: User, options: Any, origin: str
) -> None:
    row = stored(options, {})
    Predictor.objects.filter(pk=row.pk).update(origin=origin)
    client.force_login(administrator)
    for name in ("predictors", "blocks", "campaign-new", "matrix-new"):
        assert client.get(reverse(name)).status_code == 200, name
    reasons = [one.reason for one in predictor_listings() if one.name == "harmless"]
    assert len(reasons) == (origin != "imported")
    assert all(reasons)


def test_options_that_make_no_sense_are_refused_with_the_one_that_is_wrong(
    client: Client, administrator: User
) -> None:
    client.force_login(administrator)
    odd = (5, None, [], [[1]], {}, True, "a 'b", "x" * 5000, 10**400)
    for kind in kinds().values():
        if kind.name == "nanobench":
            continue
        for name in kind.settings.__dataclass_fields__:
            for value in odd:
                with suppress(PredictorError):
                    kind.settings_of({name: value})
    for given in ({"command": 5}, {"command": "a 'b"}, {"command": ["/" + "x" * 5000]}):
        answer = client.post(
            "/api/v1/predictors/configurations",
            {"kind": "command", "options": given},
            content_type="application/json",
        )
        assert answer.status_code == 422, given


def test_what_a_file_says_of_a_tool_is_shown_as_a_command_where_the_tool_takes_it() -> None:
    told = {
        "kind": "llvm-mca",
        "version": "LLVM version 13.0.1",
        "cpu": "znver2",
        "flags": ["-noalias=false"],
    }
    row = stored({"cpu": "other"}, told, "llvm-mca")
    own = next(one for one in commands_for([row], ADD) if one.own)
    assert own.text.startswith("llvm-mca-13 -mtriple=x86_64 -mcpu=znver2 -iterations=100 -noalias=false <<")
    for odd in ({"flags": ["-o=/etc/passwd"]}, {"cpu": [5]}, {"flags": 7}, {"iterations": "many"}):
        row.identity = {**told, **odd}
        assert not [one for one in commands_for([row], ADD) if one.own], odd
    assert measures(Predictor(name="x", kind="imported", origin="imported", identity={"kind": "machine"}))
