"""Files with several parts, of which one is read at a time: `--microarchitecture` or a choice says which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inference.formats.document import PART
from inference.formats.problems import excerpt
from inference.formats.source import Source


def facts_of_part(source: Source, parts: Sequence[str]) -> dict[str, Any]:
    """What a document tells of its parts; the first is read unless one is wanted. Notes a part it lacks."""
    part = source.wanted or parts[0]
    if part not in parts:
        source.at().add(
            f"the file has no part {excerpt(part)}",
            f"choose one (--microarchitecture in the shell): {', '.join(parts)}",
        )
    return {PART: part, "microarchitectures": list(parts) if len(parts) > 1 else []}
