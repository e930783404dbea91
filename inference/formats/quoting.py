"""How texts from anywhere stand in files: one function for each syntax, whatever the text holds.

CSV has `csv_cells`, XML `xml_lines`; pages have Django's templates.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from inference.core.texts import REPLACEMENT, UNSAFE, one_line, paragraphs

_DIRECTIVE = re.compile(r"(?:LLVM|OSACA|IACA)-|[A-Z][A-Z0-9_-]*:")
"""What llvm-exegesis, llvm-mca, OSACA, lit and FileCheck take for more, where a comment begins so."""


def comment(sign: str, text: str) -> str:
    """A line of comment with its line break, behind the sign that begins one."""
    return f"{sign} {one_line(text)}\n"


def assembly_comment(text: str) -> str:
    """A comment of assembly, without a line break, that no tool takes for a directive."""
    line = one_line(text)
    return f"# '{line}" if _DIRECTIVE.match(line) else f"# {line}"


_REMARK = re.compile(r"(?!(?:diff|index|prereq)\b|x)[a-z][\w ]*: ", re.IGNORECASE | re.ASCII)


def patch_remark(text: str) -> str:
    """A line with its line break ahead of a patch's first file.

    patch and git look for the first file themselves, behind blanks and the letter X too: what begins
    otherwise than `words: ` stands behind a sign that neither knows.
    """
    line = one_line(text)
    return f"{line}\n" if _REMARK.match(line) else f"# {line}\n"


def json_text(value: Any, **options: Any) -> str:
    """A value as JSON, which is YAML as well; `options` are those of `json.dumps`.

    Letters stand as they are, what is unsafe in a text is escaped.
    """
    return UNSAFE.sub(_escaped, json.dumps(value, ensure_ascii=False, **options))


def _escaped(match: re.Match[str]) -> str:
    """The character as JSON escapes it; `�` for a lone surrogate, which YAML cannot hold even so."""
    if match[0] == "\n":  # between values, where `indent` puts it
        return match[0]
    return REPLACEMENT if "\ud800" <= match[0] <= "\udfff" else f"\\u{ord(match[0]):04x}"


def one_line_each(document: Mapping[str, Any], long: str) -> str:
    """A JSON object with one line per key, and one per key inside the long one: good to read and compare."""
    lines = []
    for key, value in document.items():
        if key == long:
            inner = ",\n".join(f"  {json_text(name)}: {json_text(entry)}" for name, entry in value.items())
            lines.append(f" {json_text(key)}: {{\n{inner}\n }}")
        else:
            lines.append(f" {json_text(key)}: {json_text(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def yaml_line(text: str) -> str:
    """Any text as a YAML text of one line, in single quotes."""
    return "'" + one_line(text).replace("'", "''") + "'"


def shell_word(text: str) -> str:
    """Any text as one word of a command line that people paste into a shell."""
    return shlex.quote(one_line(text))


def shell_option(option: str, text: str) -> str:
    """An option with any text: also one like `--settings=…`, which Django would take for an option."""
    return f"{option}{'=' if text.startswith('-') else ' '}{shell_word(text)}"


_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\(|\A(?:[#>+*=|-]|```|~~~|\d+(?=[.)]\s))")
"""What begins HTML, the address of a link, or a block where a line begins."""


def markdown_line(text: str) -> str:
    """Any text as a line of text, or a part of one."""
    return _MARKUP.sub(_escaped_markup, one_line(text))


def _escaped_markup(match: re.Match[str]) -> str:
    return f"{match[0]}\\" if match[0].isdecimal() else f"\\{match[0]}"


def markdown_cell(text: str) -> str:
    """Any text as a cell of a table."""
    return markdown_line(text).replace("|", "\\|")


def code_span(text: str) -> str:
    """Any text as code within a line; a backtick becomes an apostrophe."""
    return f"`{one_line(text).replace('`', chr(39))}`"


def code_block(language: str, text: str) -> str:
    """Lines of code between fences that are longer than any in them."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 0)
    return f"{fence}{language}\n{paragraphs(text).rstrip(chr(10))}\n{fence}"
