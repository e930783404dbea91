"""Addresses that visitors say lead nowhere but to pages of this site, and never to a fault."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from pmweb.accounts import people

PASSWORD = "seven blue horses"
SITE = "http://testserver"
WRONG = {
    "a word": "foo",
    "the name of a page": "about",
    "a relative address": "foo/bar",
    "a relative file": "foo.html",
    "a dot": ".",
    "a query": "?a=b",
    "a fragment": "#a",
    "blanks": "  /about/",
    "another site": "https://evil.example/",
    "without a scheme": "//evil.example/",
    "with three slashes": "///evil.example/",
    "back slashes": "\\\\evil.example",
    "a slash and a back slash": "/\\evil.example",
    "a scheme alone": "https:evil.example",
    "a script": "javascript:alert(1)",
    "an open bracket": "http://[evil",
    "too long": "/" + "a" * 3000,
    "an account before the host": "http://testserver@evil.example/",
}
ODD = {"line breaks": "/x\r\nSet-Cookie: a=b", "not ASCII": "/é\u202e", "a percent": "/%zz"}
WALKED = {
    "NUL": "/x\0y",  # refused before any view
    "line breaks": ODD["line breaks"],
    **{name: WRONG[name] for name in ("a word", "too long", "without a scheme", "back slashes")},
}
NAMES_OF_DESTINATIONS = ("next", "back", "to", "return", "url", "redirect")


@pytest.fixture
def with_password(administrator: User) -> User:
    administrator.set_password(PASSWORD)
    administrator.save()
    return administrator


def logged_in(client: Client, address: str) -> str:
    """Where the right password leads to."""
    answer = client.post(reverse("login"), {"password": PASSWORD, "next": address})
    assert answer.status_code == 302
    return answer.url


def by_link(client: Client, user: User) -> str:
    return client.post(reverse("login-link", args=[people.issue_link(user)])).url


@pytest.mark.parametrize("address", WRONG.values(), ids=WRONG)
def test_what_is_no_address_of_this_site_leads_to_the_usual_page(client, with_password, address):
    usual = reverse("start")
    assert logged_in(client, address) == usual
    assert client.get(reverse("login"), {"next": address}).url == usual  # who is logged in already
    assert client.post(reverse("confirm"), {"password": PASSWORD, "next": address}).url == usual


@pytest.mark.parametrize("address", WRONG.values(), ids=WRONG)
def test_a_link_that_confirms_leads_to_the_usual_page_as_well(client, administrator, address):
    by_link(client, administrator)
    session = client.session
    session["shown-at"] = 0.0
    session.save()
    assert client.get(reverse("confirm"), {"next": address}).status_code == 200
    assert by_link(client, administrator) == reverse("start")


@pytest.mark.parametrize("address", ODD.values(), ids=ODD)
def test_odd_signs_are_quoted(client, with_password, address):
    assert re.fullmatch(r"/[!-~]+", logged_in(client, address))


def test_a_page_of_this_site_is_still_led_to(client, with_password):
    for address in (f"{reverse('runs')}?page=2#a", f"{SITE}{reverse('runs')}"):
        assert logged_in(client, address) == address
        client.post(reverse("logout"))


def plain_addresses() -> list[str]:
    """Those of all pages, buttons and files that need no number or name in their path."""
    return sorted(path for path in addresses_below(get_resolver().url_patterns, "/") if "<" not in path)


def addresses_below(patterns: list[URLPattern | URLResolver], before: str) -> Iterator[str]:
    for pattern in patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses_below(pattern.url_patterns, path)
        else:
            yield path


ADDRESSES = plain_addresses()


@pytest.mark.parametrize("address", WALKED.values(), ids=WALKED)
def test_no_page_or_button_leads_elsewhere_or_fails(with_password, address):
    """As a visitor, and as an administrator who has to confirm; by field, query and the page before."""
    client = Client(raise_request_exception=False)
    sent = dict.fromkeys(NAMES_OF_DESTINATIONS, address)
    referer = re.sub(r"[\r\n\0]", "", address)
    for log_in in (False, True):
        for path in ADDRESSES:
            if log_in:
                client.force_login(with_password)
            for answer in (
                client.get(path, sent, headers={"Referer": referer}),
                client.post(path, sent, headers={"Referer": f"{SITE}/{referer}"}),
            ):
                assert answer.status_code < 500, path
                if 300 <= answer.status_code < 400:
                    target = urlsplit(urljoin(SITE + path, answer.url))
                    assert f"{target.scheme}://{target.netloc}" == SITE, (path, answer.url)


def test_there_is_much_to_walk():
    assert len(ADDRESSES) > 50
