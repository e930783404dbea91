"""The page of matches; pasted code redirects to the page of basic blocks."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.features.library.instruction.query import instruction_named
from inference.features.library.search.query import MOST_TEXT, PastedCode, find, pasted_code
from inference.isa.targets import DEFAULT
from inference.web.contributions import Hit, SearchHits

MOST_HITS = 8
"""Matches per group; the list of the group's kind has all."""


def search(request: HttpRequest) -> HttpResponse:
    """Groups of matches for `q`; code redirects to its block page, a mnemonic to its card.

    With `all`, a mnemonic is searched like any other word.
    """
    text = request.GET.get("q", "").strip()
    if len(text) > MOST_TEXT:
        error = f"The text has {len(text):,} characters: enter at most {MOST_TEXT:,}."
        return render(request, "inference/search/page.html", {"error": error, "q": ""}, status=400)
    code = pasted_code(text) if text else None
    if code is not None and code.certain and code.blocks:
        return redirect(block_page(code))
    instruction = None if "all" in request.GET else instruction_named(text)
    if instruction is not None:
        return redirect("instruction", isa=instruction[0].name, mnemonic=instruction[1])
    groups = find(text, MOST_HITS)
    context: dict[str, Any] = {
        "q": text,
        "groups": [(group, _listing(group, text), _linked(group)) for group in groups],
        "code": code,
        "code_page": "" if code is None or not code.blocks else block_page(code),
    }
    return render(request, "inference/search/page.html", context)


def block_page(code: PastedCode) -> str:
    """The address of the page of basic blocks with this code, decoded."""
    return f"{reverse('blocks')}?{urlencode({'isa': DEFAULT, 'code': code.code})}#decoded"


def _linked(group: SearchHits) -> list[tuple[Hit, str]]:
    """(match, address of its page)."""
    return [(hit, reverse(hit.route, args=[hit.pk])) for hit in group.hits]


def _listing(group: SearchHits, text: str) -> str:
    """The address of the list of a group's kind, filtered by the text."""
    args = [] if group.listing_of is None else [group.listing_of]
    return f"{reverse(group.listing, args=args)}?{urlencode({'q': text})}"


urlpatterns = [path("search/", search, name="search")]
