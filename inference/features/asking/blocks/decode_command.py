"""`manage.py decode`: the blocks of a text and the scheme of each instruction. Needs no database."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from inference.formats.sample_document import decoded_json
from inference.isa.blocks import DETECTED, read
from inference.isa.code.block import BlockError
from inference.isa.code.pasted_blocks import BlocksOfText
from inference.isa.code.pieces import Piece
from inference.isa.targets import names_with_blocks
from inference.web.data_command import DataCommand, text_of_file

MAX_BLOCKS = 100_000
_TEXT_WIDTH = 44


class Command(DataCommand):
    help = (
        "Read assembly in Intel or AT&T syntax, what compilers, disassemblers, debuggers and perf print, or "
        "machine code in hexadecimal digits: print its loops and other blocks, and the scheme of each "
        "instruction. With --json, one object; an error is one, too, with exit status 1."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", default="-", help="file; -: the standard input (default)")
        parser.add_argument(
            "--isa",
            choices=names_with_blocks(),
            default=DETECTED,
            help="instruction set of the code (default: as the code shows; of digits x86-64)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            reading = read(text_of_file(options["file"]), MAX_BLOCKS, options["isa"])
        except CommandError as error:
            self._fail(str(error), as_json=options["json"])
        except BlockError as error:
            self._fail(error.message, error.line, error.column, as_json=options["json"])
        else:
            if options["json"]:
                self.stdout.write(json.dumps(decoded_json(reading), ensure_ascii=False))
            else:
                self._write(reading)

    def _fail(self, message: str, line: int = 0, column: int = 0, *, as_json: bool) -> None:
        if not as_json:
            raise CommandError(str(BlockError(message, line, column)))
        self.stdout.write(json.dumps({"error": message, "line": line, "column": column}, ensure_ascii=False))
        sys.exit(1)

    def _write(self, reading: BlocksOfText) -> None:
        for piece in reading.pieces:
            for line in _table(piece):
                self.stdout.write(line)
        for dropped in reading.dropped:
            self.stdout.write(f"Warning: {dropped}")
        for note in reading.notes:
            self.stdout.write(f"{note[0].upper()}{note[1:]}.")


def _table(piece: Piece) -> list[str]:
    """The lines of a block: a heading, each instruction with its scheme, and the assumptions."""
    block = piece.block
    rows = [(instruction.text, instruction.scheme or "no scheme") for instruction in block.instructions]
    if block.closing is not None:
        rows.append((block.closing_text, "closes the loop"))
    return [
        f"{piece.name} ({block.kind}, line {piece.line})",
        *(f"  {text:<{_TEXT_WIDTH}}  {scheme}" for text, scheme in rows),
        *(f"  {note}" for note in piece.notes),
        "",
    ]
