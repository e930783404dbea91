"""No log and no other site learns the token of an address: those of every route that has one are tried."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pytest
from django.test import Client
from django.urls import reverse

from pmweb.accounts import people
from pmweb.logs import AccessFormatter, JsonFormatter, TerminalFormatter, _fields, without_tokens
from tests.secret_addresses import TOKEN, WORDS, secret_addresses, text_parameters

SECRET = secret_addresses()


def test_every_word_in_an_address_is_known_to_be_a_token_or_harmless():
    assert text_parameters() == {"token"} | WORDS, (
        "is the new part of an address secret? Then call it `token`, else add it to `WORDS`"
    )


def test_there_are_some():
    assert {reverse("login-link", args=[TOKEN]), reverse("shared", args=[TOKEN])} < set(SECRET)


def spellings(address: str) -> Iterator[str]:
    """As addresses occur in the lines of a log."""
    yield address
    yield f"http://localhost:8000{address}?a=b"
    yield f"{reverse('login')}?next={address}"
    once = urlencode({"next": address})
    yield f"{reverse('confirm')}?{once}"
    yield f"{reverse('login')}?{urlencode({'next': f'/account/confirm/?{once}'})}&a=b"
    yield f'GET "{address}" HTTP/1.1'
    yield quote(address, safe="").lower().replace(TOKEN.lower(), TOKEN)


@pytest.mark.parametrize("address", SECRET)
def test_no_line_of_a_log_has_it(address):
    for text in spellings(address):
        record = logging.makeLogRecord({"msg": "%s", "args": (text,), "name": "a", "levelno": 30})
        for formatter in (TerminalFormatter(), JsonFormatter()):
            assert TOKEN not in formatter.format(record), text
        assert "…" in without_tokens(text)


@pytest.mark.parametrize("address", SECRET)
def test_the_access_log_does_not_have_it(address):
    for text in spellings(address):
        path, _, query = text.partition("?")
        scope = {
            "path": path,
            "query_string": query.encode(),
            "headers": [(b"referer", text.encode())],
            "client": ("127.0.0.1", 1),
        }
        record = logging.makeLogRecord({"access": _fields(scope, 0.0, "-", 200, 0)})
        assert TOKEN not in AccessFormatter().format(record), text
        assert TOKEN not in json.dumps(json.loads(JsonFormatter().format(record))), text


@pytest.mark.django_db
@pytest.mark.parametrize("address", SECRET)
def test_what_a_page_loads_or_links_to_is_not_told_it(address):
    policy = Client().get(address)["Referrer-Policy"]
    assert policy in {"no-referrer", "strict-origin"}


def test_a_link_still_logs_in_where_its_page_tells_its_origin_alone(administrator, settings):
    settings.ALLOWED_HOSTS = ["pmweb.example.org"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    client = Client(enforce_csrf_checks=True)
    site = {"Host": "pmweb.example.org", "X-Forwarded-Proto": "https"}
    address = reverse("login-link", args=[people.issue_link(administrator)])
    page = client.get(address, headers=site).content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token is not None
    sent = {"csrfmiddlewaretoken": token[1]}
    answer = client.post(address, sent, headers={**site, "Referer": "https://pmweb.example.org/"})
    assert answer.status_code == 302
