"""Pieces of texts that do harm where a reader trusts them (`_corpus/hostile_texts.json`)."""

from __future__ import annotations

import json
from pathlib import Path

_PIECES = json.loads((Path(__file__).parent / "_corpus" / "hostile_texts.json").read_text())
TEXTS: list[str] = _PIECES["texts"]
NUMBERS: list[str] = _PIECES["numbers"]
"""As they are written in JSON, also those that it does not have."""
SNIPPETS: list[bytes] = [snippet.encode("latin-1") for snippet in _PIECES["snippets"]]
"""Signs of the formats that are read, and halves of characters."""
ENTITIES: list[bytes] = [entity.encode() for entity in _PIECES["entities"]]
"""Declarations of XML that grow, or read what they should not."""
NAMES_IN_ARCHIVES: list[str] = _PIECES["names in archives"]
PUMPED_WORDS: list[str] = _PIECES["pumped words"]
"""Those by which `.ci/patterns` has shown a pattern of this program to be ambiguous, and a few more."""
