"""The page with one's sessions, the same by API and shell, and their ends."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pmweb.accounts import api_tokens, people
from pmweb.accounts.sessions import USES
from pmweb.models import AuditEntry, BrowserSession, Role, Scope

PASSWORD = "seven blue horses"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
EDGE = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/142.0 Safari/537.36 Edg/142.0"


@pytest.fixture
def ada(administrator: User) -> User:
    """An operator with a password."""
    user, _ = people.invite("ada", Role.OPERATOR)
    user.set_password(PASSWORD)
    user.save()
    return user


def logged_in(name: str = "ada", address: str = "198.51.100.1", browser: str = FIREFOX) -> Client:
    client = Client(REMOTE_ADDR=address, headers={"User-Agent": browser})
    client.post(reverse("login"), {"username": name, "password": PASSWORD})
    return client


def is_in(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 200


def test_the_page_lists_where_one_is_logged_in_and_by_what(ada: User):
    here = logged_in()
    logged_in(address="203.0.113.9", browser=EDGE)
    page = here.get(reverse("sessions")).text
    for text in ("Firefox on Linux", "this one", "Edge on Windows", "203.0.113.9", "by password"):
        assert text in page
    assert "in 2 browsers" in here.get(reverse("account")).text


def test_a_session_that_is_ended_is_nobodys(ada: User):
    here, stolen = logged_in(), logged_in(address="203.0.113.9")
    row = BrowserSession.objects.get(address="203.0.113.9")
    here.post(reverse("session-end", args=[row.pk]))
    assert not is_in(stolen)
    assert is_in(here)
    entry = AuditEntry.objects.filter(action="logged-out").latest("id")
    assert (entry.actor_name, entry.name, entry.detail) == ("ada", "ada", "ended, from 203.0.113.9")


def test_all_others_are_ended_at_once(ada: User):
    here, others = logged_in(), [logged_in() for _ in range(3)]
    here.post(reverse("sessions-end-others"))
    assert is_in(here)
    assert not any(is_in(other) for other in others)
    assert BrowserSession.objects.filter(user=ada).count() == 1


def test_the_session_in_use_is_ended_by_logging_out_alone(ada: User):
    here = logged_in()
    here.post(reverse("session-end", args=[BrowserSession.objects.get().pk]))
    assert is_in(here)
    here.post(reverse("logout"))
    assert not BrowserSession.objects.exists()


@pytest.mark.parametrize(
    ("others", "words"), [(0, "0 sessions have"), (1, "1 session has"), (2, "2 sessions have")]
)
def test_the_page_says_how_many_others_have_ended(ada: User, others: int, words: str):
    here, _ = logged_in(), [logged_in() for _ in range(others)]
    page = here.post(reverse("sessions-end-others"), follow=True)
    assert [str(each) for each in page.context["messages"]] == [
        f"{words} been ended. You are logged in only here."
    ]


def test_nobody_sees_or_ends_a_session_of_another(ada: User):
    hers = logged_in()
    bob, _ = people.invite("bob", Role.ADMIN)
    his = Client()
    his.force_login(bob)
    row = BrowserSession.objects.get(user=ada)
    assert his.post(reverse("session-end", args=[row.pk])).status_code == 404
    assert his.delete(f"/api/v1/account/sessions/{row.pk}").status_code == 404
    assert row.address not in his.get(reverse("sessions")).text
    his.post(reverse("sessions-end-others"))
    assert is_in(hers)


def test_an_administrator_logs_somebody_out_everywhere(ada: User, administrator: User):
    hers, boss = logged_in(), Client()
    boss.force_login(administrator)
    page = boss.get(reverse("account-of", args=[ada.pk])).text
    assert "Firefox on Linux" in page
    boss.post(reverse("account-log-out", args=[ada.pk]))
    assert not is_in(hers)
    assert is_in(boss)
    assert is_in(logged_in())


def test_the_same_by_the_api(ada: User, administrator: User):
    here, there = logged_in(), logged_in(address="203.0.113.9", browser=EDGE)
    listed = here.get("/api/v1/account/sessions").json()
    assert [(each["browser"], each["way"]) for each in listed] == [
        ("Edge on Windows", "password"),
        ("Firefox on Linux", "password"),
    ]
    _, token = api_tokens.issue(ada, "a script", Scope.OPERATE, None)
    headers = {"Authorization": f"Bearer {token}"}
    path = f"/api/v1/account/sessions/{listed[0]['id']}"
    assert Client().delete(path, headers=headers).status_code == 204
    assert not is_in(there)
    _, token = api_tokens.issue(administrator, "a script", Scope.ADMINISTER, None)
    headers = {"Authorization": f"Bearer {token}"}
    assert Client().delete(f"/api/v1/accounts/{ada.pk}/sessions", headers=headers).status_code == 204
    assert not is_in(here)


def test_the_same_in_the_shell(ada: User, capsys: pytest.CaptureFixture[str]):
    here = logged_in()
    _, token = api_tokens.issue(ada, "a script", Scope.OPERATE, None)
    link = people.issue_link(ada)
    call_command("account", "sessions", "ada")
    assert "Firefox on Linux, from 198.51.100.1" in capsys.readouterr().out
    call_command("account", "log-out", "ada")
    assert not is_in(here)
    assert api_tokens.bearer_of(token) is not None
    call_command("account", "log-out", "ada", "--links", "--tokens")
    assert people.link_user(link) is None
    assert api_tokens.bearer_of(token) is None


def test_what_is_known_of_a_session_goes_with_it(ada: User):
    here = logged_in()
    key = BrowserSession.objects.get().session
    assert here.session.session_key not in key, "the database has no key that lets in"
    people.deactivate(ada)
    assert not BrowserSession.objects.exists()


def test_when_and_where_a_session_was_seen_last_is_written_down_later(ada: User):
    here = logged_in()
    BrowserSession.objects.update(last_seen=timezone.now() - timedelta(days=1))
    USES.write()
    here.get(reverse("account"), REMOTE_ADDR="203.0.113.9")
    USES.write()
    row = BrowserSession.objects.get()
    assert row.last_address == "203.0.113.9"
    assert row.last_seen > timezone.now() - timedelta(minutes=1)
    entry = AuditEntry.objects.latest("id")
    assert (entry.kind, entry.detail) == ("session", "used from a new address, 203.0.113.9")


def test_a_session_that_is_used_is_not_brought_back_by_writing_it_down(ada: User):
    here = logged_in()
    is_in(here)
    people.deactivate(ada)
    USES.write()
    assert not BrowserSession.objects.exists()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        (EDGE, "Edge on Windows"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1",
            "Safari on an iPhone",
        ),
        ("curl/8.9", "curl"),
        ("my own <thing>", "my own <thing>"),
        ("", "unknown browser"),
    ],
)
def test_browsers_have_short_names(text: str, name: str):
    assert BrowserSession(browser=text).browser_name == name
