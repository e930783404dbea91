"""What a word of a search means as a name of schemes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchMeaning:
    """All schemes of some mnemonics, and the texts of particular schemes; false for what is no name."""

    mnemonics: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.mnemonics or self.texts)


NOTHING = SearchMeaning()
