"""What a text of code was read to, as one JSON object: `manage.py decode --json` and `POST /api/decode`."""

from __future__ import annotations

from inference.core.protocols import Json
from inference.isa.x86.blocks import Piece, Reading


def decoded_json(reading: Reading) -> Json:
    """`blocks`: see `_piece_json`; `skipped`: how many lines or statements were passed over."""
    return {"blocks": [_piece_json(one) for one in reading.pieces], "skipped": reading.skipped}


def _piece_json(piece: Piece) -> Json:
    """`hex` and `schemes` are of the body: of a loop, the jump that closes it is in `text` alone."""
    return {
        "name": piece.name,
        "kind": piece.block.kind,
        "hex": piece.block.body.hex(),
        "text": piece.block.text,
        "schemes": [one.scheme for one in piece.block.instructions],
        "notes": list(piece.notes),
    }
