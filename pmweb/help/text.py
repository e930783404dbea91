"""Sentences of help, and how they become HTML.

`[[term]]` and `[[term|shown]]` lead to the glossary, `[label](route)` to a page, and backticks make code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from pmweb.help.terms import anchor_of

MARKUP = re.compile(
    r"\[\[(?P<term>[^][|]+)(?:\|(?P<shown>[^][|]+))?\]\]"
    r"|\[(?P<label>[^][]+)\]\((?P<page>[a-z-]+)\)"
    r"|`(?P<code>[^`]+)`"
)


@dataclass(frozen=True)
class Help:
    """Of a page: `what` somebody looks at, what they `can` do, and what `operators` can do besides."""

    what: str
    can: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of its text."""
        return (self.what, *self.can, *self.operators)


def rendered(sentence: str, may_open: Callable[[str], bool]) -> SafeString:
    """The sentence as HTML; a page that the visitor may not open is named without a link."""
    parts: list[str] = []
    end = 0
    for found in MARKUP.finditer(sentence):
        parts += [sentence[end : found.start()], _marked(found, may_open)]
        end = found.end()
    parts.append(sentence[end:])
    return format_html_join("", "{}", ((part,) for part in parts))  # which escapes what is no HTML yet


def _marked(found: re.Match[str], may_open: Callable[[str], bool]) -> str:
    if (term := found["term"]) is not None:
        address = f"{reverse('glossary')}#{anchor_of(term)}"
        return format_html('<a href="{}">{}</a>', address, found["shown"] or term)
    if (code := found["code"]) is not None:
        return format_html("<code>{}</code>", code)
    if not may_open(found["page"]):
        return str(found["label"])
    return format_html('<a href="{}">{}</a>', reverse(found["page"]), found["label"])
