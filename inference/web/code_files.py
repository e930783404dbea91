"""Texts of code that commands read, and which of their pieces is meant."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path

from django.core.management.base import CommandError

from inference.isa.blocks import Block, piece_of, read
from inference.isa.targets import DEFAULT

MOST_BYTES = 16 * 2**20
"""Of a file; a listing of 200,000 lines has fewer."""


def add_piece_option(parser: ArgumentParser) -> None:
    """`--piece`: one loop or straight piece of the text."""
    parser.add_argument(
        "--piece",
        metavar="NAME|N",
        default="",
        help="only this loop or straight piece of the code, by its name or number in `manage.py decode`",
    )


def blocks_of_file(
    file: str, piece: str, most: int, warn: Callable[[str], object], isa: str = DEFAULT
) -> list[Block]:
    """The blocks of a file, `-` for the standard input, or one of them. Raises `CommandError`.

    `warn` gets a sentence about each line that looks like code and is in no block.
    """
    reading = read(text_of_file(file), most, isa)
    chosen = [piece_of(reading.pieces, piece)] if piece else reading.pieces
    for dropped in reading.dropped:
        warn(f"warning: {dropped}")
    return [one.block for one in chosen]


def text_of_file(file: str) -> str:
    """What a file has, `-` for the standard input. Raises `CommandError`."""
    try:
        if file == "-":
            content = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                content = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error
    if len(content) > MOST_BYTES:
        raise CommandError(f"{file} has more than {MOST_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise CommandError(f"{file} is no UTF-8: see line {number}") from error
