"""What a text of code was read to, as one JSON object: `manage.py decode --json` and `POST /api/decode`."""

from __future__ import annotations

from dataclasses import asdict

from inference.core.protocols import Json
from inference.isa.blocks import BlockName, BlocksOfText, Piece


def decoded_json(reading: BlocksOfText) -> Json:
    """`blocks`: see `_piece_json`; `skipped`: how many lines or statements were passed over.

    `dropped`: the lines that look like code and are in no block.
    """
    return {
        "blocks": [_piece_json(one) for one in reading.pieces],
        "skipped": reading.skipped,
        "dropped": [asdict(one) for one in reading.dropped],
    }


def _piece_json(piece: Piece) -> Json:
    """`hex` and `schemes` are of the body: of a loop, the jump that closes it is in `text` alone."""
    return {
        "name": piece.name,
        "kind": piece.block.kind,
        **BlockName(piece.block.isa, piece.block.body).as_json(),
        "text": piece.block.text,
        "schemes": [one.scheme for one in piece.block.instructions],
        "notes": list(piece.notes),
    }
