"""Decoding of basic blocks, and predictions by port mappings, which need no run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from inference.features.asking.blocks.port_load import BlockLoad, InstructionLoad, load_of
from inference.features.asking.blocks.query import BlockPrediction, predictions_of, scheme_rows
from inference.formats.sample_document import decoded_json
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.code.block import Block, DroppedLine
from inference.isa.code.pieces import Piece
from inference.isa.targets import names_with_blocks
from inference.models import ISA, PortMapping
from inference.storage.instruction_sets import code_isa
from inference.web.api.access import read_access
from inference.web.api.answers import MAX_BLOCKS, Code, NamedBlock
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import Cycles, Ref, Uop, fields_of, ref, uops_json
from inference.web.code_reading import read, read_blocks
from inference.web.validation import Id

router = Router()


class InstructionOut(Schema):
    """An instruction of a block; `obstacle` says why it cannot be measured."""

    hex: str = Field(examples=["4801d8"])
    text: str = Field(examples=["add rax, rbx"])
    scheme: str | None = Field(examples=["add GPR[64]:RW, GPR[64]:R"])
    scheme_id: Id | None
    obstacle: str = Field(examples=[""])


class BlockPredictionOut(Schema):
    """A mapping's port bound in cycles per iteration; dependencies are ignored."""

    mapping: Ref
    cycles: Cycles


class BlockOut(NamedBlock):
    """A block. Its `hex` is what a run of the kind `block` takes; that of a loop has the jump back."""

    name: str = Field(description="Label of the block, or its number.", examples=["block 1"])
    kind: str = Field(description="straight or loop", examples=["straight"])
    notes: list[str] = Field(description="Assumptions, and excluded code.", examples=[[]])
    instructions: list[InstructionOut]
    obstacle: str = Field(description="Why it cannot be measured; empty where it can.", examples=[""])
    predictions: list[BlockPredictionOut]


@router.post("/blocks", response=list[BlockOut], auth=read_access)
def decode_blocks(request: HttpRequest, data: Code) -> Any:
    """Decode up to 100 basic blocks, and predict them by the newest port mappings that describe them."""
    code = read(data.code, MAX_BLOCKS, data.isa)
    blocks = [piece.block for piece in code.pieces]
    isa = ISA.objects.filter(name=blocks[0].isa).first()
    rows = {} if isa is None else scheme_rows(blocks, isa)
    predicted = [[] for _ in blocks] if isa is None else predictions_of(blocks, isa, rows)
    return [
        _block(piece, code.dropped_in(piece), rows, predictions)
        for piece, predictions in zip(code.pieces, predicted, strict=True)
    ]


class PieceOut(NamedBlock):
    """A loop or other block. `hex` and `schemes` are of its body, without the branch of a loop."""

    name: str = Field(examples=[".L2"])
    kind: str = Field(description="straight or loop", examples=["loop"])
    text: str = Field(examples=[".loop:\nadd rax, rbx\ndec ecx\njne .loop"])
    schemes: list[str | None] = Field(examples=[["add GPR[64]:RW, GPR[64]:R", "dec GPR[32]:RW"]])
    notes: list[str] = Field(examples=[[]])


class DroppedOut(Schema):
    """A line that looks like code and is in no block."""

    line: int = Field(description="Number of the line, from 1.", examples=[7])
    text: str = Field(examples=["401126: frob %rax"])
    reason: str = Field(examples=["looks like code"])


class DecodedOut(Schema):
    """The blocks of a text; `skipped`: how many lines or statements are in no block."""

    blocks: list[PieceOut]
    skipped: int = Field(examples=[0])
    dropped: list[DroppedOut] = Field(description="The skipped lines that look like code.")


@router.post("/decode", response=DecodedOut, auth=read_access)
def decode_code(request: HttpRequest, data: Code) -> Any:
    """Decode code into up to 100 loops and other blocks; the same object as `manage.py decode --json`."""
    return decoded_json(read(data.code, MAX_BLOCKS, data.isa))


class InstructionLoadOut(Schema):
    """The cycles that an instruction occupies each port; null where the mapping does not describe it."""

    text: str = Field(examples=["add rax, rbx"])
    uops: list[Uop] | None
    loads: list[float] | None = Field(examples=[[0.25, 0.25, 0.25, 0.25]])


class BlockLoadOut(NamedBlock):
    """How a mapping distributes a block's µops over its ports: the fairest of the optimal distributions.

    `described`: whether the mapping describes every instruction; the numbers cover the described ones.
    """

    described: bool = Field(examples=[True])
    cycles: Cycles | None
    loads: list[float] | None = Field(
        description="Load of each port in cycles, in the order of the ports.",
        examples=[[0.25, 1.25, 0.25, 0.25]],
    )
    instructions: list[InstructionLoadOut]


class LoadsOut(Schema):
    """The port loads of blocks by one mapping."""

    mapping: Ref
    ports: list[str] = Field(examples=[["0", "1", "5", "6"]])
    blocks: list[BlockLoadOut]


@router.post("/mappings/{mapping_id}/block-loads", response=LoadsOut, auth=read_access)
def load_ports(request: HttpRequest, mapping_id: Id, data: Code) -> Any:
    """Compute the load of each port by each instruction, for up to 100 basic blocks."""
    row = get_object_or_404(PortMapping.objects.defer("report").select_related("isa"), pk=mapping_id)
    if obstacle := obstacle_to_blocks(row.name, row.isa.name):
        right = f"a port mapping for {' or '.join(names_with_blocks())}"
        raise ProblemError(422, obstacle, where="path mapping_id", right=right)
    loads = [(block, load_of(block, row)) for block in read_blocks(data.code, MAX_BLOCKS, code_isa(row.isa))]
    return {
        "mapping": ref(row),
        "ports": row.ports,
        "blocks": [_load(block, load, row.ports) for block, load in loads],
    }


def _load(block: Block, load: BlockLoad | None, ports: list[str]) -> dict[str, Any]:
    parts = [InstructionLoad() for _ in block.listing] if load is None else load.instructions
    return {
        **block.name.as_json(),
        "described": load is not None and load.described,
        "cycles": None if load is None else load.schedule.cycles,
        "loads": None if load is None else load.schedule.loads,
        "instructions": [
            {
                "text": text,
                "uops": None if part.uops is None else uops_json(part.uops, ports),
                "loads": part.ports,
            }
            for (_, text), part in zip(block.listing, parts, strict=True)
        ],
    }


def _block(
    piece: Piece, dropped: Sequence[DroppedLine], rows: dict[str, int], predicted: list[BlockPrediction]
) -> dict[str, Any]:
    block = piece.block
    return {
        "name": piece.name,
        "kind": block.kind,
        **block.name.as_json(),
        "notes": [*piece.notes, *map(str, dropped)],
        "instructions": [
            fields_of(
                instruction,
                InstructionOut,
                hex=instruction.code.hex(),
                scheme_id=rows.get(instruction.scheme or ""),
            )
            for instruction in block.instructions
        ],
        "obstacle": block.obstacle(),
        "predictions": predicted,
    }
