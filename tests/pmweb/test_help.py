"""Every page says what it is, the glossary has every word that is linked, the walk leads through."""

from __future__ import annotations

import re

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from inference.features.library.example.loading import load_example
from pmweb.accounts.people import invite
from pmweb.help.pages import HELP
from pmweb.help.terms import BY_NAME, TERMS
from pmweb.help.text import MARKUP
from pmweb.models import Role
from pmweb.permissions.rules import ANYBODY
from pmweb.permissions.table import TABLE

PARTS = {"experiment-snippet", "machine-state", "machine-noise", "run-heat-map"}
"""Read by a page, or by programs: no pages themselves."""
FILES = re.compile(r".*-(csv|export|file|archive|tree|blocks|report|session|client)$|agent-download$")
WAYS_IN = {"health", "metrics", "login", "login-link"}


def is_page(name: str) -> bool:
    """Whether the address shows a page of the site."""
    rule = TABLE[name]
    if rule.read is None or rule.guards_itself or rule == ANYBODY or name.startswith("ws-"):
        return False
    is_file = rule.records == "exported" or (FILES.match(name) and name not in HELP)
    return name not in PARTS | WAYS_IN and not is_file


PAGES = sorted(filter(is_page, TABLE))
SENTENCES = [sentence for each in HELP.values() for sentence in each.sentences]


def test_every_page_has_help():
    assert [name for name in PAGES if name not in HELP] == [], "write it in pmweb/help"


def test_no_help_is_left_over():
    assert [name for name in HELP if name not in TABLE] == []


def test_sentences_name_only_terms_and_pages_that_are_there():
    for sentence in (*SENTENCES, *(term.meaning for term in TERMS)):
        for found in MARKUP.finditer(sentence):
            assert found["term"] is None or found["term"] in BY_NAME, found[0]
            assert found["page"] is None or reverse(found["page"])
        assert "[[" not in MARKUP.sub("", sentence), sentence


def test_terms_explain_each_other_and_each_has_a_place_of_its_own():
    assert [name for term in TERMS for name in term.see if name not in BY_NAME] == []
    assert len({term.anchor for term in TERMS}) == len(TERMS)
    assert all(re.fullmatch(r"term-[a-z_-]+", term.anchor) for term in TERMS)


def test_the_help_is_on_the_page_and_leads_to_the_glossary(client: Client, administrator: User):
    client.force_login(administrator)
    page = client.get(reverse("runs")).text
    assert "What is this page?" in page
    (link,) = set(re.findall(r'href="([^"]*#term-run)"', page))
    assert f'id="{link.partition("#")[2]}"' in client.get(link).text


def test_whoever_may_only_look_is_told_only_what_they_can_do(client: Client, db: None):
    client.force_login(invite("a viewer", Role.VIEWER)[0])
    page = client.get(reverse("runs")).text
    assert HELP["runs"].can[0].split(";")[0] in page
    assert HELP["runs"].operators[0] not in page


def test_all_terms_are_on_their_page(client: Client, administrator: User):
    client.force_login(administrator)
    page = client.get(reverse("glossary")).text
    assert all(f'id="{term.anchor}"' in page for term in TERMS)
    assert "R<sub>max</sub>" in page


def test_the_walk_offers_the_example_and_then_leads_through_it(client: Client, administrator: User):
    client.force_login(administrator)
    assert "The example is not here yet" in client.get(reverse("tour")).text
    load_example()
    stops = client.get(reverse("tour")).context["stops"]
    assert len(stops) == 5
    for stop in stops:
        assert client.get(stop.address).status_code == 200, stop.title
