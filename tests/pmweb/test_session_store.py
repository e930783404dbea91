"""Somebody has read the database, or a back-up of it, and tries to log in with what stands there."""

from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from pmweb.accounts.sessions import SessionStore, digest_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def logged_in(administrator: User) -> Client:
    client = Client()
    client.force_login(administrator)
    return client


def test_no_key_that_is_read_in_the_database_logs_anybody_in(logged_in: Client) -> None:
    assert logged_in.get(reverse("runs")).status_code == 200
    row = Session.objects.get()
    for stolen in (row.session_key, row.session_data, row.session_data.rpartition(":")[2]):
        thief = Client()
        thief.cookies[settings.SESSION_COOKIE_NAME] = stolen
        assert thief.get(reverse("runs")).status_code == 302


def test_the_key_of_a_cookie_stands_nowhere_in_the_database(logged_in: Client) -> None:
    key = logged_in.cookies[settings.SESSION_COOKIE_NAME].value
    row = Session.objects.get()
    assert key not in row.session_key + row.session_data
    assert row.session_key == digest_of(key)
    assert len(row.session_key) <= Session._meta.get_field("session_key").max_length


def test_a_row_of_an_older_version_with_its_key_in_plain_lets_nobody_in(logged_in: Client) -> None:
    key = logged_in.cookies[settings.SESSION_COOKIE_NAME].value
    Session.objects.update(session_key=key)
    assert logged_in.get(reverse("runs")).status_code == 302


def test_logging_out_ends_the_session_and_a_new_password_changes_its_key(logged_in: Client) -> None:
    key = logged_in.cookies[settings.SESSION_COOKIE_NAME].value
    session = SessionStore(key)
    session.cycle_key()
    assert not SessionStore().exists(key)
    assert SessionStore().exists(session.session_key)
    logged_in.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    logged_in.post(reverse("logout"))
    assert not Session.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_what_runs_in_an_event_loop_keeps_no_key_either() -> None:
    async def life() -> None:
        made = SessionStore()
        made["a"] = 1
        await made.asave()
        key = made.session_key
        assert await Session.objects.filter(session_key=digest_of(key)).aexists()
        assert await SessionStore().aexists(key)
        again = SessionStore(key)
        assert await again.aget("a") == 1
        await again.adelete()
        assert not await SessionStore().aexists(key)
        assert await SessionStore(key).aget("a") is None

    async_to_sync(life)()
