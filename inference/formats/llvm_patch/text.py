"""Where `InstRW`s stand in LLVM's files, and what becomes of them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from inference.formats.errors import ExchangeError
from inference.formats.llvm_patch.shipped import Override

_DEFINITION = re.compile(  # bounded: a file of LLVM itself, in which definitions end
    r"^[ \t]*def\s*+\w*\s*+:\s*InstRW<\s*\[([^\]]*)\]\s*,\s*\((instregex|instrs)\s+(.*?)\)\s*>\s*;[^\n]*\n",
    re.DOTALL | re.MULTILINE,
)
_STRING = re.compile(r'"([^"]*)"')
_COMMENT = re.compile(r"//[^\n]*")
_WIDTH = 80


@dataclass(frozen=True)
class ModelFile:
    """The file of a scheduling model: its path below LLVM's folder, and its text."""

    path: str
    text: str


def file_of_model(folder: Path, target: Path, model: str) -> ModelFile:
    """The file that has definitions of a model. Raises `ExchangeError` where none has."""
    opened = re.compile(rf"SchedModel\s*=\s*{re.escape(model)}\b")
    for path in sorted(target.glob("*.td")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if opened.search(text):
            return ModelFile(path.relative_to(folder).as_posix(), text)
    raise ExchangeError(f"no file in {target} has definitions of {model}")


def places_of_overrides(text: str, overrides: Sequence[Override]) -> dict[int, tuple[int, int]]:
    """{number of the override: where its definition begins and ends}, of those that stand in the text."""
    there: dict[Override, list[tuple[int, int]]] = {}
    for found in _DEFINITION.finditer(text):
        writes, operator, arguments = found.groups()
        plain = _COMMENT.sub("", arguments)
        named = _STRING.findall(plain) if operator == "instregex" else _words(plain)
        one = Override(tuple(_words(_COMMENT.sub("", writes))), operator, tuple(named))
        there.setdefault(one, []).append(found.span())
    places = {}
    for number, override in enumerate(overrides):
        if spans := there.get(override):
            places[number] = spans.pop(0)
    return places


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text) if word]


def replaced(text: str, replacements: dict[tuple[int, int], str]) -> str:
    """The text with other words in some places."""
    return "".join(_parts(text, replacements))


def _parts(text: str, replacements: dict[tuple[int, int], str]) -> Iterator[str]:
    place = 0
    for (begin, end), words in sorted(replacements.items()):
        yield text[place:begin]
        yield words
        place = end
    yield text[place:]


def listed_override(writes: Sequence[str], opcodes: Sequence[str]) -> str:
    """An `InstRW` of opcodes by name."""
    names = textwrap.fill(", ".join(opcodes), _WIDTH, initial_indent="  ", subsequent_indent="  ")
    return f"def : InstRW<[{', '.join(writes)}], (instrs\n{names}\n)>;\n"
