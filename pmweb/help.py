"""Help of the pages and the glossary, read once from `docs/`, and the template tags that show them.

Tests fail for a page without help, and for links to unknown terms or pages.

A heading is a page's URL name, or a term; below it are paragraphs and list items, in CommonMark without HTML.
A link to a heading leads to that page, or to the term in the glossary.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from django import template
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.token import Token

from inference.formats.provenance import CITATION, PRODUCT

_GLOSSARY = Path(settings.BASE_DIR) / "docs" / "glossary.md"
_OPERATORS = SafeString("Operators:")
_MARKDOWN = MarkdownIt("commonmark", {"html": False})


@dataclass(frozen=True)
class PageHelp:
    """Help of a page: what it shows, what visitors can do, and what operators can do besides."""

    what: SafeString
    can: list[SafeString]
    operators: list[SafeString]


@dataclass(frozen=True)
class GlossaryTerm:
    """A term of the glossary; `more` has synonyms and related terms."""

    name: str
    meaning: SafeString
    more: SafeString | None = None

    @property
    def anchor(self) -> str:
        return _anchor(self.name)


@cache
def page_helps() -> dict[str, PageHelp]:
    """{URL name of a page: its help}."""
    helps = {}
    for file in sorted((_GLOSSARY.parent / "help").glob("*.md")):
        for name, texts in sections(file).items():
            split = texts.index(_OPERATORS) if _OPERATORS in texts else len(texts)
            helps[name] = PageHelp(texts[0], texts[1:split], texts[split + 1 :])
    return helps


@cache
def glossary_terms() -> list[GlossaryTerm]:
    """All terms, in the order of the file."""
    return [GlossaryTerm(name, *texts) for name, texts in sections(_GLOSSARY).items()]


def sections(file: Path) -> dict[str, list[SafeString]]:
    """{heading of the second level: paragraphs and list items below it, as HTML}."""
    sections: dict[str, list[SafeString]] = {}
    texts: list[SafeString] = []
    for previous, token in pairwise(_MARKDOWN.parse(file.read_text())):
        if previous.type == "heading_open" and previous.tag == "h2":
            texts = sections[token.content] = []
        elif previous.type == "paragraph_open":
            texts.append(_html(token.children or [], file))
    return sections


def _html(tokens: list[Token], file: Path) -> SafeString:
    for token in tokens:
        if token.type == "link_open":
            token.attrs["href"] = _address(str(token.attrs["href"]), file)
    html = str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))
    return mark_safe(html)  # noqa: S308  the renderer escapes texts and attributes


def _address(link: str, file: Path) -> str:
    """The site's address of a link between these files."""
    target, _, heading = unquote(link).partition("#")
    if (target or file.name).endswith(_GLOSSARY.name):
        return glossary_address(heading)
    return reverse(heading)


def glossary_address(heading: str = "") -> str:
    """The page of the glossary, at the term with this heading."""
    return reverse("glossary") + (f"#{_anchor(heading)}" if heading else "")


def _anchor(term: str) -> str:
    """Anchor of a term, or of a link's heading."""
    return "term-" + slugify(term.replace("µ", "u").replace("τ", "tau").replace("ε", "epsilon"))


register = template.Library()


@register.simple_tag
def product_line() -> SafeString:
    """Name and version of the product, with the citation for files that scripts write."""
    return format_html(
        '<span data-product="{0}" data-citation="{1}" title="{1}">{0}</span>', PRODUCT, CITATION
    )


@register.inclusion_tag("partials/page_help.html", takes_context=True)
def page_help(context: template.Context) -> dict[str, Any]:
    """Context of the page's help; {} if it has none."""
    request: HttpRequest | None = context.get("request")
    match = None if request is None else request.resolver_match
    texts = None if match is None else page_helps().get(match.url_name or "")
    if texts is None:
        return {}
    can = texts.can + (texts.operators if context.get("may_operate") else [])
    return {"what": texts.what, "can": can, "may_read": context.get("may_read")}
