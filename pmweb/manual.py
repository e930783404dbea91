"""The documentation in `docs/` as pages of the site; `make docs` builds the same files with Sphinx.

`docs/index.md` lists the pages in their order, a toctree of MyST for each part. The files are the
repository's own, hence trusted, and may have HTML. A process reads each file once. Help texts of single pages
are in `pmweb.help`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pmweb.help import glossary_address

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
    """One file, by its name without `.md`; `source` is what stands below its title."""

    name: str
    part: str
    title: str
    source: str

    @property
    def address(self) -> str:
        return _page_address(self.name)

    @cached_property
    def html(self) -> SafeString:
        """The text with a place for each heading, and titles where links show names of files."""
        tokens = _MARKDOWN.parse(self.source)
        for token, anchor in _headings(tokens):
            token.attrs["id"] = anchor
        for token in tokens:
            if token.type in ("fence", "code_block", "table_open"):
                token.attrs["tabindex"] = "0"  # what is wide scrolls, by keyboard as well
            for inner, following in pairwise([*(token.children or []), Token("", "", 0)]):
                if inner.type == "link_open":
                    following.content = _title_of_file(following.content)
                    inner.attrs["href"] = _link_address(str(inner.attrs["href"]), self.name)
                elif inner.type == "image":
                    inner.attrs["src"] = static(f"docs/{Path(str(inner.attrs['src'])).name}")
        html = str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))
        return mark_safe(html)  # noqa: S308  files of the repository


@cache
def manual_parts() -> tuple[ManualPart, ...]:
    """The parts in their order, as `docs/index.md` has them."""
    return tuple(_part(section) for section in (DIRECTORY / "index.md").read_text().split("\n## ")[1:])


@cache
def manual_pages() -> dict[str, ManualPage]:
    return {page.name: page for part in manual_parts() for page in part.pages}


def _part(section: str) -> ManualPart:
    name, _, text = section.partition("\n")
    purpose, _, toctree = text.partition(_TOCTREE)
    pages = [
        line for line in toctree.split() if re.fullmatch(r"[a-z][a-z-]*", line) and line != BUILT_ELSEWHERE
    ]
    return ManualPart(name, purpose.strip(), tuple(_page(page, name) for page in pages))


def _page(name: str, part: str) -> ManualPage:
    title, _, source = (DIRECTORY / f"{name}.md").read_text().partition("\n")
    return ManualPage(name, part, title.removeprefix("# "), source)


def _headings(tokens: list[Token]) -> list[tuple[Token, str]]:
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


def _title_of_file(text: str) -> str:
    """The title of the page whose file a link shows; the text itself if it shows something else."""
    page = manual_pages().get(text.removesuffix(".md")) if text.endswith(".md") else None
    return text if page is None else page.title


def _link_address(link: str, page: str) -> str:
    """Where a link of this page leads: within the manual, or to another site."""
    if "://" in link:
        return link
    target, _, heading = unquote(link).partition("#")
    name = target.removesuffix(".md") or page
    return (
        glossary_address(heading)
        if name == "glossary"
        else _page_address(name) + (f"#{heading}" if heading else "")
    )


def _page_address(name: str) -> str:
    """The glossary has a page of its own, with a place for each term."""
    return glossary_address() if name == "glossary" else reverse("help-page", args=[name])
