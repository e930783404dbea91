"""Tokens of programs: hashed, scoped, expiring, revocable, and of their owner alone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pmweb.accounts import api_tokens, people
from pmweb.accounts.api_tokens import allows, bearer_of
from pmweb.models import ApiToken, AuditEntry, Role, Scope


@pytest.fixture
def ada(db: None) -> User:
    return people.invite("ada", Role.OPERATOR)[0]


def issued(user: User, scope: Scope = Scope.READ, lifetime: timedelta | None = None) -> str:
    return api_tokens.issue(user, "a script", scope, lifetime)[1]


def test_a_token_says_for_whom_it_acts_and_what_it_may(ada: User):
    assert bearer_of(issued(ada, Scope.OPERATE))[:2] == (ada, Scope.OPERATE)


def test_only_the_hash_is_kept(ada: User):
    plain = issued(ada)
    assert plain.startswith(api_tokens.PREFIX)
    assert plain not in str(ApiToken.objects.values().get())


@pytest.mark.parametrize("text", ["", "guessed", "pmwebapi_", "pmwebapi_\0", "pmweb_x", "pmwebapi_\ud800"])
def test_what_is_no_token_lets_nobody_in(ada: User, text: str):
    issued(ada)
    assert bearer_of(text) is None


def test_a_token_expires(ada: User):
    plain = issued(ada, lifetime=timedelta(minutes=1))
    assert bearer_of(plain) is not None
    ApiToken.objects.update(expires=timezone.now())
    assert bearer_of(plain) is None


def test_a_token_never_may_more_than_its_user_does_at_the_moment(ada: User):
    plain = issued(ada, Scope.OPERATE)
    people.change_role(ada, Role.VIEWER)
    found = bearer_of(plain)
    assert found is not None
    assert found.scope == Scope.READ
    assert not allows(found.scope, Scope.OPERATE)
    assert allows(Scope.ADMINISTER, Scope.READ)


def test_a_token_beyond_the_role_is_not_made(ada: User):
    with pytest.raises(ValueError, match="cannot administer"):
        issued(ada, Scope.ADMINISTER)


def test_the_last_use_is_noted_but_not_with_every_request(ada: User, django_assert_num_queries):
    plain = issued(ada)
    bearer_of(plain)
    assert ApiToken.objects.get().last_used is not None
    with django_assert_num_queries(1):
        assert bearer_of(plain).user.account.role == "operator"
    earlier = timezone.now() - timedelta(hours=1)
    ApiToken.objects.update(last_used=earlier)
    bearer_of(plain)
    assert ApiToken.objects.get().last_used > earlier


def test_the_page_makes_a_token_shows_it_once_and_revokes_it(client: Client, ada: User):
    client.force_login(ada)
    page = client.post(reverse("api-token-make"), {"name": "nightly", "scope": "operate", "days": "30"})
    plain = page.context["plain"]
    assert plain in page.text
    assert "no-store" in page.headers["Cache-Control"]
    assert bearer_of(plain)[:2] == (ada, Scope.OPERATE)
    shown = client.get(reverse("account")).text
    assert "nightly" in shown
    assert plain not in shown
    client.post(reverse("api-token-revoke", args=[ApiToken.objects.get().pk]))
    assert bearer_of(plain) is None
    assert "revoked" in client.get(reverse("account")).text
    assert list(AuditEntry.objects.filter(action="tokens").values_list("actor_name", flat=True)) == [
        "ada",
        "ada",
    ]


def test_the_form_offers_no_more_than_the_role_allows(client: Client, ada: User):
    client.force_login(ada)
    assert 'value="administer"' not in client.get(reverse("account")).text
    page = client.post(reverse("api-token-make"), {"name": "x", "scope": "administer", "days": "30"})
    assert page.status_code == 400
    assert not ApiToken.objects.exists()


def test_nobody_revokes_the_token_of_another(client: Client, ada: User):
    plain = issued(ada)
    other, _ = people.invite("bob", Role.ADMIN)
    client.force_login(other)
    address = reverse("api-token-revoke", args=[ApiToken.objects.get().pk])
    assert client.post(address).status_code == 404
    assert bearer_of(plain) is not None


def test_the_shell_makes_lists_and_revokes(ada: User, capsys):
    call_command("api-token", "make", "nightly", "--user", "ada", "--scope", "operate", "--days", "7")
    plain = capsys.readouterr().out.strip()
    assert bearer_of(plain)[:2] == (ada, Scope.OPERATE)
    call_command("api-token", "list")
    assert "nightly, ada, operate, valid" in capsys.readouterr().out
    call_command("api-token", "revoke", str(ApiToken.objects.get().pk))
    assert bearer_of(plain) is None
    with pytest.raises(CommandError, match="cannot administer"):
        call_command("api-token", "make", "x", "--user", "ada", "--scope", "administer")
    with pytest.raises(CommandError, match="no active account"):
        call_command("api-token", "make", "x", "--user", "nobody")
