"""Traces of old work go, and nothing that a result, a proof or an export rests on goes with them."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from anica_app.features.discoveries.query import DiscoveryParts
from anica_app.formats.campaign_zip import read_archive, read_part, tree_of_path
from anica_app.models import Campaign, GeneralisationStep, SampleBatch
from anica_app.storage.campaigns import store_campaign, write_campaign
from inference.core.events import Progress
from inference.features.asking.predictors.opening import DatabaseAnswers
from inference.features.learning.inferring.pmevo_page import CLOUD_FRAMES
from inference.features.running.runs.record import fold, thinned
from inference.formats.file_trees import ZipTree
from inference.isa.targets import X86
from inference.models import AnswerCache, Predictor, Run, RunCheckpoint, RunEvent, Upload
from inference.predictors.protocol import Answer
from inference.predictors.samples import unpack
from inference.runs.journal import events_since
from pmweb import retention
from pmweb.models import AuditEntry, Pruning
from pmweb.retention import TRACES, prune
from tests.anica.formats.published import write_directory

pytestmark = pytest.mark.django_db

LONG_AGO = timezone.now() - timedelta(days=400)


def run_with(*events: tuple[str, dict], state: str = "done", ended=LONG_AGO) -> Run:
    run = Run.objects.create(
        name=f"run {Run.objects.count()}", kind="infer", state=state, finished=ended, next_seq=len(events) + 1
    )
    if state == "running":
        run.lease_until = timezone.now()
    RunEvent.objects.bulk_create(
        RunEvent(run=run, seq=seq, kind=kind, payload=payload)
        for seq, (kind, payload) in enumerate(events, start=1)
    )
    RunCheckpoint.objects.create(run=run, data=b"x" * 1000)
    return run


def pruned(*, dry: bool = False, **keep: int) -> dict[str, tuple[int, int]]:
    """Rows and bytes by trace; only these traces are looked at."""
    kept = {trace.key: 0 for trace in TRACES} | keep
    row = prune(Pruning.objects.create(dry=dry, started=timezone.now()), kept)
    return {line["key"]: (line["rows"], line["size"]) for line in row.report}


def test_checkpoints_of_ended_runs_alone_go_when_they_are_old():
    old = run_with()
    others = [run_with(state="paused", ended=None), run_with(ended=timezone.now())]
    assert pruned(dry=True, checkpoints=7) == {"checkpoints": (1, 1000)}
    assert RunCheckpoint.objects.count() == 3
    assert pruned(checkpoints=7) == {"checkpoints": (1, 1000)}
    assert [row.run_id for row in RunCheckpoint.objects.order_by("run_id")] == [run.pk for run in others]
    assert Run.objects.filter(pk=old.pk).exists()
    assert pruned(checkpoints=7) == {"checkpoints": (0, 0)}


def evolution() -> list[tuple[str, dict]]:
    """More populations than pictures, told twice in the middle, as a run that goes on does."""
    generations = [*range(50), *range(40, 80)]
    told = [("state", {"state": "running"})]
    for generation in generations:
        points = {"errors": [0.5, 0.6, 0.7], "volumes": [3, 4, 5]}
        told.append(("cloud", {"generation": generation, "population": 3, **points}))
        told.append(Progress("evolution", generation, 80, 0.0, "", None).entry)
    return [*told, ("result", {"mapping": 1, "name": "m"}), ("state", {"state": "done"})]


def test_a_pruned_journal_keeps_its_numbers_and_shows_the_same():
    run = run_with(*evolution())
    going_on = run_with(*evolution(), state="paused", ended=None)

    def shown(of: Run) -> tuple:
        record = fold(events_since(of.pk, 0))  # what pages keep in mind would be the same in any case
        return record.progress, record.result, thinned(record.parts["evolution"].clouds, CLOUD_FRAMES)

    def bytes_of(of: Run) -> int:
        return len(json.dumps(list(of.events.values_list("payload", flat=True))))

    before, untouched, size = shown(run), bytes_of(going_on), bytes_of(run)
    told = events_since(run.pk, 0)
    expected = pruned(dry=True, journals=90)
    assert bytes_of(run) == size
    assert pruned(journals=90) == expected
    rows, saved = expected["journals"]
    assert rows > 80
    assert 0.8 * saved < size - bytes_of(run) <= 1.2 * saved + 4 * rows
    assert shown(run) == before
    assert [event["seq"] for event in events_since(run.pk, 0)] == [event["seq"] for event in told]
    assert list(run.events.values_list("seq", flat=True)) == list(range(1, run.next_seq))
    assert bytes_of(going_on) == untouched
    assert pruned(journals=90) == {"journals": (0, 0)}


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """One discovery of four decisions, the second rejected; imported long ago."""
    made = store_campaign(read_part(tree_of_path(write_directory(tmp_path / "small"))), "small")
    Campaign.objects.filter(pk=made.pk).update(created=LONG_AGO)
    made.refresh_from_db()
    return made


def test_blocks_of_other_decisions_go_and_those_a_discovery_rests_on_stay(campaign: Campaign):
    found = DiscoveryParts(campaign.discoveries.get())
    examples = found.examples()
    assert examples
    numbers = list(
        GeneralisationStep.objects.order_by("pk").values("pk", "n", "interesting", "mean", "taken")
    )
    rounds = {batch.pk: bytes(batch.samples) for batch in SampleBatch.objects.filter(purpose="round")}
    with_blocks = [step.number for step in GeneralisationStep.objects.order_by("number") if step.samples]
    expected = pruned(dry=True, samples=30)
    assert pruned(samples=30) == expected
    assert expected["samples"][0] >= 1
    left = [step.number for step in GeneralisationStep.objects.order_by("number") if step.samples]
    assert left == [with_blocks[0], with_blocks[-1]]
    assert DiscoveryParts(campaign.discoveries.get()).examples() == examples
    assert numbers == list(
        GeneralisationStep.objects.order_by("pk").values("pk", "n", "interesting", "mean", "taken")
    )
    assert rounds == {batch.pk: bytes(batch.samples) for batch in SampleBatch.objects.filter(purpose="round")}


def test_a_pruned_campaign_is_shown_and_goes_out_and_comes_back(campaign: Campaign, client: Client):
    pruned(samples=30)
    step = GeneralisationStep.objects.filter(n__gt=0, samples=b"").first()
    assert step is not None
    client.force_login(User.objects.create_superuser("boss"))
    discovery = campaign.discoveries.get()
    where = f"/discoveries/{discovery.pk}/?g={step.generalisation.number}&step={step.number}"
    assert "no longer stored" in client.get(where).content.decode()
    file = io.BytesIO()
    write_campaign(campaign, file)
    again = store_campaign(read_archive(ZipTree(file, "c.zip")), "again")
    back = GeneralisationStep.objects.get(generalisation__campaign=again, number=step.number)
    assert (back.n, back.interesting, bytes(back.samples)) == (step.n, step.interesting, b"")
    last = GeneralisationStep.objects.filter(generalisation__campaign=again).exclude(samples=b"").last()
    assert last is not None
    assert len(unpack(bytes(last.samples))) == last.n


def test_a_campaign_that_goes_on_keeps_every_block(campaign: Campaign):
    Campaign.objects.filter(pk=campaign.pk).update(run=run_with(state="paused", ended=None))
    assert pruned(samples=30) == {"samples": (0, 0)}


def test_the_oldest_answers_of_each_predictor_go():
    for name, number in (("a", 7), ("b", 2)):
        row = Predictor.objects.create(name=name, kind="planted", key=name)
        store = DatabaseAnswers(row, X86)
        for one in range(number):
            store.remember({bytes([one]): Answer(cycles=float(one))})
            store.flush()
    assert pruned(dry=True, answers=3)["answers"][0] == 4
    assert pruned(answers=3)["answers"][0] == 4
    left = AnswerCache.objects.order_by("pk").values_list("predictor__name", "cycles")
    assert list(left) == [("a", 4.0), ("a", 5.0), ("a", 6.0), ("b", 0.0), ("b", 1.0)]


def test_files_log_ins_and_the_audit_log_go_by_their_age():
    for name, created in (("old", LONG_AGO), ("new", timezone.now())):
        row = Upload.objects.create(file_name=name, beginning=b"123", sha256=name)
        Upload.objects.filter(pk=row.pk).update(created=created)
        Session.objects.create(session_key=name, session_data="s", expire_date=created)
        entry = AuditEntry.objects.create(action="started", name=f"{name} deed", via="page")
        AuditEntry.objects.filter(pk=entry.pk).update(at=created)
    working = Upload.objects.create(file_name="in work", beginning=b"1", sha256="w")
    Upload.objects.filter(pk=working.pk).update(created=LONG_AGO, run=run_with(state="queued", ended=None))
    assert pruned(uploads=1, sessions=1, audit=1) == {"uploads": (1, 3), "sessions": (1, 1), "audit": (1, 8)}
    assert set(Upload.objects.values_list("file_name", flat=True)) == {"new", "in work"}
    assert not AuditEntry.objects.filter(name="old deed").exists()


def test_what_is_kept_for_ever_is_not_touched(settings):
    AuditEntry.objects.create(action="started", name="old", via="page")
    AuditEntry.objects.update(at=LONG_AGO)
    assert settings.KEEP["audit"] == settings.KEEP["uploads"] == 0
    assert pruned() == {}
    assert AuditEntry.objects.count() == 1


def test_the_command_says_what_would_go_and_lets_it_go():
    run_with()
    said = io.StringIO()
    call_command("prune", "--dry-run", stdout=said)
    assert "Checkpoints of runs that have ended: 1 rows, 0.0 MiB would go (7 days kept)" in said.getvalue()
    assert "The audit log: kept for ever" in said.getvalue()
    call_command("prune", "--keep", "checkpoints=500", stdout=said)
    assert RunCheckpoint.objects.count() == 1
    call_command("prune", stdout=said)
    assert RunCheckpoint.objects.count() == 0
    assert Pruning.objects.filter(dry=False, ended__isnull=False).count() == 2
    with pytest.raises(CommandError, match="TRACE one of checkpoints, journals"):
        call_command("prune", "--keep", "everything=1")


def test_the_page_asks_a_worker_to_look_and_to_prune(client: Client):
    run_with()
    client.force_login(User.objects.create_superuser("boss"))
    assert "Not previewed yet" in client.get(reverse("storage")).content.decode()
    for _ in range(2):  # pressed twice, asked once
        client.post(reverse("storage-prune"), {"what": "look"})
    assert Pruning.objects.get().dry
    assert "Waiting for a worker" in client.get(reverse("storage")).content.decode()
    assert retention.is_due()
    call_command("prune", "--asked", stdout=io.StringIO())
    assert not retention.is_due()
    assert RunCheckpoint.objects.count() == 1
    assert "1 row" in client.get(reverse("storage")).content.decode()
    client.post(reverse("storage-prune"), {"what": "remove"})
    call_command("prune", "--asked", stdout=io.StringIO())
    assert RunCheckpoint.objects.count() == 0
    assert "requested by boss" in client.get(reverse("storage")).content.decode()


def test_every_night_one_of_the_workers_prunes_where_that_is_wanted(settings, monkeypatch):
    assert not retention.is_due()
    settings.PRUNE_NIGHTLY = True
    night = timezone.now().replace(hour=retention.NIGHT_BEGINS)
    monkeypatch.setattr(retention.timezone, "now", lambda: night.replace(hour=retention.NIGHT_BEGINS - 1))
    assert not retention.is_due()
    monkeypatch.setattr(retention.timezone, "now", lambda: night)
    assert retention.is_due()
    assert retention.is_due()
    claimed = retention.claim()
    assert claimed is not None
    assert retention.claim() is None
    assert not retention.is_due()
    lost = night + retention.STALE_AFTER + timedelta(minutes=1)
    monkeypatch.setattr(retention.timezone, "now", lambda: lost)
    assert retention.claim() == claimed
    prune(claimed)
    assert retention.claim() is None
    assert Pruning.objects.count() == 1
