"""Inviting, roles, shutting out: the pages for administrators, and what each change does."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pmweb.accounts import api_tokens, people
from pmweb.accounts.roles import role_of
from pmweb.accounts.sessions import SessionStore
from pmweb.models import ApiToken, AuditEntry, LoginLink, Role, Scope

PASSWORD = "seven blue horses"


@pytest.fixture
def boss(client: Client, administrator: User) -> Client:
    """A browser of the administrator."""
    client.force_login(administrator)
    return client


@pytest.fixture
def ada(db: None) -> User:
    """An operator with a password."""
    user, _ = people.invite("ada", Role.OPERATOR)
    user.set_password(PASSWORD)
    user.save()
    return user


def invite(boss: Client, name: str, role: str = "operator"):
    return boss.post(reverse("account-invite"), {"username": name, "role": role})


def link_on(page) -> str:
    found = re.search(r"http://testserver(/login/[^<]+)", page.text)
    assert found is not None
    return found.group(1)


def details() -> list[str]:
    return list(AuditEntry.objects.filter(action="accounts").order_by("id").values_list("detail", flat=True))


def test_somebody_invited_comes_in_by_the_link_sets_a_password_and_comes_back(boss: Client):
    guest = Client()
    link = link_on(invite(boss, "grace", "viewer"))
    assert "grace" in guest.get(link).text
    assert guest.post(link).url == reverse("password")
    answer = guest.post(reverse("password"), {"new_password1": PASSWORD, "new_password2": PASSWORD})
    assert answer.status_code == 302
    again = Client()
    assert again.post(reverse("login"), {"username": "grace", "password": PASSWORD}).status_code == 302
    assert again.get(reverse("runs")).status_code == 200
    assert role_of(User.objects.get(username="grace")) == Role.VIEWER


def test_the_link_is_shown_once_and_kept_nowhere(boss: Client):
    page = invite(boss, "grace")
    token = link_on(page).split("/")[-2]
    assert "no-store" in page.headers["Cache-Control"]
    assert token not in boss.get(reverse("account-of", args=[User.objects.get(username="grace").pk])).text
    assert token not in str(list(LoginLink.objects.values()))


@pytest.mark.parametrize(("name", "said"), [("ADA", "already"), ("a b", "valid username"), ("", "required")])
def test_a_name_that_is_taken_or_none_is_refused_in_words(boss: Client, ada: User, name: str, said: str):
    page = invite(boss, name)
    assert page.status_code == 400
    assert said in page.text
    assert User.objects.count() == 2


def test_a_new_link_makes_the_earlier_ones_worthless(boss: Client):
    first = link_on(invite(boss, "grace"))
    grace = User.objects.get(username="grace")
    second = link_on(boss.post(reverse("account-link", args=[grace.pk])))
    assert Client().get(first).status_code == 410
    assert Client().get(second).status_code == 200


def test_who_has_come_by_a_link_can_replace_a_forgotten_password(boss: Client, ada: User):
    link = link_on(boss.post(reverse("account-link", args=[ada.pk])))
    guest = Client()
    guest.post(link)
    new = {"new_password1": "another fine phrase", "new_password2": "another fine phrase"}
    assert guest.post(reverse("password"), new).status_code == 302
    assert 'name="old_password"' in guest.get(reverse("password")).text
    ada.refresh_from_db()
    assert ada.check_password("another fine phrase")


def test_a_role_can_be_changed_and_counts_at_once(boss: Client, ada: User):
    hers = Client()
    hers.force_login(ada)
    assert hers.get(reverse("infer")).status_code == 200
    boss.post(reverse("account-role", args=[ada.pk]), {"role": "viewer"})
    assert hers.get(reverse("infer")).status_code == 403
    assert details()[-1] == "operator → viewer"


def test_who_is_shut_out_is_out_at_once_with_links_and_tokens(boss: Client, ada: User):
    hers = Client()
    hers.force_login(ada)
    _, plain = api_tokens.issue(ada, "a script", Scope.READ, None)
    token = people.issue_link(ada)
    boss.post(reverse("account-deactivate", args=[ada.pk]))
    assert hers.get(reverse("runs")).status_code == 302
    assert Client().post(reverse("login"), {"username": "ada", "password": PASSWORD}).status_code == 400
    assert api_tokens.bearer_of(plain) is None
    assert Client().get(reverse("login-link", args=[token])).status_code == 410
    boss.post(reverse("account-reactivate", args=[ada.pk]))
    assert Client().post(reverse("login"), {"username": "ada", "password": PASSWORD}).status_code == 302
    assert api_tokens.bearer_of(plain) is None


def by_page(boss: Client, user: User, way: str) -> None:
    boss.post(reverse(f"account-{way}", args=[user.pk]))


def by_api(boss: Client, user: User, way: str) -> None:
    body = {"active": way == "reactivate"}
    boss.patch(f"/api/v1/accounts/{user.pk}", body, content_type="application/json")


def by_shell(boss: Client, user: User, way: str) -> None:
    call_command("account", way, user.get_username())


@pytest.mark.parametrize("change", [by_page, by_api, by_shell])
def test_a_session_of_somebody_shut_out_stays_ended_when_they_are_let_in_again(
    boss: Client, ada: User, change
):
    stolen = Client()
    stolen.force_login(ada)
    change(boss, ada, "deactivate")
    change(boss, ada, "reactivate")
    ada.refresh_from_db()
    assert ada.is_active
    assert stolen.get(reverse("runs")).status_code == 302
    assert boss.get(reverse("runs")).status_code == 200, "other people's sessions stay"


def test_a_session_that_outlived_shutting_out_lets_nobody_in_later(ada: User):
    ada.is_active = False
    ada.save()
    stolen = Client()
    stolen.force_login(ada)
    people.reactivate(ada)
    assert stolen.get(reverse("runs")).status_code == 302


def test_thousands_of_sessions_are_looked_through_at_once(ada: User, administrator: User):
    store, until = SessionStore(), timezone.now() + timedelta(days=1)
    whose = [ada, administrator, administrator] * 700
    data = {user: store.encode({"_auth_user_id": str(user.pk)}) for user in (ada, administrator)}
    Session.objects.bulk_create(
        Session(session_key=f"{number:032}", session_data=data[user], expire_date=until)
        for number, user in enumerate(whose)
    )
    with CaptureQueriesContext(connection) as asked:
        people.deactivate(ada, by=administrator)
    assert Session.objects.count() == 1400
    assert len(asked) < 20


@pytest.mark.parametrize("way", ["account-deactivate", "account-role"])
def test_the_administrator_can_neither_be_shut_out_nor_lose_the_role(
    boss: Client, administrator: User, way: str
):
    page = boss.post(reverse(way, args=[administrator.pk]), {"role": "viewer"}, follow=True)
    assert "The account was not changed" in page.text
    administrator.refresh_from_db()
    assert administrator.is_active
    assert role_of(administrator) == Role.ADMIN


def test_nobody_shuts_himself_out(client: Client, db: None):
    user, _ = people.invite("second", Role.ADMIN)
    client.force_login(user)
    client.post(reverse("account-deactivate", args=[user.pk]))
    user.refresh_from_db()
    assert user.is_active


def test_the_log_in_asks_for_a_name_where_there_are_several_accounts(
    client: Client, administrator: User, ada: User
):
    assert '<label for="id_username">' in client.get(reverse("login")).text
    page = client.post(reverse("login"), {"username": "ada", "password": "wrong"})
    assert "do not match" in page.text


def test_the_list_and_the_page_of_an_account_say_how_things_stand(boss: Client, ada: User):
    api_tokens.issue(ada, "nightly", Scope.OPERATE, None)
    listed = boss.get(reverse("accounts")).text
    assert "invited" in listed
    assert "ada" in listed
    page = boss.get(reverse("account-of", args=[ada.pk])).text
    assert "nightly" in page
    assert reverse("api-token-revoke", args=[ApiToken.objects.get().pk]) not in page


def test_the_number_of_queries_of_the_list_does_not_grow(boss: Client, django_assert_max_num_queries):
    for number in range(20):
        people.invite(f"user{number}", Role.VIEWER)
    with django_assert_max_num_queries(6):
        boss.get(reverse("accounts"))


def test_the_shell_invites_changes_and_shuts_out(db: None, capsys):
    call_command("account", "invite", "ada", "--role", "viewer")
    path = capsys.readouterr().out.strip().removeprefix("http://localhost:8000")
    assert Client().post(path).status_code == 302
    call_command("account", "role", "ada", "--role", "admin")
    call_command("account", "deactivate", "ada")
    call_command("account", "list")
    assert "ada: administrator, deactivated" in capsys.readouterr().out
    assert details() == ["invited as viewer", "viewer → administrator", "deactivated"]
    assert set(AuditEntry.objects.filter(action="accounts").values_list("via", flat=True)) == {"command"}
    with pytest.raises(CommandError, match="no account 'bob'"):
        call_command("account", "role", "bob", "--role", "admin")
    with pytest.raises(CommandError, match="already"):
        call_command("account", "invite", "Ada")


def test_the_shell_makes_a_link_for_anybody(ada: User, capsys):
    call_command("login-link", "--user", "ada")
    path = capsys.readouterr().out.strip().removeprefix("http://localhost:8000")
    visitor = Client()
    visitor.post(path)
    assert visitor.session["_auth_user_id"] == str(ada.pk)


@pytest.mark.parametrize("name", ["", "nobody"])
def test_a_link_for_a_name_that_nobody_has_is_refused(administrator: User, name: str):
    with pytest.raises(CommandError, match=f"no active account '{name}'"):
        call_command("login-link", "--user", name)
