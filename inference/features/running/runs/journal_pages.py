"""Pages of a journal on their way to readers, in memory until they have been read."""

from __future__ import annotations

from collections.abc import Iterable

PAGE_BYTES = 1 << 18
"""Of text in a page: there are many readers, and some read slowly."""

Messages = list[tuple[int, str]]
"""Events as text, each with its number."""


def first_page(messages: Iterable[tuple[int, str]]) -> Messages:
    """The first messages with `PAGE_BYTES` together; one in any case, if there are some."""
    page: Messages = []
    size = 0
    for seq, text in messages:
        size += len(text)
        if page and size > PAGE_BYTES:
            break
        page.append((seq, text))
    return page
