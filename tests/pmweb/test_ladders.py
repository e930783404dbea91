"""No ladder upwards: what a stolen token, session or link is good for, and what it is not."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from inference.models import AgentToken, Machine, Predictor
from inference.runs.machines.sessions import add_machine
from inference.storage.instruction_sets import new_isa
from inference.web.api.document import BY_SESSION, operations_of
from inference.web.api.site import document
from pmweb.accounts import api_tokens, audit, people, sessions
from pmweb.accounts.roles import role_of
from pmweb.models import ApiToken, AuditEntry, LoginLink, Role, Scope
from pmweb.permissions.table import TABLE
from tests.pmweb.test_permissions import ADDRESSES
from tests.predictors.fakes import script

PASSWORD = "seven blue horses"
NEW = {"new_password1": "another fine phrase", "new_password2": "another fine phrase"}


@pytest.fixture
def ada(administrator: User) -> User:
    """An operator with a password."""
    user, _ = people.invite("ada", Role.OPERATOR)
    user.set_password(PASSWORD)
    user.save()
    LoginLink.objects.all().delete()
    return user


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets the clock of log-ins go on."""

    def go_on(by: timedelta) -> None:
        now = time.time() + by.total_seconds()
        monkeypatch.setattr(sessions.time, "time", lambda: now)

    return go_on


def with_token(user: User, scope: Scope = Scope.ADMINISTER) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_tokens.issue(user, 'stolen', scope, None)[1]}"}


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def call(client: Client, method: str, path: str, body: Any = None, **more: Any) -> Any:
    return client.generic(method, f"/api/v1{path}", body or "{}", content_type="application/json", **more)


def everything_that_lets_in() -> tuple[Any, ...]:
    roles = tuple((user.username, user.is_active, role_of(user)) for user in User.objects.order_by("id"))
    return (
        roles,
        LoginLink.objects.count(),
        ApiToken.objects.count(),
        AgentToken.objects.count(),
        Machine.objects.count(),
    )


ATTACKS = [
    ("POST", "/accounts", '{"name": "mallory", "role": "admin"}'),
    ("POST", "/accounts/{admin}/links", ""),
    ("POST", "/accounts/{ada}/links", ""),
    ("PATCH", "/accounts/{ada}", '{"role": "admin"}'),
    ("PATCH", "/accounts/{shut_out}", '{"active": true}'),
]


@pytest.mark.parametrize(("method", "path", "body"), ATTACKS)
@pytest.mark.parametrize("by", ["a token", "a session of long ago"])
def test_who_has_got_hold_of_an_administrators_token_or_old_session_lets_nobody_in(
    administrator: User, ada: User, later: Any, method: str, path: str, body: str, by: str
):
    people.deactivate(people.invite("shut-out", Role.ADMIN)[0])
    ids = {"admin": administrator.pk, "ada": ada.pk, "shut_out": User.objects.get(username="shut-out").pk}
    headers = with_token(administrator) if by == "a token" else {}
    client = Client() if headers else browser_of(administrator)
    later(sessions.WINDOW)
    before = everything_that_lets_in()
    answer = call(client, method, path.format(**ids), body, headers=headers)
    assert answer.status_code == 403, answer.content
    assert everything_that_lets_in() == before
    assert AuditEntry.objects.filter(action="refused").exists() == (by == "a token")


def test_a_token_of_an_agent_is_not_made_by_a_token(administrator: User):
    machine = add_machine("lab", new_isa("toy", ["add R, R"], "by hand"))
    headers = with_token(administrator)
    for path, body in (("/machines", '{"name": "another"}'), (f"/machines/{machine.pk}/tokens", "")):
        assert call(Client(), "POST", path, body, headers=headers).status_code == 403
    assert not AgentToken.objects.exists()
    assert Machine.objects.count() == 1


def test_a_token_can_still_shut_somebody_out(administrator: User, ada: User):
    answer = call(
        Client(), "PATCH", f"/accounts/{ada.pk}", '{"active": false}', headers=with_token(administrator)
    )
    assert answer.status_code == 200
    ada.refresh_from_db()
    assert not ada.is_active


def test_a_token_opens_no_page(administrator: User):
    headers = with_token(administrator)
    for name in ("account", "accounts", "sessions", "api-token-make"):
        assert Client().get(reverse(name), headers=headers).status_code == 302


def kept_form(page: Any) -> tuple[str, dict[str, list[str]]]:
    """Where the form of the page after confirming goes to, and what it sends, as a browser reads it."""
    text = page.content.decode()
    (action,) = re.findall(r'<form method="post" action="([^"]+)" class="fields', text)
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', text):
        if name != "csrfmiddlewaretoken":
            fields.setdefault(unescape(name), []).append(unescape(value))
    return unescape(action), fields


ASKING = [(name, path) for name, path in ADDRESSES if name in TABLE and TABLE[name].recent]


def test_addresses_that_ask_who_it_is_ask_at_every_method(administrator: User, later: Any):
    client = browser_of(administrator)
    later(sessions.WINDOW)
    assert len(ASKING) >= 9
    for name, path in ASKING:
        for method in ("GET", "POST"):
            if TABLE[name].needed(method) is not None:
                answer = client.generic(method, path)
                assert answer.status_code == 302, (name, method)
                assert answer.url.startswith(reverse("confirm")), (name, method)


def test_operations_that_let_somebody_in_ask_for_a_log_in_of_late(administrator: User, later: Any):
    """Tokens of agents aside, which let nobody into the site."""
    client = browser_of(administrator)
    later(sessions.WINDOW)
    asking = [
        (method, path)
        for method, path, operation in operations_of(document())
        if BY_SESSION in operation and not path.startswith("/api/v1/machines")
    ]
    assert len(asking) == 3
    for method, path in asking:
        filled = path.removeprefix("/api/v1").replace("{account_id}", str(administrator.pk))
        answer = call(client, method.upper(), filled, "{}")
        assert (answer.status_code, "too long ago" in answer.text) == (403, True), (method, path)


@pytest.mark.parametrize("name", ["account-invite", "account-link", "account-role", "account-reactivate"])
def test_pages_ask_an_administrator_of_long_ago_who_it_is_first(
    administrator: User, ada: User, later: Any, name: str
):
    client = browser_of(administrator)
    later(sessions.WINDOW)
    before = everything_that_lets_in()
    path = reverse(name) if name == "account-invite" else reverse(name, args=[ada.pk])
    answer = client.post(path, {"username": "mallory", "role": "admin"})
    assert answer.url.startswith(reverse("confirm"))
    assert everything_that_lets_in() == before


def test_making_a_token_asks_for_a_log_in_of_late(ada: User, later: Any):
    thief = browser_of(ada)
    later(sessions.WINDOW)
    assert reverse("confirm") in thief.get(reverse("account")).text
    answer = thief.post(reverse("api-token-make"), {"name": "x", "scope": "read", "days": "30"})
    assert answer.url == f"{reverse('confirm')}?next=%2Faccount%2F"
    assert not ApiToken.objects.exists()
    assert thief.post(reverse("confirm"), {"password": "guessed"}).status_code == 400
    assert not ApiToken.objects.exists()
    confirmed = thief.post(reverse("confirm"), {"password": PASSWORD, "next": "/account/"})
    assert confirmed.status_code == 200
    assert not ApiToken.objects.exists()
    made = thief.post(*kept_form(confirmed))
    assert made.context["plain"]
    (token,) = ApiToken.objects.all()
    assert (token.name, token.scope) == ("x", "read")
    assert thief.get(reverse("confirm")).url == reverse("start"), "it is kept once"


def test_the_password_cannot_be_guessed_by_confirming(ada: User, later: Any):
    thief = browser_of(ada)
    later(sessions.WINDOW)
    for number in range(20):
        page = thief.post(reverse("confirm"), {"password": f"guess {number}"})
    assert "Too many wrong passwords" in page.text
    assert thief.post(reverse("confirm"), {"password": PASSWORD}).status_code == 400


def test_who_has_no_password_confirms_by_a_fresh_link_and_is_led_on(administrator: User, later: Any):
    client = browser_of(administrator)
    later(sessions.WINDOW)
    page = client.get(f"{reverse('confirm')}?next={reverse('account-invite')}")
    assert "manage.py login-link" in page.text
    answer = client.post(reverse("login-link", args=[people.issue_link(administrator)]))
    assert answer.url == reverse("account-invite")
    assert client.get(reverse("account-invite")).status_code == 200


def test_what_a_form_sent_is_not_lost_by_confirming(
    administrator: User, later: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """By a link as well, of whoever has no password; with texts that are HTML."""
    script(tmp_path / "iaca", "echo Block Throughput: 1.00")
    monkeypatch.setenv("PATH", str(tmp_path))
    client = browser_of(administrator)
    later(sessions.WINDOW)
    data = {"arch": "SKL", "processes": "1", "seconds": "9", "memory": "512"}
    sent = {**data, "name": 'a "<b>tool</b>', "note": "two\nlines & more", "program": ""}
    asked = client.post(reverse("predictor-add", args=["iaca"]), sent)
    assert not Predictor.objects.exists()
    assert "Your entries are stored meanwhile" in client.get(asked.url).text
    link = client.post(reverse("login-link", args=[people.issue_link(administrator)]))
    page = client.get(link.url)
    assert "<b>tool" not in page.text
    path, fields = kept_form(page)
    assert (path, fields) == (reverse("predictor-add", args=["iaca"]), {k: [v] for k, v in sent.items()})
    assert not Predictor.objects.exists()
    assert client.post(path, fields).status_code == 302
    row = Predictor.objects.get()
    assert (row.name, row.options, row.note) == (
        'a "<b>tool</b>',
        {"arch": "SKL", "seconds": 9.0, "memory": 512, "processes": 1},
        "two\nlines & more",
    )
    entry = AuditEntry.objects.get(action="changed")
    assert (entry.actor, entry.name, entry.via) == (administrator, row.name, "page")


def test_what_is_kept_goes_with_time_and_with_whatever_else_is_wanted(ada: User, later: Any):
    client = browser_of(ada)
    later(sessions.WINDOW)
    sent = {"name": "x", "scope": "read", "days": "30"}
    client.post(reverse("api-token-make"), sent)
    client.get(reverse("api-token-make"))
    assert client.post(reverse("confirm"), {"password": PASSWORD}).status_code == 302
    later(2 * sessions.WINDOW)
    client.post(reverse("api-token-make"), sent)
    later(3 * sessions.WINDOW)
    assert client.post(reverse("confirm"), {"password": PASSWORD}).status_code == 302
    client.post(reverse("api-token-make"), {**sent, "name": "x" * sessions.MAX_FORM_BYTES})
    assert "confirm-form" not in client.session


def test_no_session_keeps_a_new_password(administrator: User, later: Any):
    client = browser_of(administrator)
    later(sessions.WINDOW)
    assert client.post(reverse("password"), NEW).status_code == 302
    assert NEW["new_password1"] not in str(dict(client.session))


def test_confirming_never_leads_to_another_site(ada: User, settings: Any):
    client = browser_of(ada)
    answer = client.get(f"{reverse('confirm')}?next=https://example.org/")
    assert answer.url == reverse(settings.LOGIN_REDIRECT_URL)
    button = {"Referer": "https://example.org/x"}
    session = client.session
    del session["shown-at"]
    session.save()
    answer = client.post(reverse("api-token-make"), headers=button)
    assert answer.url == f"{reverse('confirm')}?next=%2Faccount%2F"


def test_after_a_link_the_old_password_is_not_asked_for_within_a_quarter_of_an_hour_alone(
    ada: User, later: Any
):
    guest = Client()
    guest.post(reverse("login-link", args=[people.issue_link(ada)]))
    assert 'name="old_password"' not in guest.get(reverse("password")).text
    later(timedelta(minutes=15))
    assert 'name="old_password"' in guest.get(reverse("password")).text
    assert guest.post(reverse("password"), NEW).status_code == 400
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)


def test_a_session_of_a_password_never_replaces_it_without_knowing_it(ada: User):
    thief = Client()
    thief.post(reverse("login"), {"username": "ada", "password": PASSWORD})
    assert thief.post(reverse("password"), NEW).status_code == 400


def test_whoever_has_no_password_sets_one_only_after_a_log_in_of_late(administrator: User, later: Any):
    thief = browser_of(administrator)
    later(sessions.WINDOW)
    assert thief.post(reverse("password"), NEW).url.startswith(reverse("confirm"))
    administrator.refresh_from_db()
    assert not administrator.has_usable_password()


@pytest.mark.parametrize("ended", [(), ("end_links",), ("end_tokens",), ("end_links", "end_tokens")])
def test_a_new_password_ends_sessions_and_what_else_is_wanted(ada: User, ended: tuple[str, ...]):
    here, there = browser_of(ada), browser_of(ada)
    token, link = api_tokens.issue(ada, "a script", Scope.READ, None)[1], people.issue_link(ada)
    page = here.get(reverse("password")).text
    assert 'name="end_links"' in page
    assert 'name="end_tokens"' in page
    here.post(reverse("password"), {"old_password": PASSWORD, **NEW, **dict.fromkeys(ended, "on")})
    assert here.get(reverse("account")).status_code == 200
    assert there.get(reverse("account")).status_code == 302
    assert (people.link_user(link) is None) == ("end_links" in ended)
    assert (api_tokens.bearer_of(token) is None) == ("end_tokens" in ended)


def test_a_new_password_leaves_what_others_have_alone(ada: User, administrator: User):
    theirs = browser_of(administrator)
    token, link = api_tokens.issue(administrator, "", Scope.READ, None)[1], people.issue_link(administrator)
    wanted = {"old_password": PASSWORD, **NEW, "end_links": "on", "end_tokens": "on"}
    browser_of(ada).post(reverse("password"), wanted)
    assert theirs.get(reverse("account")).status_code == 200
    assert people.link_user(link) is not None
    assert api_tokens.bearer_of(token) is not None


def test_a_password_that_is_set_in_the_shell_ends_sessions_and_what_else_is_wanted(
    ada: User, monkeypatch: pytest.MonkeyPatch
):
    there = browser_of(ada)
    token, link = api_tokens.issue(ada, "a script", Scope.READ, None)[1], people.issue_link(ada)
    typed = "pmweb.management.commands.changepassword.Command._get_pass"
    monkeypatch.setattr(typed, lambda *_: "another fine phrase")
    call_command("changepassword", "ada", "--end-links", "--end-tokens")
    ada.refresh_from_db()
    assert ada.check_password("another fine phrase")
    assert there.get(reverse("account")).status_code == 302
    assert people.link_user(link) is None
    assert api_tokens.bearer_of(token) is None
    details = AuditEntry.objects.filter(action="accounts").values_list("detail", flat=True)
    assert "password set in the shell" in details


def test_links_made_in_the_shell_are_in_the_audit_log(ada: User, capsys: pytest.CaptureFixture[str]):
    call_command("login-link", "--user", "ada")
    entry = AuditEntry.objects.filter(action="accounts").latest("id")
    assert (entry.name, entry.via, entry.detail) == ("ada", "command", "log-in link, made in the shell")
    token = capsys.readouterr().out.strip().rstrip("/").rpartition("/")[2]
    assert token not in str(list(AuditEntry.objects.values()))


def test_a_refusal_is_in_the_audit_log_but_not_each_of_many(ada: User):
    hers = browser_of(ada)
    for _ in range(30):
        assert hers.get(reverse("accounts")).status_code == 403
    hers.get(reverse("audit"))
    found = AuditEntry.objects.filter(action="refused").order_by("id").values_list("actor_name", "name")
    assert list(found) == [("ada", "accounts"), ("ada", "audit")]


def test_wrong_tokens_are_in_the_audit_log_with_their_address_but_cannot_fill_it(
    db: None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(audit, "MAX_VISITOR_REFUSALS", 3)
    for number in range(10):
        guesser = Client(REMOTE_ADDR=f"203.0.113.{number}")
        headers = {"Authorization": f"Bearer pmwebapi_guess{number}"}
        assert guesser.get("/api/v1/isas", headers=headers).status_code == 401
    rows = AuditEntry.objects.filter(action="refused")
    assert rows.count() == 3
    assert rows.earliest("id").address == "203.0.113.0"
    assert "guess" not in str(list(rows.values()))


def test_new_addresses_are_in_the_audit_log(ada: User):
    for address in ("198.51.100.1", "198.51.100.1", "203.0.113.9"):
        Client(REMOTE_ADDR=address).post(reverse("login"), {"username": "ada", "password": PASSWORD})
    found = AuditEntry.objects.filter(action="logged-in").order_by("id").values_list("detail", flat=True)
    assert [detail.endswith("from a new address") for detail in found] == [False, False, True]


def test_a_token_that_is_used_from_a_new_address_is_in_the_audit_log(ada: User):
    headers = with_token(ada, Scope.READ)
    for address in ("198.51.100.1", "203.0.113.9"):
        Client(REMOTE_ADDR=address).get("/api/v1/isas", headers=headers)
        ApiToken.objects.update(last_used=timezone.now() - timedelta(hours=1))
    found = AuditEntry.objects.filter(detail__endswith="from a new address")
    assert list(found.values_list("kind", "name", "address")) == [("API token", "stolen", "203.0.113.9")]
