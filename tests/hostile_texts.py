"""Texts that would be more than text in some file, and what two files have in common that differ in texts."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import count
from typing import Any

import yaml
from hypothesis import strategies as st

MARK = "PWNED"
BREAKS = ("\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\n\n", "\n#\n")
PIECES = (
    *BREAKS,
    *("*/", "-->", '"', "'", "\\", "\\\n", "\t", "\0", "\x1b[2J", "\u202e", "\ud800", "\ufffe", "\ufeff"),
    *("--- a/CMakeLists.txt\t", "+++ b/CMakeLists.txt\t", "@@ -1 +1 @@\n-x\n+y\n", "Index: CMakeLists.txt"),
    *(
        "diff --git a/x b/x",
        "deleted file mode 100644",
        "*** a/x",
        "1,2d",
        "$(reboot)",
        "`reboot`",
        "'; reboot;'",
    ),
    *("]]>", "{{ 7 }}", "{% include 'x' %}", "<script>evil()</script>", "<img src=x onerror=evil()>", "<!--"),
    *(
        "=cmd|' /C calc'!A0",
        "+1",
        "-1",
        "@x",
        "LLVM-EXEGESIS-DEFREG RAX 0",
        "LLVM-MCA-BEGIN x",
        "RUN: reboot",
    ),
    *(
        '.include "/etc/passwd"',
        '.incbin "x"',
        "!!python/object:x",
        "- x: y",
        "---\n",
        "...\n",
        "key: value",
        "? x",
    ),
    *(
        'include "x"',
        "}",
        "{",
        "#include",
        "#ifdef X",
        "#endif",
        "def X;",
        "//",
        "```",
        "````\n",
        "~~~",
        "](x)",
        "|",
    ),
    *("%s", "&amp;", "&lol;", "<", ">", "[", "]", "é", "µ", "harmless words"),
)
hostile_texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), min_size=1, max_size=4).map(
    lambda pieces: "".join([*pieces, MARK])
)
"""Drawn texts; the mark is behind whatever might begin a line."""
WORST = tuple(f"{before}{piece}{MARK}" for piece in PIECES for before in ("", "x\n", "x\u2028"))
"""A few hundred of them that are always tried."""

Shape = Any
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Texts = Callable[[], str]
"""A new text at each call, of which no two are equal."""


def texts_like(text: str) -> Texts:
    """Of this text with a number: names have to differ."""
    numbers = count()
    return lambda: f"{text}{next(numbers)}"


def shape_of_lines(text: str) -> Shape:
    """How many lines there are to whichever reader, and by what each begins."""
    return [line.strip()[:2] for line in re.split(r"\r\n|[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", text)]


_CODE = re.compile(r"^(`{3,}).*?^\1$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_FOLDS = re.compile(
    r"^(<details><summary>(To measure and to test it|How it was found)</summary>|</details>)$", re.MULTILINE
)
"""The HTML that bug reports have of their own: whole lines, in which no text of others stands."""
_BLOCK = re.compile(r" {0,3}(#+ |[-+*>] |\d{1,9}[.)] |`{3,}\w*|~~~|\||<[A-Za-z!?/]|[-=]+$)|\s*$|")


def shape_of_markdown(text: str) -> Shape:
    """What each line begins: a heading, a list, a table, a fence of whichever length, HTML, or just text."""
    assert not re.search(r"(?<!\\)<[A-Za-z!?/]", _FOLDS.sub("", _CODE.sub("", text))), ascii(text)
    begins = [match[0] for line in text.split("\n") if (match := _BLOCK.match(line))]
    return [re.sub("`+", "`", begin) for begin in begins], len(shape_of_lines(text))


def shape_of_json(text: str) -> Shape:
    return shape_of_value(json.loads(text))


def shape_of_yaml(text: str) -> Shape:
    documents = yaml.load_all(text, Loader=_LOADER)
    return [shape_of_value(document) for document in documents], shape_of_lines(text)


def shape_of_value(value: Any) -> Shape:
    """The value with its texts left out, keys with the mark included."""
    if isinstance(value, dict):
        entries = [(shape_of_text(key), shape_of_value(entry)) for key, entry in value.items()]
        return sorted(entries, key=repr)  # some writers sort by the texts
    if isinstance(value, list):
        return [shape_of_value(entry) for entry in value]
    return shape_of_text(value)


def shape_of_text(text: Any) -> Shape:
    return "text" if isinstance(text, str) and (MARK in text or HARMLESS in text) else text


HARMLESS = "harmless"


def shape_of_csv(text: str) -> Shape:
    """Columns of each row below the comments, none of whose cells is a formula."""
    head, rest = [], text
    while rest.startswith("#"):
        line, _, rest = rest.partition("\n")
        assert len(shape_of_lines(line)) == 1, ascii(line)
        head.append(line[:2])
    rows = list(csv.reader(io.StringIO(rest, newline=""), strict=True))
    for cell in (cell for row in rows for cell in row):
        assert not is_formula(cell), ascii(cell)
    return head, list(map(len, rows))


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet evaluates the cell."""
    begins = cell.lstrip(" ")
    return begins.startswith(("=", "+", "@", "\t", "\r")) or (
        begins.startswith("-") and re.fullmatch(r"-[0-9.]+(e[+-]?[0-9]+)?", begins) is None
    )


def shape_of_xml(text: str) -> Shape:
    """Every element; no attribute has a name of the texts' own."""
    elements = list(ElementTree.fromstring(text.encode()).iter())
    assert not [name for element in elements for name in element.attrib if MARK in name]
    return [element.tag for element in elements]


def shape_of_html(text: str) -> Shape:
    """Every tag with its attributes, but what they say where it is a text."""
    tags = _Tags()
    tags.feed(text)
    tags.close()
    return tags.seen


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Shape] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, [name for name, _ in attrs]))

    def handle_endtag(self, tag: str) -> None:
        self.seen.append(tag)

    def handle_comment(self, data: str) -> None:
        self.seen.append("comment")


def all_texts(value: Any) -> Iterator[str]:
    """Every text inside a value of JSON, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from all_texts(key)
            yield from all_texts(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from all_texts(entry)
