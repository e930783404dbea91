"""The sections of a compiler's output: code, data, and data among code that cannot be reached."""

from __future__ import annotations

import re


class Sections:
    """Tracks the section and the reachability through a text's directives and statements.

    Data is skipped in sections of data, and in code where it follows a label and no instruction runs into it,
    such as jump tables.
    """

    def __init__(self) -> None:
        self.in_code = True
        self._stack = [True]
        self._falls_through = False
        self._in_data = False

    def directive(self, name: str, arguments: str) -> None:
        """Update the section; most directives do not change it."""
        if name == "popsection":
            if len(self._stack) > 1:
                self.in_code = self._stack.pop()
        elif name == "previous":
            self.in_code, self._stack[-1] = self._stack[-1], self.in_code
        else:
            if name == "pushsection":
                self._stack.append(self.in_code)
            is_code = holds_code(name, arguments)
            if is_code is not None:
                if name != "pushsection":
                    self._stack[-1] = self.in_code
                self.in_code = is_code
        if not self.in_code:
            self._in_data = False

    def begin_paragraph(self) -> None:
        """No instruction of the previous paragraph runs into this one."""
        self._falls_through = self._in_data = False

    def reach_label(self) -> None:
        """The following text is not part of the previous data."""
        self._in_data = False

    def reach_instruction(self, *, falls_through: bool) -> None:
        """An instruction; `falls_through`: the next one can be reached from it."""
        self._in_data = False
        self._falls_through = falls_through

    def data_is_unreachable(self, is_labelled: bool) -> bool:
        """Whether data at this place is never executed."""
        if not self.in_code:
            return True
        unreachable = not self._falls_through and (is_labelled or self._in_data)
        self._in_data = self._in_data or unreachable
        return unreachable


_SECTION = re.compile(r"[\"']?([^\s,\"']+)[\"']?(?:\s*,\s*[\"']?([^\s,\"']*)[\"']?)?")
"""Name and segment or flags: `.text,"ax"`, `__TEXT,__text`."""

_TEXT_SECTIONS = re.compile(r"\.(?:text|init|fini|plt)\b.*|__text|__TEXT.*|_TEXT.*|code", re.IGNORECASE)
"""Of ELF, Mach-O and COFF."""


def holds_code(name: str, arguments: str) -> bool | None:
    """Whether a directive begins a section of code; None where it does not change the section."""
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
    match = _SECTION.match(arguments.strip())
    if match is None:
        return None
    section, second = match.group(1), match.group(2) or ""
    if section == "__TEXT":
        return second == "__text"
    return bool(_TEXT_SECTIONS.fullmatch(section)) or "x" in second
