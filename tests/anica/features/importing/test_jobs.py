"""Campaigns come in through a durable run and through the one command for all files, as blocks do."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from anica_app.features.importing.importer import CampaignImporter
from anica_app.models import Campaign
from inference.features.asking.block_files.query import imports_of
from inference.formats.problems import ExchangeError
from inference.models import BasicBlockSet, Run, Upload
from inference.runs import leases, lifecycle
from inference.runs.errors import JobError, LeaseLostError
from inference.runs.fork_server import StopRequests, execute
from inference.runs.kinds import Task, job
from inference.runs.reporter import JournalReporter
from tests.anica.formats.published import LABEL, documents, write_directory
from tests.doors import printed
from tests.features.block_files.test_import_job import BLOCKS, done, uploaded
from tests.heads import behind_head
from tests.work import read_uploads
from tests.zips import packed

pytestmark = pytest.mark.django_db


def zipped(top: Path) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in write_directory(top / "run").rglob("*"):
            archive.write(path, path.relative_to(top))
    return out.getvalue()


def test_a_zipped_campaign_comes_in(tmp_path: Path) -> None:
    run = done(uploaded(zipped(tmp_path), "run.zip"))
    assert run.state == "done", run.error
    campaign = Campaign.objects.get()
    assert (campaign.name, campaign.discoveries.count(), campaign.run) == ("run", 1, run)
    assert run.result["campaign"] == campaign.pk


@pytest.mark.parametrize("sort", ["blocks", "campaign"])
def test_a_file_that_two_runs_have_read_is_stored_once(sort: str, tmp_path: Path) -> None:
    upload = uploaded(b"4801d8,1.0\n") if sort == "blocks" else uploaded(zipped(tmp_path), "run.zip")
    config = job("import-anica").check({"upload": upload.pk})
    stores = []
    for name in ("first", "second"):  # as earlier versions let them begin
        run = Run.objects.create(kind="import-anica", config=config, name=name)
        lease = leases.claim(name, only=run.pk)
        assert lease is not None
        reporter = JournalReporter(lease, StopRequests(lease))
        stores.append(job("import-anica").work(Task(run, lease, reporter, None)))
    stores[0]()
    with pytest.raises(JobError, match="has been imported by another run meanwhile"):
        stores[1]()
    assert BasicBlockSet.objects.count() + Campaign.objects.count() == 1


def test_a_run_that_died_while_reading_is_taken_up_again_and_stores_once(tmp_path: Path) -> None:
    upload = uploaded(zipped(tmp_path), "run.zip")
    run = lifecycle.submit("import-anica", {"upload": upload.pk}, "import")
    lost = leases.claim("dies")
    assert lost is not None
    Run.objects.filter(pk=run.pk).update(lease_until="2000-01-01T00:00:00Z")  # kill -9: nobody renews it
    lease = leases.claim("goes on")
    assert lease is not None
    execute(lease, StopRequests(lease))
    with pytest.raises(LeaseLostError):
        execute(lost, StopRequests(lost))
    run.refresh_from_db()
    assert (run.state, Campaign.objects.count()) == ("done", 1)


def generalisations(top: Path, *names: str) -> Path:
    """Directories with one generalisation each, below one."""
    given = documents()
    for name in names:
        one = {
            "discovery.json": given[f"discoveries/{LABEL}.json"],
            "witness.json": given[f"witnesses/{LABEL}.json"],
            "infos.json": {"predictors": ["one", "two"]},
        }
        write_directory(top / name, one)
    return top


def packed_below(top: Path) -> bytes:
    return packed({str(one.relative_to(top)): one.read_bytes() for one in top.rglob("*") if one.is_file()})


def test_an_archive_of_several_generalisations_brings_them_all(tmp_path: Path) -> None:
    content = packed_below(generalisations(tmp_path, "fig4/a", "fig4/b", "tab4/a"))
    upload = uploaded(content, "all.zip")
    seen = CampaignImporter().read(io.BytesIO(content), "all.zip", {})
    assert seen["facts"][0] == ["Campaigns", "3: a, b, a"]
    assert seen["facts"][1] == ["Discoveries", "3"]
    run = done(upload, name="published", note="all of them")
    assert run.state == "done", run.error
    made = list(Campaign.objects.order_by("pk"))
    assert [one.name for one in made] == ["published, a", "published, b", "published, a (2)"]
    assert {(one.kind, one.note) for one in made} == {("generalisation", "all of them")}
    assert [one.discoveries.count() for one in made] == [1, 1, 1]
    assert run.result["campaigns"] == [one.pk for one in made]
    assert imports_of([run])[run.pk].name == "published, a and 2 more"


def test_one_generalisation_that_is_wrong_keeps_all_out_and_is_named(tmp_path: Path) -> None:
    top = generalisations(tmp_path, "fig4_a", "fig4_b", "fig4_c")
    (top / "fig4_b" / "discovery.json").write_text('{"ab": 5}')
    (top / "fig4_c" / "measurements.db").unlink()
    run = done(uploaded(packed_below(top), "all.zip"))
    assert run.state == "failed"
    first, *lines = run.error.splitlines()
    assert "2 of 3" in first
    assert [line.partition(":")[0] for line in lines] == ["fig4_b", "fig4_c"]
    assert "discovery.json" in lines[0]
    assert "measurements.db" in lines[1]
    assert not Campaign.objects.exists()
    with pytest.raises(CommandError, match=r"fig4_b: discovery\.json"):
        call_command("import", str(top))
    assert not Campaign.objects.exists()


@pytest.mark.parametrize("lacking", ["witness.json", "discovery.json"])
def test_half_a_generalisation_says_which_half_is_missing(tmp_path: Path, lacking: str) -> None:
    top = generalisations(tmp_path, "fig4_a", "fig4_b")
    (top / "fig4_b" / lacking).unlink()
    with pytest.raises(ExchangeError, match=f"fig4_b has .* and no {lacking}: a generalisation .* has both"):
        CampaignImporter().read(io.BytesIO(packed_below(top)), "all.zip", {})


def test_the_shell_imports_a_directory_of_generalisations(tmp_path: Path) -> None:
    out = printed("import", str(generalisations(tmp_path, "x", "y")))
    assert sorted(Campaign.objects.values_list("name", flat=True)) == ["x", "y"]
    assert "campaign 'x'" in out
    assert "campaign 'y'" in out


def test_a_broken_archive_fails_with_its_place_and_stays_for_another_try(tmp_path: Path) -> None:
    write_directory(tmp_path / "run")
    (tmp_path / "run" / "metrics.json").write_text("{")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path in (tmp_path / "run").rglob("*"):
            archive.write(path, path.relative_to(tmp_path))
    run = done(uploaded(out.getvalue(), "run.zip"))
    assert run.state == "failed"
    assert "metrics.json" in run.error
    assert (Campaign.objects.count(), Upload.objects.count()) == (0, 1)


def test_one_command_imports_them_like_all_other_files(tmp_path: Path) -> None:
    blocks = tmp_path / "blocks.csv"
    blocks.write_bytes(BLOCKS)
    with pytest.raises(CommandError, match="row 3, column bb"):
        call_command("import", str(blocks))
    out = io.StringIO()
    call_command(
        "import", str(blocks), "--broken", "skip", "--name", "mine", "--issue-width", "0.5", stdout=out
    )
    assert "basic-block set 'mine': 2 blocks" in out.getvalue()
    assert "left out: 1 row" in out.getvalue()
    assert "mca: 1 answer below" in out.getvalue()
    out = printed("import", str(write_directory(tmp_path / "run")))
    assert "campaign 'run': 1 discovery, 2 generalisations with 4 decisions" in out
    with pytest.raises(CommandError, match="another campaign is named 'run'"):
        call_command("import", str(tmp_path / "run"))


def test_what_one_command_writes_the_other_reads(tmp_path: Path) -> None:
    call_command("import", str(write_directory(tmp_path / "run")), stdout=io.StringIO())
    call_command("export", "campaign", "run", "--output", str(tmp_path / "out.zip"))
    Campaign.objects.all().delete()
    call_command("import", str(tmp_path / "out.zip"), stdout=io.StringIO())
    assert Campaign.objects.get().name == "run"
    (tmp_path / "b.csv").write_bytes(b"bb,mca\n4801d8,1.5\n")
    call_command("import", str(tmp_path / "b.csv"), stdout=io.StringIO())
    call_command("export", "block-set", "b", "--output", str(tmp_path / "c.csv"))
    assert behind_head((tmp_path / "c.csv").read_text()) == (tmp_path / "b.csv").read_text()
    with pytest.raises(CommandError, match="no campaign named 'other'"):
        call_command("export", "campaign", "other", "--output", str(tmp_path / "x"))


def test_a_preview_of_an_archive_tells_what_is_in_it(
    client: Client, administrator: Any, tmp_path: Path
) -> None:
    client.force_login(administrator)
    upload = uploaded(zipped(tmp_path), "run.zip")
    read_uploads()
    page = client.get(reverse("anica-import", args=[upload.pk])).content.decode()
    assert "AnICA campaign" in page
    assert "Discoveries" in page
    answer = client.post(reverse("anica-import", args=[upload.pk]), {"name": ""})
    assert answer.status_code == 400
