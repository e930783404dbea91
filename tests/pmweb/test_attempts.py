"""Guessing passwords: what is counted, how long one waits, and who is not shut out by it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.http.cookie import SimpleCookie
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pmweb.accounts import attempts, forms, people
from pmweb.accounts.attempts import ADDRESS_THROTTLE, FIRST_WAIT, NAME_THROTTLE, PAIR_THROTTLE, AttemptSource
from pmweb.models import AuditEntry, FailedLogins, Role

PASSWORD = "seven blue horses"
HERE, ELSEWHERE = "127.0.0.1", "203.0.113.9"


@pytest.fixture
def ada(administrator: User) -> User:
    """An operator with a password, not the only account."""
    user, _ = people.invite("ada", Role.OPERATOR)
    user.set_password(PASSWORD)
    user.save()
    return user


def attempt(client: Client, password: str, name: str = "ada") -> Any:
    return client.post(reverse("login"), {"username": name, "password": password})


def is_let_in(client: Client, password: str = PASSWORD, name: str = "ada") -> bool:
    return attempt(client, password, name).status_code == 302


def guess(name: str = "ada", address: str = HERE, times: int = PAIR_THROTTLE.free) -> None:
    """Wrong passwords, as many as are looked at."""
    for _ in range(times):
        attempts.count_attempt(AttemptSource(address), name)


def wait_before_next(source: AttemptSource, name: str) -> timedelta:
    """How long an attempt would have to wait, without making one."""
    with transaction.atomic():
        wait = attempts.count_attempt(source, name)
        transaction.set_rollback(True)
    return wait


def let_pass(time: timedelta) -> None:
    """Let all counts be older."""
    for row in FailedLogins.objects.all():
        FailedLogins.objects.filter(pk=row.pk).update(last=row.last - time)


def test_after_a_few_wrong_passwords_even_the_right_one_has_to_wait(ada: User):
    client = Client()
    for _ in range(PAIR_THROTTLE.free):
        assert "do not match" in attempt(client, "wrong").text
    page = attempt(client, PASSWORD)
    assert page.status_code == 400
    assert "Too many wrong passwords. Try again in 15 s" in page.text
    assert "_auth_user_id" not in client.session


def test_each_further_failure_makes_the_next_wait_twice_as_long_up_to_an_hour(ada: User):
    guess()
    waits = []
    for _ in range(12):
        waits.append(wait_before_next(AttemptSource(HERE), "ada"))
        let_pass(waits[-1])
        assert attempts.count_attempt(AttemptSource(HERE), "ada") == timedelta(0)
    rounded = [round(wait.total_seconds()) for wait in waits]
    assert rounded[:8] == [round(FIRST_WAIT.total_seconds()) * 2**n for n in range(8)]
    assert max(rounded) == 3600
    assert rounded == sorted(rounded)


def test_the_wait_ends_and_counts_sink_with_time(ada: User):
    guess()
    let_pass(FIRST_WAIT)
    assert is_let_in(Client())
    guess(times=PAIR_THROTTLE.free)
    let_pass(PAIR_THROTTLE.forgiven_after)
    assert attempts.count_attempt(AttemptSource(HERE), "ada") == timedelta(0), "one was forgiven"
    let_pass(timedelta(days=3))
    guess("somebody else", times=1)
    assert FailedLogins.objects.count() == 3, "those that no longer count are swept away"


def test_a_clock_that_was_set_back_makes_nobody_wait_for_ever(ada: User):
    guess()
    FailedLogins.objects.update(last=timezone.now() + timedelta(days=300))
    assert wait_before_next(AttemptSource(HERE), "ada") <= FIRST_WAIT


def test_a_success_clears_the_failures_of_address_and_name(ada: User):
    client = Client()
    attempt(client, "wrong")
    assert is_let_in(client)
    assert list(FailedLogins.objects.filter(failures__gt=0).values_list("failures", flat=True)) == [1, 1]
    guess()
    assert wait_before_next(AttemptSource(HERE), "ada") > timedelta(0)


def test_an_own_log_in_does_not_clear_what_was_guessed_of_another(ada: User):
    guess("admin")
    assert is_let_in(Client())
    assert wait_before_next(AttemptSource(HERE), "admin") > timedelta(0)


def test_guessing_elsewhere_or_another_name_does_not_shut_this_one_out(ada: User):
    guess("ada", ELSEWHERE)
    guess("admin", HERE)
    assert is_let_in(Client())


def test_an_address_that_tries_name_after_name_has_to_wait(ada: User):
    for number in range(ADDRESS_THROTTLE.free):
        guess(f"name {number}", times=1)
    assert not is_let_in(Client())
    assert is_let_in(Client(REMOTE_ADDR=ELSEWHERE))


def test_a_name_that_is_guessed_at_from_everywhere_has_to_wait(ada: User):
    for number in range(NAME_THROTTLE.free):
        guess("Ada", f"203.0.113.{number}", times=1)
    assert "Too many wrong passwords" in attempt(Client(REMOTE_ADDR="198.51.100.1"), PASSWORD).text
    assert wait_before_next(AttemptSource("198.51.100.1"), "admin") == timedelta(0)


def test_addresses_of_one_ipv6_network_count_as_one(ada: User):
    for number in range(PAIR_THROTTLE.free):
        guess("ada", f"2001:db8:1:2:{number}::{number + 1}", times=1)
    assert not is_let_in(Client(REMOTE_ADDR="2001:db8:1:2:ffff::1"))
    assert is_let_in(Client(REMOTE_ADDR="2001:db8:1:3::1"))


def test_an_address_of_ipv4_inside_ipv6_is_the_same_one(ada: User):
    guess("ada", f"::ffff:{ELSEWHERE}")
    assert not is_let_in(Client(REMOTE_ADDR=ELSEWHERE))


def test_a_browser_that_has_logged_in_before_is_not_shut_out_by_others_behind_its_address(ada: User):
    hers = Client()
    assert is_let_in(hers)
    hers.post(reverse("logout"))
    for number in range(ADDRESS_THROTTLE.free):
        guess("ada", times=1)
        guess(f"name {number}", times=1)
    for number in range(NAME_THROTTLE.free):
        guess("ada", f"203.0.113.{number}", times=1)
    assert not is_let_in(Client())
    assert is_let_in(hers)


def test_a_known_browser_has_as_few_attempts_as_others(ada: User):
    hers = Client()
    assert is_let_in(hers)
    hers.post(reverse("logout"))
    for _ in range(PAIR_THROTTLE.free):
        attempt(hers, "wrong")
    assert not is_let_in(hers)


def test_a_known_browser_is_known_for_its_own_account_alone(ada: User, administrator: User):
    administrator.set_password(PASSWORD)
    administrator.save()
    hers = Client()
    assert is_let_in(hers)
    hers.post(reverse("logout"))
    guess("admin")
    assert not is_let_in(hers, name="admin")


def test_a_new_password_makes_known_browsers_unknown(ada: User):
    thief = Client()
    assert is_let_in(thief)
    thief.post(reverse("logout"))
    ada.set_password("another fine phrase")
    ada.save()
    guess()
    assert not is_let_in(thief, "another fine phrase")


@pytest.mark.parametrize("text", ["x", "x:y:z", "a" * 5000, '{"1": ["n", "p"]}'])
def test_a_forged_cookie_makes_no_browser_known(ada: User, text: str):
    guess()
    thief = Client()
    thief.cookies = SimpleCookie({attempts.cookie_name(): text})
    assert not is_let_in(thief)


def test_a_browser_is_known_to_five_accounts_at_most(administrator: User):
    browser = Client()
    for number in range(7):
        user, _ = people.invite(f"user{number}", Role.VIEWER)
        browser.post(reverse("login-link", args=[people.issue_link(user)]))
        browser.post(reverse("logout"))
    assert len(browser.cookies[attempts.cookie_name()].value) < 1000


def test_of_attempts_that_come_at_once_no_more_are_looked_at(ada: User, monkeypatch: pytest.MonkeyPatch):
    looked_at = []

    def slowly(**credentials: str) -> None:
        """While one password is looked at, another attempt comes."""
        looked_at.append(credentials)
        if len(looked_at) < 4 * PAIR_THROTTLE.free:
            attempt(Client(), "wrong")

    monkeypatch.setattr(forms, "authenticate", slowly)
    attempt(Client(), "wrong")
    assert len(looked_at) == PAIR_THROTTLE.free


def test_of_attempts_at_a_name_from_everywhere_at_once_no_more_are_looked_at(
    ada: User, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(attempts, "NAME_THROTTLE", replace(NAME_THROTTLE, free=8))
    looked_at = []

    def slowly(**credentials: str) -> None:
        looked_at.append(credentials)
        if len(looked_at) < 12:
            attempt(Client(REMOTE_ADDR=f"203.0.113.{len(looked_at)}"), "wrong")

    monkeypatch.setattr(forms, "authenticate", slowly)
    attempt(Client(), "wrong")
    assert len(looked_at) == 8


def test_who_has_to_wait_does_not_wait_longer_for_trying_again(ada: User):
    guess(times=PAIR_THROTTLE.free + 3)
    assert wait_before_next(AttemptSource(HERE), "ada") <= FIRST_WAIT


def test_a_form_without_a_password_is_no_attempt(ada: User):
    assert attempt(Client(), "").status_code == 400
    assert not FailedLogins.objects.exists()


def test_the_last_attempt_before_the_pause_lets_in_with_the_right_password(ada: User):
    guess(times=PAIR_THROTTLE.free - 1)
    assert is_let_in(Client())


def test_a_log_in_link_works_while_passwords_have_to_wait(ada: User):
    guess()
    assert Client().post(reverse("login-link", args=[people.issue_link(ada)])).status_code == 302


def test_failures_are_in_the_audit_log_without_what_was_typed(ada: User):
    client = Client(REMOTE_ADDR=ELSEWHERE)
    attempt(client, "wrong")
    attempt(client, "wrong", "a password typed as name")
    found = AuditEntry.objects.filter(action="failed").order_by("id").values_list("name", "address")
    assert list(found) == [("ada", ELSEWHERE), ("an unknown name", ELSEWHERE)]
    assert "typed as name" not in str(list(AuditEntry.objects.values())) + str(
        list(FailedLogins.objects.values())
    )


def test_having_to_wait_is_noted_once_and_not_each_time(ada: User):
    client = Client(REMOTE_ADDR=ELSEWHERE)
    for _ in range(PAIR_THROTTLE.free + 20):
        attempt(client, "wrong")
    assert AuditEntry.objects.filter(action="failed").count() == PAIR_THROTTLE.free
    assert AuditEntry.objects.filter(action="refused").count() == 1
