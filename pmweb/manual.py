"""The documentation in `docs/` as pages of the site; `make docs` builds the same files with Sphinx.

`docs/index.md` lists the pages in their order, a toctree of MyST for each part. The files are the
repository's own, hence trusted, and may have HTML. Help texts of single pages are in `pmweb.help`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

DIRECTORY = Path(settings.BASE_DIR) / "docs"
BUILT_ELSEWHERE = "python"
"""The page of functions and classes: Sphinx makes it from their docstrings, and the site does not have it."""

_MARKDOWN = MarkdownIt("commonmark").enable("table")
_TOCTREE = "```{toctree}\n"


@dataclass(frozen=True)
class ManualPart:
    """Pages of one kind; `purpose`: whom they serve."""

    name: str
    purpose: str
    pages: tuple[ManualPage, ...]


@dataclass(frozen=True)
class ManualPage:
    """One file, by its name without `.md`."""

    name: str
    part: str

    @property
    def title(self) -> str:
        return self._source().partition("\n")[0].removeprefix("# ")

    @property
    def address(self) -> str:
        return page_address(self.name)

    def _source(self) -> str:
        return (DIRECTORY / f"{self.name}.md").read_text()

    def html(self) -> SafeString:
        """The text below its title, with a place for each heading."""
        tokens = _MARKDOWN.parse(self._source().partition("\n")[2])
        for token, anchor in headings(tokens):
            token.attrs["id"] = anchor
        for token in tokens:
            for inner, following in pairwise([*(token.children or []), Token("", "", 0)]):
                if inner.type == "link_open":
                    following.content = title_of_file(following.content)
                    inner.attrs["href"] = link_address(str(inner.attrs["href"]), self.name)
                elif inner.type == "image":
                    inner.attrs["src"] = static(f"docs/{Path(str(inner.attrs['src'])).name}")
        html = str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))
        return mark_safe(html)  # noqa: S308  files of the repository


@cache
def manual_parts() -> tuple[ManualPart, ...]:
    """The parts in their order, as `docs/index.md` has them."""
    return tuple(_part(section) for section in (DIRECTORY / "index.md").read_text().split("\n## ")[1:])


def _part(section: str) -> ManualPart:
    name, _, text = section.partition("\n")
    purpose, _, toctree = text.partition(_TOCTREE)
    names = [line for line in toctree.split() if re.fullmatch(r"[a-z][a-z-]*", line)]
    pages = (ManualPage(page, name) for page in names if page != BUILT_ELSEWHERE)
    return ManualPart(name, purpose.strip(), tuple(pages))


@cache
def manual_page(name: str) -> tuple[ManualPage, SafeString] | None:
    """The page of this name with its text; `None` where there is none."""
    pages = (page for part in manual_parts() for page in part.pages)
    page = next((page for page in pages if page.name == name), None)
    return None if page is None else (page, page.html())


def headings(tokens: list[Token]) -> list[tuple[Token, str]]:
    """The headings of a text with their anchors: GitHub's, and MyST's."""
    anchors: Counter[str] = Counter()
    places = []
    for opening, content in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(inner.content for inner in content.children or [])
            anchor = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
            places.append((opening, f"{anchor}-{anchors[anchor]}" if anchors[anchor] else anchor))
            anchors[anchor] += 1
    return places


def title_of_file(text: str) -> str:
    """The title of the page whose file a link shows; the text itself if it shows something else."""
    page = next((page for part in manual_parts() for page in part.pages if text == f"{page.name}.md"), None)
    return text if page is None else page.title


def link_address(link: str, page: str) -> str:
    """Where a link of this page leads: within the manual, or to another site."""
    if "://" in link:
        return link
    target, _, heading = unquote(link).partition("#")
    return page_address(target.removesuffix(".md") or page) + (f"#{heading}" if heading else "")


def page_address(name: str) -> str:
    """The glossary has a page of its own, with an anchor per term."""
    return reverse("glossary") if name == "glossary" else reverse("help-page", args=[name])
