"""Every page says what it is, the glossary has every word that is linked, the walk leads through."""

from __future__ import annotations

import re
from pathlib import Path

from django.contrib.auth.models import User
from django.test import Client
from django.urls import resolve, reverse

from inference.features.library.example.loading import load_example
from pmweb.accounts.people import invite
from pmweb.help import glossary_terms, page_helps, sections
from pmweb.models import Role
from pmweb.permissions.table import ANYBODY, TABLE

PARTS = {"experiment-snippet", "machine-state", "machine-noise", "run-heat-map"}
"""Read by a page, or by programs: no pages themselves."""
FILES = re.compile(r".*-(csv|export|file|archive|tree|blocks|report|session|client)$|agent-download$")
WAYS_IN = {"health", "metrics", "login", "login-link"}


def is_page(name: str) -> bool:
    """Whether the address shows a page of the site."""
    rule = TABLE[name]
    if rule.read is None or rule.guards_itself or rule == ANYBODY or name.startswith("ws-"):
        return False
    is_file = rule.records == "exported" or (FILES.match(name) and name not in page_helps())
    return name not in PARTS | WAYS_IN and not is_file


PAGES = sorted(filter(is_page, TABLE))
LINK = re.compile(r'<a href="([^"]+)">')
TEXTS = {
    **{name: [texts.what, *texts.can, *texts.operators] for name, texts in page_helps().items()},
    **{term.anchor: [term.meaning, term.more or ""] for term in glossary_terms()},
}
LINKS = [(place, link) for place, texts in TEXTS.items() for text in texts for link in LINK.findall(text)]


def test_every_page_has_help():
    assert [name for name in PAGES if name not in page_helps()] == [], "write it in docs/help"


def test_no_help_is_left_over():
    assert [name for name in page_helps() if name not in TABLE] == []


def test_links_lead_to_terms_and_pages_that_are_there():
    anchors = {f"{reverse('glossary')}#{term.anchor}" for term in glossary_terms()}
    assert len(LINKS) > 100
    for place, link in LINKS:
        assert link in anchors or resolve(link.partition("#")[0]).url_name in page_helps(), (place, link)
        assert link in anchors or "#" not in link, (place, link)


def test_whoever_reads_the_help_may_open_the_pages_that_it_links_to():
    for place, link in LINKS:
        if place in page_helps():
            needed = TABLE[resolve(link.partition("#")[0]).url_name].read
            levels = {TABLE[place].read, TABLE[place].change} - {None}
            assert needed <= min(levels), (place, link)


def test_no_markup_is_left_in_a_text():
    """A reference without its definition stays in brackets."""
    texts = [re.sub("<code>.*?</code>", "", text) for texts in TEXTS.values() for text in texts]
    assert [text for text in texts if re.search(r"\[|\*\*|^- ", text)] == []


def test_terms_have_places_of_their_own():
    anchors = [term.anchor for term in glossary_terms()]
    assert len(set(anchors)) == len(anchors) > 30
    assert all(re.fullmatch(r"term-[a-z_-]+", anchor) for anchor in anchors)


def test_html_in_a_file_of_help_is_escaped(tmp_path: Path):
    file = tmp_path / "hostile.md"
    file.write_text("## runs\n\n<script>x</script>\n\n- <img src=x>\n")
    assert sections(file) == {"runs": ["&lt;script&gt;x&lt;/script&gt;", "&lt;img src=x&gt;"]}


def test_the_help_is_on_the_page_and_leads_to_the_glossary(client: Client, administrator: User):
    client.force_login(administrator)
    page = client.get(reverse("runs")).text
    assert "What is this page?" in page
    (link,) = set(re.findall(r'href="([^"]*#term-run)"', page))
    assert f'id="{link.partition("#")[2]}"' in client.get(link).text


def test_whoever_may_only_look_is_told_only_what_they_can_do(client: Client, db: None):
    client.force_login(invite("a viewer", Role.VIEWER)[0])
    page = client.get(reverse("runs")).text
    assert page_helps()["runs"].can[0].split(";")[0] in page
    assert page_helps()["runs"].operators[0] not in page


def test_all_terms_are_on_their_page(client: Client, administrator: User):
    client.force_login(administrator)
    page = client.get(reverse("glossary")).text
    assert all(f'id="{term.anchor}"' in page for term in glossary_terms())
    assert "R<sub>max</sub>" in page


def test_the_walk_offers_the_example_and_then_leads_through_it(client: Client, administrator: User):
    client.force_login(administrator)
    assert "The example is not here yet" in client.get(reverse("tour")).text
    load_example()
    stops = client.get(reverse("tour")).context["stops"]
    assert len(stops) == 5
    for stop in stops:
        assert client.get(stop.address).status_code == 200, stop.title
