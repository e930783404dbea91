"""Published pages bring a strict Content-Security-Policy along, wherever they are hosted, and keep to it."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from inference.models import PortMapping, StoredCoreModel
from pmweb import sharing
from pmweb.sharing import ShareRequest
from tests.features.site.test_pages import core, site
from tests.rows.lab import machine

__all__ = ["core", "machine"]

LOADS = {"src", "srcset", "poster", "data", "background"}


class Page(HTMLParser):
    """What of a page a Content-Security-Policy is about."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.policy: dict[str, list[str]] = {}
        self.texts: dict[str, list[str]] = {"style": [], "script": []}
        self.offences: list[str] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = {name: rest for name, *rest in map(str.split, (given["content"] or "").split(";"))}
        elif not self.policy and tag in {"style", "script", "link", "img"}:
            self.offences.append(f"<{tag}> before the policy")
        self.offences += [f"{tag} {name}" for name in given if name.startswith("on") or name == "style"]
        self.offences += [f"{tag} {name}" for name in LOADS & set(given) if "//" in (given[name] or "")]
        if tag in {"iframe", "object", "embed", "base", "form"}:
            self.offences.append(tag)
        if any("javascript:" in (value or "").lower() for value in given.values()):
            self.offences.append(f"{tag} with a script in an address")
        self._open = tag if tag in self.texts and "src" not in given else ""

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open].append(data)


def assert_keeps_to_its_policy(text: str) -> Page:
    page = Page(text)
    assert page.policy, "the page has no policy"
    assert page.policy["default-src"] == ["'none'"]
    assert page.policy["base-uri"] == page.policy["form-action"] == ["'none'"]
    assert not {"'unsafe-inline'", "'unsafe-eval'", "*", "https:", "http:"} & {
        source for sources in page.policy.values() for source in sources
    }
    assert page.offences == []
    for tag, texts in page.texts.items():
        digests = [f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'" for part in texts]
        assert page.policy[f"{tag}-src"] == (digests or ["'self'"])
    return page


def test_every_page_of_a_published_site_has_a_policy_and_keeps_to_it(
    core: StoredCoreModel, mapping: PortMapping
) -> None:
    one, many = site(("core", core.pk)), site(("core", core.pk), ("mapping", mapping.pk), title="Two cores")
    pages = [
        content.decode() for files in (one, many) for path, content in files.items() if path[-5:] == ".html"
    ]
    assert len(pages) == 4
    for text in pages:
        assert len(assert_keeps_to_its_policy(text).texts["script"]) == 1


def test_the_page_of_a_shared_link_has_one_too(
    mapping: PortMapping, administrator: User, client: Client
) -> None:
    wanted = ShareRequest(items=[f"mapping:{mapping.pk}"])
    _, token = sharing.share(administrator, wanted, by=administrator)
    answer = client.get(f"/shared/{token}/")
    page = assert_keeps_to_its_policy(answer.content.decode())
    assert page.texts == {"style": [], "script": []}
    assert "Content-Security-Policy" in answer.headers


@pytest.mark.parametrize(
    "text", ["<p onclick=a()>", "<p style='a:b'>", "<script>a()</script>", "<base href=/>"]
)
def test_the_check_sees_what_a_policy_forbids(text: str, mapping: PortMapping) -> None:
    page = site(("mapping", mapping.pk))["index.html"].decode()
    with pytest.raises(AssertionError):
        assert_keeps_to_its_policy(page.replace("<h1>", f"{text}<h1>"))


def test_no_other_files_in_html_are_made_for_elsewhere() -> None:
    """Whoever begins an HTML document elsewhere has to bring a policy along, and a test."""
    documents = [
        path.relative_to(settings.BASE_DIR)
        for folder in ("templates", "inference", "anica_app", "pmweb")
        for path in (settings.BASE_DIR / folder).rglob("*")
        if path.suffix in {".py", ".html"} and re.search(r"<!doctype|<html", path.read_text(), re.IGNORECASE)
    ]
    assert set(map(str, documents)) == {
        "templates/base.html",
        "templates/inference/publishing/frame.html",
        "inference/formats/near_formats.py",  # knows how such documents begin
    }
