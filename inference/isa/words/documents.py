"""Documents with learnt encodings: they have a line for each operand, scheme and form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from inference.isa.encodings import WordEncoding, text_of_field

_VERSION = 2  # the first one with encodings
_ENCODED = ("match", "mask", "fields")


class LearntDocument(NamedTuple):
    """A document with learnt encodings.

    Attributes:
        content: The whole document, of version 2.
        forms: Number of schemes and other forms with an encoding.
        checked: Instances with drawn operands whose code the encodings reproduce.
        changes: The texts of forms whose encoding is another one than before.
        failures: {text of a form: why it has no encoding}.
    """

    content: bytes
    forms: int
    checked: int
    changes: Sequence[str]
    failures: Mapping[str, str]


def with_encodings(content: bytes, encodings: Mapping[str, WordEncoding]) -> bytes:
    """The document with these encodings of its schemes and forms, by text, in place of those it has."""
    document: dict[str, Any] = json.loads(content)
    document["version"] = _VERSION
    for row in (*document["schemes"], *document.get("forms", ())):
        flow = row.pop("flow", "")
        for key in _ENCODED:
            row.pop(key, None)
        if (encoding := encodings.get(row["text"])) is not None:
            row["match"], row["mask"] = f"{encoding.match:08x}", f"{encoding.mask:08x}"
            if encoding.fields:
                row["fields"] = [text_of_field(field) for field in encoding.fields]
        if flow:
            row["flow"] = flow
    parts = [f"  {json.dumps(key)}: {_value(value)}" for key, value in document.items()]
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode()


def _value(value: Any) -> str:
    """A list or an object with a line for each of its entries; another value in one line."""
    if isinstance(value, dict):
        lines = [
            f"    {json.dumps(key)}: {json.dumps(entry, ensure_ascii=False)}" for key, entry in value.items()
        ]
        return "{\n" + ",\n".join(lines) + "\n  }"
    if isinstance(value, list):
        lines = [f"    {json.dumps(entry, ensure_ascii=False)}" for entry in value]
        return "[\n" + ",\n".join(lines) + "\n  ]"
    return json.dumps(value, ensure_ascii=False)
