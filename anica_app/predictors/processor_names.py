"""What is said of a processor that a tool does not know: which ones it may have been, and which there are."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from inference.isa.tool_names import TOOL_NAMES

_MOST_NEAR = 3


def not_known(option: str, tool: str, given: str, known: Sequence[str]) -> str:
    """A message that begins with the option, for `known` names of processors in the tool's own order.

    Names by which other tools know a processor count as near: `HSW` and `Zen 4` for `haswell` and `znver4`.
    """
    near = _near(given, known)
    hint = f"is it {' or '.join(near)}? It" if near else "it"
    there = ", ".join(known) or "none at all"
    return f"{option}: {tool} knows no processor {given[:60]!r}; {hint} knows {there}"


def _near(given: str, known: Sequence[str]) -> list[str]:
    by_folded = {name.casefold(): name for name in known}
    wanted = _folded(given)
    same = [
        by_folded[tool_name.casefold()]
        for core, names in TOOL_NAMES.items()
        for tool_name in (names.osaca, names.llvm)
        if wanted in {_folded(core), _folded(names.osaca), _folded(names.llvm)}
        and tool_name.casefold() in by_folded
    ]
    alike = difflib.get_close_matches(given.casefold(), by_folded, _MOST_NEAR)
    return list(dict.fromkeys([*same, *(by_folded[name] for name in alike)]))[:_MOST_NEAR]


def _folded(name: str) -> str:
    return "".join(name.casefold().split())
