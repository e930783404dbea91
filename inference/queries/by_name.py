"""The filter that all lists of named things have."""

from __future__ import annotations

from django.db.models import Q

_MOST_WORDS = 20


def having_words(text: str) -> Q:
    """Rows with every word of a text in name or note, in any order; all of them for no words."""
    found = Q()
    for word in text.split()[:_MOST_WORDS]:
        found &= Q(name__icontains=word) | Q(note__icontains=word)
    return found
