"""Which parts of a compiler's output are code, and where data among code cannot be reached."""

from __future__ import annotations

import re


class Sections:
    """Follows the directives and statements of a text.

    Data is passed over in sections of data, and in code where a label stands before it and no instruction
    runs into it, as tables of jumps do.
    """

    def __init__(self) -> None:
        self.in_code = True
        self._stack = [True]
        self._falls_through = False
        self._in_data = False

    def directive(self, name: str, rest: str) -> None:
        """A directive that may change the section; any other one does nothing."""
        if name == "popsection":
            if len(self._stack) > 1:
                self.in_code = self._stack.pop()
        elif name == "previous":
            self.in_code, self._stack[-1] = self._stack[-1], self.in_code
        else:
            if name == "pushsection":
                self._stack.append(self.in_code)
            is_code = holds_code(name, rest)
            if is_code is not None:
                if name != "pushsection":
                    self._stack[-1] = self.in_code
                self.in_code = is_code
        if not self.in_code:
            self._in_data = False

    def begin_paragraph(self) -> None:
        """No instruction of the paragraph before runs into what follows."""
        self._falls_through = self._in_data = False

    def reach_label(self) -> None:
        """What follows is no part of the data before it."""
        self._in_data = False

    def reach_instruction(self, *, falls_through: bool) -> None:
        """An instruction, from which the one behind it can be reached or not."""
        self._in_data = False
        self._falls_through = falls_through

    def data_is_unreachable(self, is_labelled: bool) -> bool:
        """Whether data that stands here is never run."""
        if not self.in_code:
            return True
        unreachable = not self._falls_through and (is_labelled or self._in_data)
        self._in_data = self._in_data or unreachable
        return unreachable


_SECTION = re.compile(r"[\"']?([^\s,\"']+)[\"']?(?:\s*,\s*[\"']?([^\s,\"']*)[\"']?)?")
_TEXT_SECTIONS = re.compile(r"\.(?:text|init|fini|plt)\b.*|__text|__TEXT.*|_TEXT.*|code", re.IGNORECASE)


def holds_code(name: str, rest: str) -> bool | None:
    """Whether what follows a directive is in a section of code; None where it does not change the section."""
    if name in ("text", "init", "fini"):
        return True
    if name in (
        "data",
        "bss",
        "rodata",
        "tdata",
        "tbss",
        "cstring",
        "const",
        "literal4",
        "literal8",
        "literal16",
    ):
        return False
    if name not in ("section", "pushsection"):
        return None
    found = _SECTION.match(rest.strip())
    if found is None:
        return None
    section, second = found.group(1), found.group(2) or ""
    if section == "__TEXT":
        return second == "__text"
    return bool(_TEXT_SECTIONS.fullmatch(section)) or "x" in second
