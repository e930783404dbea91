"""The glossary."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from pmweb.help.terms import BY_NAME, TERMS
from pmweb.help.text import rendered


def glossary(request: HttpRequest) -> HttpResponse:
    """All terms, each with its meaning and the terms that explain more."""
    terms = [
        (term, rendered(term.meaning, lambda page: False), [BY_NAME[name] for name in term.see])
        for term in TERMS
    ]
    return render(request, "pmweb/glossary.html", {"terms": terms})
