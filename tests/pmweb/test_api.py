"""Accounts, the audit log and storage by the API: what administrators do on the pages of the site."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from inference import __version__
from pmweb.accounts.api_tokens import issue
from pmweb.accounts.roles import role_of, set_role
from pmweb.models import ApiToken, AuditEntry, Pruning, Role, Scope
from pmweb.retention import TRACES
from tests.rows.programs import Program, program_of, session_of


@pytest.fixture
def ada(db: None) -> User:
    """An operator."""
    user = User.objects.create_user("ada", password="a long one")
    set_role(user, Role.OPERATOR)
    return user


def test_a_program_learns_for_whom_it_acts_and_what_it_may_do(ada: User) -> None:
    told = program_of(ada, Scope.READ).get("/account")
    assert (told["name"], told["role"], told["scope"]) == ("ada", "operator", "read")
    assert [token["ended"] for token in told["tokens"]] == [""]


def test_a_program_takes_back_tokens_of_its_own_person_alone(ada: User, administrator: User) -> None:
    program = program_of(ada, Scope.OPERATE)
    (own,) = ApiToken.objects.filter(user=ada)
    foreign = issue(administrator, "theirs", Scope.READ, None)[0]
    assert program("DELETE", f"/account/tokens/{foreign.pk}")[0] == 404
    assert program("DELETE", f"/account/tokens/{own.pk}")[0] == 204
    assert program("GET", "/account")[0] == 401


def test_somebody_is_invited_comes_in_changes_roles_and_is_shut_out(session: Program, client: Client) -> None:
    status, made = session("POST", "/accounts", {"name": "grace", "role": "viewer"})
    assert (status, made["account"]["role"], made["account"]["invited"]) == (201, "viewer", True)
    path = f"/accounts/{made['account']['id']}"
    assert client.post(made["link"]).status_code == 302  # logged in
    assert session.get(path)["invited"] is False
    assert session("PATCH", path, {"role": "operator"})[1]["role"] == "operator"
    status, again = session("POST", f"{path}/links")
    assert (status, again["link"] != made["link"]) == (201, True)
    assert session("PATCH", path, {"active": False})[1]["active"] is False
    assert session("POST", f"{path}/links")[0] == 409
    assert session("PATCH", path, {"active": True})[1]["active"] is True
    names = {one["name"] for one in session.get("/accounts")}
    assert names == {"admin", "grace"}
    entries = session.get("/audit?q=grace&action=accounts")["items"]
    assert entries[-1]["detail"] == "invited as viewer"
    assert {entry["via"] for entry in entries} == {"API"}
    for wrong in ({"name": "Grace"}, {"name": "a b"}, {"name": "x", "role": "king"}):
        assert session("POST", "/accounts", wrong)[0] == 422, wrong


def test_the_account_of_the_shell_keeps_its_role(session: Program, administrator: User) -> None:
    path = f"/accounts/{administrator.pk}"
    for change in ({"role": "viewer"}, {"active": False}):
        assert session("PATCH", path, change)[0] == 409
    assert role_of(User.objects.get(pk=administrator.pk)) == Role.ADMIN


def test_of_a_change_that_is_refused_nothing_is_kept(administrator: User) -> None:
    boss = User.objects.create_user("second")
    set_role(boss, Role.ADMIN)
    change = {"role": "viewer", "active": False}
    status, problem = session_of(boss)("PATCH", f"/accounts/{boss.pk}", change)
    assert (status, problem["detail"].partition(":")[0]) == (409, "The account was not changed")
    assert role_of(User.objects.get(pk=boss.pk)) == Role.ADMIN
    assert not AuditEntry.objects.filter(action="accounts").exists()


def test_the_audit_log_is_searched_and_taken_away(program: Program, session: Program) -> None:
    session("POST", "/accounts", {"name": "grace"})
    assert program.get("/audit?via=page")["total"] == 0
    assert program.get("/audit?until=2001-01-01")["total"] == 0
    text = program.raw("GET", "/audit/export?q=grace").content.decode()
    (row,) = csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#"))
    assert (row["name"], row["via"]) == ("grace", "API")
    assert AuditEntry.objects.filter(action="exported", detail="audit-csv").exists()
    for wrong in ("action=danced", "since=yesterday", "via=pigeon"):
        assert program("GET", f"/audit?{wrong}")[0] == 422, wrong


def test_storage_is_told_and_pruned_when_asked(program: Program, administrator: User) -> None:
    told = program.get("/storage")
    assert [trace["key"] for trace in told["traces"]] == [trace.key for trace in TRACES]
    status, look = program("POST", "/storage/prunings", {})
    assert (status, look["dry"], look["asked_by"]) == (202, True, "admin")
    assert program.get("/storage")["waiting"]["id"] == look["id"]
    assert program("POST", "/storage/prunings", {"remove": True})[1]["dry"] is False
    assert Pruning.objects.count() == 2
    assert AuditEntry.objects.filter(action="deleted", detail="storage-prune").count() == 1


def test_the_installation_is_told_to_members_alone(program: Program, client: Client, settings: Any) -> None:
    told = program.get("/about")
    assert told["facts"]["pmweb"] == __version__
    settings.PUBLIC_READING = True
    assert client.get("/api/v1/sets").status_code == 200
    assert client.get("/api/v1/about").status_code == 403
    assert client.get("/api/v1/account").json()["name"] == ""


def test_operators_reach_none_of_it(ada: User) -> None:
    program = program_of(ada, Scope.OPERATE)
    for method, path in (("GET", "/accounts"), ("GET", "/audit"), ("GET", "/storage")):
        assert program(method, path)[0] == 403


def test_first_requests_that_come_at_once_find_the_same_operations() -> None:
    program = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from inference.web.api.site import api
gate = Barrier(4)
with ThreadPoolExecutor(4) as pool:
    print(len({id(found) for found in pool.map(lambda _: gate.wait() and None or api(), range(4))}))
"""
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "shell", "--no-imports", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.strip() == "1", done.stderr
