"""The page of matches; pasted code redirects to the page that explains it."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.features.library.search.query import MAX_TEXT, PastedCode, find, pasted_code
from inference.features.library.search.question import (
    SearchAnswer,
    answers_to,
    card_answers,
    near_answers,
    question_of,
)
from inference.web.contributions import Context, Hit, SearchHits

MAX_HITS = 8
"""Matches per group; the list of the group's kind has all."""
_SUGGESTED_HITS = 3
"""Matches per group below the field, while one types."""


def search(request: HttpRequest) -> HttpResponse:
    """Groups of matches for `q`; code redirects to its explanation, a question with one answer to that.

    With `all`, answers are listed above the matches.
    """
    text = request.GET.get("q", "").strip()
    if len(text) > MAX_TEXT:
        error = f"The text has {len(text):,} characters: enter at most {MAX_TEXT:,}."
        return render(request, "inference/search/page.html", {"error": error, "q": ""}, status=400)
    code = pasted_code(text) if text else None
    if code is not None and code.certain:
        return redirect(explanation_url(code))
    answers = answers_to(question_of(text))
    if len(answers) == 1 and "all" not in request.GET and (code is None or not code.blocks):
        return redirect(answers[0].page)
    return render(request, "inference/search/page.html", _matches(text, code, answers, MAX_HITS))


def suggestions(request: HttpRequest) -> HttpResponse:
    """The best matches for `q` as links, for a list below a search field."""
    text = request.GET.get("q", "").strip()[:MAX_TEXT]
    code = pasted_code(text) if text else None
    answers = answers_to(question_of(text))
    return render(
        request, "inference/search/suggestions.html", _matches(text, code, answers, _SUGGESTED_HITS)
    )


def _matches(text: str, code: PastedCode | None, answers: Sequence[SearchAnswer], limit: int) -> Context:
    has_blocks = code is not None and bool(code.blocks)
    near = [] if has_blocks or answers else near_answers(question_of(text))
    return {
        "q": text,
        "answers": [*answers, *card_answers(() if code is None else code.blocks)],
        "near": near,
        "groups": [(group, _listing(group, text), _linked_hits(group)) for group in find(text, limit)],
        "code": code,
        "code_page": explanation_url(code) if code is not None and has_blocks else "",
    }


def explanation_url(code: PastedCode) -> str:
    isa = {"isa": code.isa} if code.blocks else {}
    return f"{reverse('loop')}?{urlencode({**isa, 'code': code.code})}"


def _linked_hits(group: SearchHits) -> list[tuple[Hit, str]]:
    """(match, address of its page)."""
    return [(hit, reverse(hit.route, args=[hit.pk])) for hit in group.hits]


def _listing(group: SearchHits, text: str) -> str:
    """The address of the list of a group's kind, filtered by the text."""
    args = [] if group.listing_of is None else [group.listing_of]
    return f"{reverse(group.listing, args=args)}?{urlencode({'q': text})}"


urlpatterns = [
    path("search/", search, name="search"),
    path("search/suggestions/", suggestions, name="search-suggestions"),
]
