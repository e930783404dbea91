"""Decorations and damages of the lines of listings, drawn by a random generator."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from tests.isa.printed_listings import FORMS, JUMPS, STRAIGHT, Line, lines_of
from tests.isa.printed_native_listings import NATIVE_FORMS, Printed

ARROWS = ("↗", "↘", "│", "│ │", "╭ │", "├─>", "└─<", "┌─>", "▶", "╎", "⟶", "↑", "▲", "✔")
COLOURS = ("\x1b[31m", "\x1b[0m", "\x1b[1;38;5;12m", "\x1b[K", "\x1b(B\x1b[m")
INVISIBLE = ("\u200b", "\ufeff", "\u2060")
SOURCES = (
    "    for (int i = 0; i < n; i++) {",
    "/tmp/a.c:7",
    "; /tmp/a.c:7:12",
    "        s += a[i] * b[i];",
    "",
    "   ",
    "────────────",
    "}",
)
WITHOUT_SOURCES = frozenset({"vtune", "go build -gcflags=-S", "intel", "att", "compiler"})
"""Forms that have no source lines between instructions."""

JUNK = ("?", "@", "|", "<", "}", "foo ", "x", "!", "\\", "=", "\x01", "\u00e2")
CODE = re.compile(
    r"\b(?:[re][abcds][xip]|[xyz]mm\d|r9d?)\b|^\s*(?:0x)?[0-9a-f]{6,16}:|([0-9a-f]{2} ){2}", re.I
)
"""What no line has that is not code: a register, an address, bytes."""

Decorate = Callable[[str, Random], str]


def inserted(line: str, rng: Random, what: tuple[str, ...]) -> str:
    at = rng.randint(0, len(line))
    return f"{line[:at]}{rng.choice(what)}{line[at:]}"


def arrow_before(line: str, rng: Random) -> str:
    share = re.match(r"\s*\d+\.\d+%?\s+:?", line)
    at = share.end() if share else 0
    return f"{line[:at]} {rng.choice(ARROWS)} {line[at:]}"


def misread(line: str, rng: Random) -> str:
    """UTF-8 that was read as Windows' Latin letters."""
    decorated = arrow_before(line, rng)
    return "".join(
        chr(byte) if byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D) else bytes([byte]).decode("cp1252")
        for byte in decorated.encode()
    )


DECORATIONS: dict[str, Decorate] = {
    "arrows": arrow_before,
    "misread": misread,
    "frames": lambda line, rng: f"{line}   {rng.choice(ARROWS)}",
    "colours": lambda line, rng: f"{inserted(line, rng, COLOURS)}{COLOURS[1]}",
    "invisible": lambda line, rng: inserted(line, rng, INVISIBLE),
    "no-break blanks": lambda line, rng: line.replace(" ", "\u00a0"),
    "blanks": lambda line, rng: f"{line}  \t",
}


DAMAGES: dict[str, Decorate] = {
    "junk": lambda line, rng: inserted(line, rng, JUNK),
    "cut": lambda line, rng: line[: rng.randint(0, len(line))],
    "cut before": lambda line, rng: line[rng.randint(0, len(line)) :],
    "unknown": lambda line, rng: re.sub(r"\b(add|imul|dec|mov|nop)", "frob", line),
    "of AArch64": lambda line, rng: "  add x0, x1, x2",
    "without address": lambda line, rng: re.sub(r"^.*?:", "", line),
}


def applied(printed: list[Printed], change: Decorate, rng: Random) -> list[Printed]:
    """The lines, some of those with instructions changed."""
    places = [at for at, line in enumerate(printed) if line.number is not None]
    chosen = rng.sample(places, rng.randint(1, len(places)))
    return [
        line._replace(text=change(line.text, rng)) if at in chosen else line
        for at, line in enumerate(printed)
    ]


def with_sources(printed: list[Printed], rng: Random) -> list[Printed]:
    """The lines with source lines between those of two instructions."""
    sourced: list[Printed] = []
    for line in printed:
        begins = sourced and line.number is not None and line.number != sourced[-1].number
        if begins and rng.random() < 0.5:
            sourced.append(Printed(rng.choice(SOURCES)))
        sourced.append(line)
    return sourced


def of_form(name: str, lines: list[Line]) -> list[Printed]:
    if name in NATIVE_FORMS:
        return list(NATIVE_FORMS[name](lines))
    headings = {*FORMS[name](()), ".L3:", "G_M000_IG03:", "M00_L00:"}
    numbers = iter(range(len(lines)))
    return [Printed(text, None if text in headings else next(numbers)) for text in FORMS[name](lines)]


def decorated(name: str, lines: list[Line], rng: Random) -> str:
    """The listing with some decorations, one after the other: what is inserted anywhere comes last."""
    printed = of_form(name, lines)
    chosen = rng.sample(list(DECORATIONS), rng.randint(1, 3))
    for change, decorate in DECORATIONS.items():
        printed = applied(printed, decorate, rng) if change in chosen else printed
    if name not in WITHOUT_SOURCES and rng.random() < 0.5:
        printed = with_sources(printed, rng)
    return rng.choice(["\n", "\r\n"]).join(line.text for line in printed)


def drawn_loop(rng: Random) -> list[Line]:
    """A few instructions, and mostly a jump from the last to one of them."""
    codes = rng.choices(STRAIGHT, k=rng.randint(2, 6))
    if rng.random() < 0.75:
        distance = -sum(map(len, codes[rng.randrange(len(codes)) :])) - 2
        codes.append(bytes([rng.choice(list(JUMPS.values())), distance & 0xFF]))
    return lines_of(codes)
