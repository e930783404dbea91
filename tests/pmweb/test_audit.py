"""The audit log: what is noted, under whose name, and how it is read."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as settings_of_site
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from inference.models import ExperimentSet, PortMapping, Predictor, Run
from inference.runs import lifecycle
from inference.runs.machines import sessions
from pmweb.accounts import audit, people
from pmweb.accounts.audit import Action
from pmweb.accounts.roles import AccessLevel
from pmweb.models import AuditEntry, Role
from pmweb.permissions.table import TABLE
from tests.pmweb.test_permissions import OWN, Door, door
from tests.predictors.fakes import script
from tests.rows.library import experiment_set, isa, mapping
from tests.rows.programs import Program, program

__all__ = ["Door", "door", "experiment_set", "isa", "mapping", "program"]

RECORDS = re.compile(r"record\([^)]*EXPORTED")


@pytest.fixture
def ada(client: Client, db: None) -> Client:
    """The browser of an operator."""
    client.force_login(people.invite("ada", Role.OPERATOR)[0])
    AuditEntry.objects.all().delete()
    return client


@pytest.fixture
def boss(administrator: User) -> Client:
    browser = Client()
    browser.force_login(administrator)
    AuditEntry.objects.all().delete()
    return browser


def noted() -> list[tuple[str, str, str, str, str]]:
    fields = ("actor_name", "action", "kind", "name", "via")
    return list(AuditEntry.objects.order_by("id").values_list(*fields))


def test_starting_steering_and_cancelling_a_run_are_noted(ada: Client, experiment_set: ExperimentSet):
    ada.post(reverse("set-learn", args=[experiment_set.pk]))
    run = Run.objects.get()
    for action in ("pause", "resume", "cancel"):
        ada.post(reverse("run-action", args=[run.pk, action]))
    assert noted() == [
        ("ada", action, "run", run.name, "page") for action in ("started", "steered", "steered", "cancelled")
    ]


def test_no_request_says_that_it_came_by_the_api(ada: Client, experiment_set: ExperimentSet):
    ada.post(reverse("set-learn", args=[experiment_set.pk]), SCRIPT_NAME="/api")
    assert [entry[-1] for entry in noted()] == ["page"]


def test_what_could_not_be_done_is_not_noted(ada: Client, experiment_set: ExperimentSet):
    ada.post(reverse("set-learn", args=[experiment_set.pk]))
    run = Run.objects.get()
    ada.post(reverse("run-action", args=[run.pk, "cancel"]))
    AuditEntry.objects.all().delete()
    ada.post(reverse("run-action", args=[run.pk, "cancel"]))
    ada.post(reverse("set-edit", args=[experiment_set.pk]), {"name": "", "note": ""})
    ada.get(reverse("mapping-export", args=[999]))
    ada.post(reverse("api-token-make"), {"name": ""})
    assert noted() == []


def test_a_deletion_keeps_the_name_of_what_is_gone(ada: Client, mapping: PortMapping):
    pk, name = mapping.pk, mapping.name
    ada.post(reverse("mapping-delete", args=[pk]))
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.kind, entry.object_id, entry.name) == ("deleted", "port mapping", pk, name)


def test_exports_edits_uploads_and_tokens_are_noted(ada: Client, mapping: PortMapping):
    ada.get(reverse("mapping-export", args=[mapping.pk]))
    ada.head(reverse("mapping-export", args=[mapping.pk]))
    ada.post(reverse("mapping-edit", args=[mapping.pk]), {"name": "renamed", "note": ""})
    ada.post(reverse("upload"), {"files": SimpleUploadedFile("a.csv", b"experiment,cycles\n")})
    lab = sessions.add_machine("lab", mapping.isa)
    ada.post(reverse("machine-token", args=[lab.pk]))
    found = [(action, kind, name) for _, action, kind, name, _ in noted()]
    assert found == [
        ("exported", "port mapping", "three ports"),
        ("changed", "port mapping", "three ports"),
        ("uploaded", "upload", "a.csv"),
        ("started", "run", "a.csv · preview"),
        ("tokens", "machine", "lab"),
    ]


def deeds(tmp_path: Path) -> dict[str, tuple[list[object], dict[str, str]]]:
    """{an address at which administrators change something: what is in it, and what is sent}."""
    grace = people.invite("grace", Role.VIEWER)[0]
    people.deactivate(gone := people.invite("gone", Role.VIEWER)[0])
    script(tmp_path / "iaca", "echo Block Throughput: 1.00")
    limits = {"processes": "1", "seconds": "9", "memory": "512"}
    old = Predictor.objects.create(name="old", kind="iaca", key="o" * 64, origin="configured")
    return {
        "account-invite": ([], {"username": "ada", "role": "viewer"}),
        "account-role": ([grace.pk], {"role": "operator"}),
        "account-link": ([grace.pk], {}),
        "account-log-out": ([grace.pk], {}),
        "account-deactivate": ([grace.pk], {}),
        "account-reactivate": ([gone.pk], {}),
        "storage-prune": ([], {"what": "remove"}),
        "predictor-add": (["iaca"], {"arch": "SKL", "name": "mine", **limits}),
        "predictor-remove": ([old.pk], {}),
    }


def test_all_that_administrators_change_is_noted(
    boss: Client, administrator: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    tried = deeds(tmp_path)
    assert tried.keys() == {name for name, rule in TABLE.items() if rule.change == AccessLevel.ADMIN}
    for name, (inside, sent) in tried.items():
        AuditEntry.objects.all().delete()
        answer = boss.post(reverse(name, args=inside), sent)
        assert answer.status_code < 400, (name, answer.content)
        entries = AuditEntry.objects.filter(actor=administrator, via="page").exclude(action="started")
        assert entries.exists(), name  # that a predictor is tried by a run says nothing of what was added


def test_a_run_of_the_shell_is_noted_without_a_name(db: None, experiment_set: ExperimentSet):
    config = {"algorithm": "pmevo", "source": {"datasets": [experiment_set.pk]}}
    lifecycle.submit("infer", config, "by hand")
    assert noted() == [("", "started", "run", "by hand", "command")]


def test_nothing_that_a_worker_does_is_taken_for_somebodys_deed(mapping: PortMapping):
    mapping.delete()
    assert noted() == []


def test_logging_in_and_out_are_noted_with_the_address(administrator: User):
    administrator.set_password("seven blue horses")
    administrator.save()
    browser = Client(REMOTE_ADDR="203.0.113.7")
    browser.post(reverse("login"), {"password": "wrong"})
    browser.post(reverse("login"), {"password": "seven blue horses"})
    browser.post(reverse("logout"))
    assert [(row.action, row.address) for row in AuditEntry.objects.order_by("id")] == [
        ("failed", "203.0.113.7"),
        ("logged-in", "203.0.113.7"),
        ("logged-out", "203.0.113.7"),
    ]


def test_with_public_reading_no_export_of_a_visitor_is_noted(client: Client, mapping: PortMapping, settings):
    settings.PUBLIC_READING = True
    assert client.get(reverse("mapping-export", args=[mapping.pk])).status_code == 200
    assert client.get(f"/api/v1/mappings/{mapping.pk}/exports/pmevo").status_code == 200
    assert noted() == []


EXPORTS = [(name, path) for name, path in OWN if TABLE[name].records is Action.EXPORTED]


@pytest.mark.usefixtures("door")
def test_who_gets_a_file_again_is_not_noted_again(boss: Client, client: Client, settings):
    """All exports, wherever the rule of an address says that it is one; by an account and by a visitor."""
    settings.PUBLIC_READING = True
    assert len(EXPORTS) > 30
    for _, path in 3 * EXPORTS:
        assert boss.get(path).status_code == 200
        client.get(path)
    assert sorted(AuditEntry.objects.values_list("detail", flat=True)) == sorted(
        {name for name, _ in EXPORTS}
    )
    assert {row.actor_name for row in AuditEntry.objects.all()} == {"admin"}
    AuditEntry.objects.update(at=timezone.now() - audit.EXPORT_INTERVAL)
    boss.get(EXPORTS[0][1])
    boss.get(EXPORTS[0][1], REMOTE_ADDR="203.0.113.7")
    assert AuditEntry.objects.count() == len({name for name, _ in EXPORTS}) + 2


def test_nor_by_the_api(program: Program, mapping: PortMapping):
    for _ in range(3):
        assert (
            program.client.get(
                f"/api/v1/mappings/{mapping.pk}/exports/pmevo",
                headers={"Authorization": f"Bearer {program.token}"},
            ).status_code
            == 200
        )
    assert AuditEntry.objects.filter(action=Action.EXPORTED).count() == 1


def test_many_exports_of_an_account_are_noted_up_to_a_number(ada: Client, monkeypatch):
    monkeypatch.setattr(audit, "MAX_EXPORTS", 5)
    user = User.objects.get(username="ada")
    found = [audit.record_export(user, detail=str(number)) for number in range(9)]
    assert [row is not None for row in found] == 5 * [True] + 4 * [False]


def test_exports_are_noted_in_no_other_way():
    """`audit.record` would note each of many."""
    folders = [settings_of_site.BASE_DIR / name for name in ("pmweb", "inference", "anica_app")]
    places = {
        path.name for folder in folders for path in folder.rglob("*.py") if RECORDS.search(path.read_text())
    }
    assert places == {"audit.py"}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["new", "odd", "old"]),
        ("action=deleted", ["odd"]),
        ("q=ADA", ["new"]),
        ("via=API", []),
        ("since=2026-01-02", ["new", "odd"]),
        ("until=2026-01-01", ["old"]),
        ("until=2025-12-31", []),
        ("since=0001-01-01&until=9999-12-31", ["new", "odd", "old"]),
        ("since=2026-02-31&until=x", ["new", "odd", "old"]),
    ],
)
def test_the_log_is_filtered(boss: Client, administrator: User, query: str, found: list[str]):
    for name, action in (("old", Action.STARTED), ("odd", Action.DELETED), ("new", Action.STARTED)):
        audit.record(None, action, kind="run", name=name, detail="by ada" if name == "new" else "")
    AuditEntry.objects.filter(name="old").update(at="2026-01-01T23:59:59Z")
    AuditEntry.objects.exclude(name="old").update(at=timezone.now())
    page = boss.get(f"{reverse('audit')}?{query}")
    assert [row.name for row in page.context["page"].rows] == found


def test_the_last_day_of_all_may_be_asked_for_in_every_way(boss: Client, administrator: User):
    audit.record(None, Action.STARTED, kind="run", name="one")
    for path in (reverse("audit"), reverse("audit-csv"), "/api/v1/audit", "/api/v1/audit/export"):
        answer = boss.get(path, {"since": "0001-01-01", "until": "9999-12-31"})
        assert answer.status_code == 200, path
        assert "one" in answer.content.decode()


def test_an_unknown_action_is_a_bad_request(boss: Client):
    assert boss.get(f"{reverse('audit')}?action=flew").status_code == 400


def test_the_log_has_pages(boss: Client):
    for number in range(130):
        audit.record(None, Action.STARTED, kind="run", name=f"run {number}")
    first = boss.get(reverse("audit"))
    second = boss.get(f"{reverse('audit')}?page={first.context['page'].next_cursor}")
    names = [row.name for page in (first, second) for row in page.context["page"].rows]
    assert names == [f"run {number}" for number in reversed(range(130))]


def test_the_csv_has_what_is_shown_and_no_formula(boss: Client, administrator: User):
    audit.record(administrator, Action.DELETED, kind="run", name="=cmd|' /C calc'!A0")
    audit.record(None, Action.STARTED, kind="run", name="left out")
    page = boss.get(f"{reverse('audit-csv')}?action=deleted")
    rows = list(csv.DictReader(io.StringIO(page.text)))
    assert [(row["who"], row["action"], row["name"]) for row in rows] == [
        ("admin", "deleted", "'=cmd|' /C calc'!A0")
    ]
    assert AuditEntry.objects.filter(action="exported", detail="audit-csv", actor_name="admin").exists()


def test_the_newest_entry_is_at_the_top(boss: Client):
    audit.record(None, Action.STARTED, kind="run", name="first")
    audit.record(None, Action.STARTED, kind="run", name="second")
    AuditEntry.objects.filter(name="first").update(at=timezone.now() + timedelta(seconds=5))
    page = boss.get(reverse("audit"))
    assert [row.name for row in page.context["page"].rows] == ["second", "first"]
