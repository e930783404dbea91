"""The preview image of a link: 1200 × 630 pixels with a title, a few numbers, and bars in the ports' colours.

Chat programs and forums do not show SVG, so this makes a PNG, with a font of its own of 5 × 7 dots.
"""

from __future__ import annotations

import struct
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from inference.figures.colours import LIGHT

WIDTH, HEIGHT = 1200, 630
_MARGIN = 60
_PAGE, _INK, _MUTED, _RULE = "#f8f9fa", "#171b21", "#58616e", "#dde1e6"

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class PictureCard:
    """Contents of a card: a title, the kind of object, (number, label) pairs, and (label, share) bars, 0 to
    1."""

    title: str
    kind: str
    facts: tuple[tuple[str, str], ...] = ()
    bars: tuple[tuple[str, float], ...] = ()

    def png(self) -> bytes:
        """The PNG file; equal cards give equal bytes."""
        canvas = np.empty((HEIGHT, WIDTH, 3), np.uint8)
        canvas[:] = _rgb(_PAGE)
        canvas[:12] = _rgb(LIGHT[0])
        y = 56
        for line in _wrap(self.title, (WIDTH - 2 * _MARGIN) // (ADVANCE * 7), 2):
            _write(canvas, line, _MARGIN, y, 7, _INK)
            y += 76
        _write(canvas, _cut(self.kind, (WIDTH - 2 * _MARGIN) // (ADVANCE * 4)), _MARGIN, y, 4, _MUTED)
        self._draw_facts(canvas)
        self._draw_bars(canvas)
        _write(canvas, "pmweb", WIDTH - _MARGIN - 5 * ADVANCE * 4, HEIGHT - 58, 4, _MUTED)
        return _png(canvas)

    def _draw_facts(self, canvas: Pixels) -> None:
        facts = self.facts[:4]
        room = (WIDTH - 2 * _MARGIN) // max(len(facts), 1)
        for place, (number, label) in enumerate(facts):
            x = _MARGIN + place * room
            _write(canvas, _cut(number, room // (ADVANCE * 6)), x, 280, 6, _INK)
            for row, line in enumerate(_wrap(label, room // (ADVANCE * 3) - 1, 2)):
                _write(canvas, line, x, 332 + 28 * row, 3, _MUTED)

    def _draw_bars(self, canvas: Pixels) -> None:
        bars = self.bars[:16]
        if not bars:
            return
        bottom, max_height = HEIGHT - 92, 130
        room = (WIDTH - 2 * _MARGIN) // max(len(bars), 8)
        canvas[bottom : bottom + 2, _MARGIN : WIDTH - _MARGIN] = _rgb(_RULE)
        for place, (label, share) in enumerate(bars):
            x, height = _MARGIN + place * room, round(max_height * max(0.0, min(1.0, share)))
            canvas[bottom - height : bottom, x : x + room - 12] = _rgb(LIGHT[place % len(LIGHT)])
            _write(canvas, _cut(label, room // (ADVANCE * 3)), x, bottom + 10, 3, _MUTED)


def _write(canvas: Pixels, text: str, x: int, y: int, scale: int, colour: str) -> None:
    ink = _rgb(colour)
    for place, sign in enumerate(text):
        left = x + place * ADVANCE * scale
        for row, line in enumerate(letter(sign)):
            for column, dot in enumerate(line):
                if dot == "#":
                    top, across = y + row * scale, left + column * scale
                    canvas[top : top + scale, across : across + scale] = ink


def _wrap(text: str, width: int, lines: int) -> list[str]:
    """The text in at most `lines` lines of `width` letters, broken at spaces if possible, and cut."""
    wrapped: list[str] = []
    remaining = " ".join(_plain(text).split())
    while remaining and len(wrapped) < lines:
        if len(remaining) <= width or len(wrapped) == lines - 1:
            wrapped.append(_cut(remaining, width))
            break
        at = remaining.rfind(" ", 0, width + 1)
        at = at if at > 0 else width
        wrapped.append(remaining[:at])
        remaining = remaining[at:].strip()
    return wrapped


def _cut(text: str, width: int) -> str:
    plain = _plain(text)
    return plain if len(plain) <= width else plain[: max(width - 2, 1)].rstrip() + ".."


def _plain(text: str) -> str:
    """The text in letters of the font: without accents, µ as u, τ as tau."""
    spelt = (
        text.replace("µ", "u")
        .replace("μ", "u")
        .replace("τ", "tau")
        .replace("–", "-")
        .replace("−", "-")
        .replace(" · ", ", ")
    )
    return unicodedata.normalize("NFKD", spelt).encode("ascii", "ignore").decode()


def _rgb(colour: str) -> Sequence[int]:
    return [int(colour[k : k + 2], 16) for k in (1, 3, 5)]


def _png(canvas: Pixels) -> bytes:
    height, width, _ = canvas.shape
    lines = b"".join(b"\0" + row.tobytes() for row in canvas)

    def part(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", head)
        + part(b"IDAT", zlib.compress(lines, 9))
        + part(b"IEND", b"")
    )


ADVANCE = 6
"""Dots from one letter to the next."""

_LETTERS = {
    "A": ".###. #...# #...# ##### #...# #...# #...#",
    "B": "####. #...# #...# ####. #...# #...# ####.",
    "C": ".#### #.... #.... #.... #.... #.... .####",
    "D": "####. #...# #...# #...# #...# #...# ####.",
    "E": "##### #.... #.... ####. #.... #.... #####",
    "F": "##### #.... #.... ####. #.... #.... #....",
    "G": ".#### #.... #.... #.### #...# #...# .###.",
    "H": "#...# #...# #...# ##### #...# #...# #...#",
    "I": ".###. ..#.. ..#.. ..#.. ..#.. ..#.. .###.",
    "J": "..### ...#. ...#. ...#. ...#. #..#. .##..",
    "K": "#...# #..#. #.#.. ##... #.#.. #..#. #...#",
    "L": "#.... #.... #.... #.... #.... #.... #####",
    "M": "#...# ##.## #.#.# #...# #...# #...# #...#",
    "N": "#...# ##..# #.#.# #..## #...# #...# #...#",
    "O": ".###. #...# #...# #...# #...# #...# .###.",
    "P": "####. #...# #...# ####. #.... #.... #....",
    "Q": ".###. #...# #...# #...# #.#.# #..#. .##.#",
    "R": "####. #...# #...# ####. #.#.. #..#. #...#",
    "S": ".#### #.... #.... .###. ....# ....# ####.",
    "T": "##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#..",
    "U": "#...# #...# #...# #...# #...# #...# .###.",
    "V": "#...# #...# #...# #...# #...# .#.#. ..#..",
    "W": "#...# #...# #...# #...# #.#.# ##.## #...#",
    "X": "#...# #...# .#.#. ..#.. .#.#. #...# #...#",
    "Y": "#...# #...# .#.#. ..#.. ..#.. ..#.. ..#..",
    "Z": "##### ....# ...#. ..#.. .#... #.... #####",
    "a": "..... ..... .###. ....# .#### #...# .####",
    "b": "#.... #.... ####. #...# #...# #...# ####.",
    "c": "..... ..... .#### #.... #.... #.... .####",
    "d": "....# ....# .#### #...# #...# #...# .####",
    "e": "..... ..... .###. #...# ##### #.... .###.",
    "f": "..##. .#... ####. .#... .#... .#... .#...",
    "g": "..... .#### #...# #...# .#### ....# .###.",
    "h": "#.... #.... ####. #...# #...# #...# #...#",
    "i": "..#.. ..... .##.. ..#.. ..#.. ..#.. .###.",
    "j": "...#. ..... ..##. ...#. ...#. #..#. .##..",
    "k": "#.... #.... #..#. #.#.. ##... #.#.. #..#.",
    "l": ".##.. ..#.. ..#.. ..#.. ..#.. ..#.. .###.",
    "m": "..... ..... ##.#. #.#.# #.#.# #.#.# #.#.#",
    "n": "..... ..... ####. #...# #...# #...# #...#",
    "o": "..... ..... .###. #...# #...# #...# .###.",
    "p": "..... ..... ####. #...# ####. #.... #....",
    "q": "..... ..... .#### #...# .#### ....# ....#",
    "r": "..... ..... #.##. ##..# #.... #.... #....",
    "s": "..... ..... .#### #.... .###. ....# ####.",
    "t": ".#... .#... ####. .#... .#... .#... ..##.",
    "u": "..... ..... #...# #...# #...# #...# .####",
    "v": "..... ..... #...# #...# #...# .#.#. ..#..",
    "w": "..... ..... #...# #...# #.#.# #.#.# .#.#.",
    "x": "..... ..... #...# .#.#. ..#.. .#.#. #...#",
    "y": "..... ..... #...# #...# .#### ....# .###.",
    "z": "..... ..... ##### ...#. ..#.. .#... #####",
    "0": ".###. #...# #..## #.#.# ##..# #...# .###.",
    "1": "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###.",
    "2": ".###. #...# ....# ..##. .#... #.... #####",
    "3": "####. ....# ....# .###. ....# ....# ####.",
    "4": "#...# #...# #...# ##### ....# ....# ....#",
    "5": "##### #.... ####. ....# ....# ....# ####.",
    "6": ".###. #.... #.... ####. #...# #...# .###.",
    "7": "##### ....# ...#. ..#.. .#... .#... .#...",
    "8": ".###. #...# #...# .###. #...# #...# .###.",
    "9": ".###. #...# #...# .#### ....# ....# .###.",
    ".": "..... ..... ..... ..... ..... .##.. .##..",
    ",": "..... ..... ..... ..... .##.. ..#.. .#...",
    ":": "..... .##.. .##.. ..... .##.. .##.. .....",
    ";": "..... .##.. .##.. ..... .##.. ..#.. .#...",
    "-": "..... ..... ..... .###. ..... ..... .....",
    "_": "..... ..... ..... ..... ..... ..... #####",
    "+": "..... ..#.. ..#.. ##### ..#.. ..#.. .....",
    "/": "....# ....# ...#. ..#.. .#... #.... #....",
    "%": "##..# ##..# ...#. ..#.. .#... #..## #..##",
    "(": "...#. ..#.. .#... .#... .#... ..#.. ...#.",
    ")": ".#... ..#.. ...#. ...#. ...#. ..#.. .#...",
    "[": ".###. .#... .#... .#... .#... .#... .###.",
    "]": ".###. ...#. ...#. ...#. ...#. ...#. .###.",
    "=": "..... ..... ##### ..... ##### ..... .....",
    "<": "...#. ..#.. .#... #.... .#... ..#.. ...#.",
    ">": ".#... ..#.. ...#. ....# ...#. ..#.. .#...",
    "*": "..... #.#.# .###. ##### .###. #.#.# .....",
    "#": ".#.#. .#.#. ##### .#.#. ##### .#.#. .#.#.",
    "!": "..#.. ..#.. ..#.. ..#.. ..#.. ..... ..#..",
    "?": ".###. #...# ....# ..##. ..#.. ..... ..#..",
    "'": "..#.. ..#.. .#... ..... ..... ..... .....",
    '"': ".#.#. .#.#. ..... ..... ..... ..... .....",
    "&": ".##.. #..#. #.#.. .#... #.#.# #..#. .##.#",
    "@": ".###. #...# #.### #.#.# #.### #.... .####",
}
"""{character: its seven lines, a `#` for each dot}."""


@cache
def letter(sign: str) -> tuple[str, ...]:
    """The seven lines of a character; empty for a space, and for characters not in the font."""
    return tuple(_LETTERS.get(sign, "").split())
