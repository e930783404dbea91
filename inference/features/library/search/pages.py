"""The page of what the search box found; pasted code leads on to the page of basic blocks."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.features.library.instruction.query import instruction_named
from inference.features.library.search.query import MOST_TEXT, Pasted, find, pasted
from inference.isa.targets import DEFAULT
from inference.web.contributions import Hit, SearchHits

MOST_HITS = 8
"""Hits shown of each group; the list of the group has the others."""


def search(request: HttpRequest) -> HttpResponse:
    """Groups of what was found for `q`; certain code leads to its block page, a mnemonic to its card.

    With `all`, a mnemonic is looked for like any other word.
    """
    text = request.GET.get("q", "").strip()
    if len(text) > MOST_TEXT:
        error = f"The text has {len(text):,} characters; up to {MOST_TEXT:,} are looked for."
        return render(request, "inference/search/page.html", {"error": error, "q": ""}, status=400)
    code = pasted(text) if text else None
    if code is not None and code.certain and code.blocks:
        return redirect(block_page(code))
    named = None if "all" in request.GET else instruction_named(text)
    if named is not None:
        return redirect("instruction", isa=named[0].name, mnemonic=named[1])
    groups = find(text, MOST_HITS)
    context: dict[str, Any] = {
        "q": text,
        "groups": [(each, _listing(each, text), _linked(each)) for each in groups],
        "code": code,
        "code_page": "" if code is None or not code.blocks else block_page(code),
    }
    return render(request, "inference/search/page.html", context)


def block_page(code: Pasted) -> str:
    """The page of basic blocks with this code in its form, decoded."""
    return f"{reverse('blocks')}?{urlencode({'isa': DEFAULT, 'code': code.code})}#decoded"


def _linked(group: SearchHits) -> list[tuple[Hit, str]]:
    """Each hit with the address of its page."""
    return [(hit, reverse(hit.route, args=[hit.pk])) for hit in group.hits]


def _listing(group: SearchHits, text: str) -> str:
    """The list of a group's kind, filtered by the same text."""
    args = [] if group.listing_of is None else [group.listing_of]
    return f"{reverse(group.listing, args=args)}?{urlencode({'q': text})}"


urlpatterns = [path("search/", search, name="search")]
