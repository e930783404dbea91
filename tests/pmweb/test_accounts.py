"""Logging in: one-time links and the password."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from pmweb.accounts import attempts, people
from pmweb.accounts.people import ensure_administrator
from pmweb.models import FailedLogins, LoginLink

PASSWORD = "seven blue horses"


@pytest.fixture
def with_password(administrator: User) -> User:
    administrator.set_password(PASSWORD)
    administrator.save()
    return administrator


def is_logged_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def try_password(client: Client, password: str, **data: str):
    return client.post(reverse("login"), {"password": password, **data})


def test_there_is_one_administrator_without_a_password_at_first(db):
    first, second = ensure_administrator(), ensure_administrator()
    assert first == second
    assert not first.has_usable_password()


def test_looking_at_a_link_does_not_use_it_up(client, administrator):
    address = reverse("login-link", args=[people.issue_link(administrator)])
    for _ in range(3):
        page = client.get(address)
        assert page.status_code == 200
        assert not is_logged_in(client)
    assert client.post(address).status_code == 302
    assert is_logged_in(client)


def test_a_link_works_once(client, administrator):
    address = reverse("login-link", args=[people.issue_link(administrator)])
    client.post(address)
    second = Client()
    assert second.post(address).status_code == 410
    assert second.get(address).status_code == 410
    assert not is_logged_in(second)


def test_a_link_expires(client, administrator):
    address = reverse("login-link", args=[people.issue_link(administrator, timedelta(seconds=-1))])
    assert client.get(address).status_code == 410
    assert client.post(address).status_code == 410


def test_an_unknown_link_says_how_to_get_another(client, administrator):
    page = client.get(reverse("login-link", args=["guessed"]))
    assert page.status_code == 410
    assert "manage.py login-link" in page.content.decode()


def test_the_database_does_not_hold_the_token(administrator):
    token = people.issue_link(administrator)
    row = LoginLink.objects.values().get()
    assert token not in str(row)


def test_expired_links_are_swept_away_when_a_new_one_is_made(administrator):
    people.issue_link(administrator, timedelta(seconds=-1))
    people.issue_link(administrator)
    assert LoginLink.objects.count() == 1


def test_a_link_of_a_deactivated_account_is_worthless(administrator):
    token = people.issue_link(administrator)
    User.objects.update(is_active=False)
    assert people.redeem(token) is None


def test_every_page_but_the_way_in_needs_a_log_in(client, administrator):
    for name in ("about", "password"):
        answer = client.get(reverse(name))
        assert answer.status_code == 302
        assert answer.url.startswith(reverse("login"))


def test_the_log_in_page_offers_no_form_where_no_password_is_set(client, administrator):
    page = client.get(reverse("login")).content.decode()
    assert 'type="password"' not in page
    assert "manage.py login-link" in page


def test_the_password_logs_in_and_leads_on(client, with_password):
    answer = try_password(client, PASSWORD, next=reverse("about"))
    assert answer.status_code == 302
    assert answer.url == reverse("about")
    assert is_logged_in(client)


@pytest.mark.parametrize("elsewhere", ["https://example.org/", "//example.org/", "javascript:alert(1)"])
def test_the_log_in_never_leads_to_another_site(client, with_password, elsewhere, settings):
    settings.LOGIN_REDIRECT_URL = "about"
    assert try_password(client, PASSWORD, next=elsewhere).url == reverse("about")


def test_a_wrong_password_is_refused_in_words(client, with_password):
    page = try_password(client, "wrong")
    assert page.status_code == 400
    assert "password is wrong" in page.content.decode()
    assert not is_logged_in(client)


def test_the_first_password_needs_no_old_one_and_ends_other_sessions(administrator, settings):
    settings.LOGIN_REDIRECT_URL = "about"
    here, there = Client(), Client()
    here.force_login(administrator)
    there.force_login(administrator)
    answer = here.post(reverse("password"), {"new_password1": PASSWORD, "new_password2": PASSWORD})
    assert answer.status_code == 302
    assert here.get(reverse("about")).status_code == 200
    assert there.get(reverse("about")).status_code == 302
    administrator.refresh_from_db()
    assert administrator.check_password(PASSWORD)


def test_changing_the_password_asks_for_the_old_one(client, with_password):
    client.force_login(with_password)
    new = {"new_password1": "another fine phrase", "new_password2": "another fine phrase"}
    assert client.post(reverse("password"), {"old_password": "wrong", **new}).status_code == 400
    with_password.refresh_from_db()
    assert with_password.check_password(PASSWORD)


def test_the_old_password_cannot_be_guessed_there_either(client, with_password):
    client.force_login(with_password)
    new = {"new_password1": "another fine phrase", "new_password2": "another fine phrase"}
    for _ in range(attempts.PAIR_THROTTLE.free):
        assert client.post(reverse("password"), {"old_password": "wrong", **new}).status_code == 400
    page = client.post(reverse("password"), {"old_password": PASSWORD, **new})
    assert "Too many wrong passwords" in page.text
    with_password.refresh_from_db()
    assert with_password.check_password(PASSWORD)
    FailedLogins.objects.all().delete()
    assert client.post(reverse("password"), {"old_password": PASSWORD, **new}).status_code == 302


def test_the_form_has_a_field_for_the_old_password_once_one_is_set(client, administrator):
    client.force_login(administrator)
    assert 'name="old_password"' not in client.get(reverse("password")).text
    new = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    client.post(reverse("password"), new)
    assert 'name="old_password"' in client.get(reverse("password")).text
    assert client.post(reverse("password"), new).status_code == 400


def test_a_short_password_is_refused(client, administrator):
    client.force_login(administrator)
    page = client.post(reverse("password"), {"new_password1": "short", "new_password2": "short"})
    assert page.status_code == 400
    assert "at least 10 characters" in page.content.decode()


def test_logging_out_takes_a_post(client, administrator):
    client.force_login(administrator)
    assert client.get(reverse("logout")).status_code == 405
    client.post(reverse("logout"))
    assert not is_logged_in(client)


def test_forms_are_protected_against_forged_requests(administrator):
    strict = Client(enforce_csrf_checks=True)
    address = reverse("login-link", args=[people.issue_link(administrator)])
    assert strict.post(address).status_code == 403
    assert people.LoginLink.objects.get().used is None
