"""What can be asked about a loop: the fields of the page's address, of the API and of the shell."""

from __future__ import annotations

from typing import Any, Literal

from django.urls import reverse
from django.utils.http import urlencode
from pydantic import BaseModel, ConfigDict, Field, field_validator

from inference.core.core_model import Assumptions, BoundKind
from inference.isa.blocks import DETECTED
from inference.isa.code.block import Block
from inference.isa.targets import DEFAULT
from inference.measuring.blocks import LOOP

TEXT_LIMIT = 100_000
"""Characters of a text with loops."""
ADDRESS_LIMIT = 3000
"""Characters of a text that fit into an address: a page has dozens of them. Scripts pack longer ones."""


class LoopQuestion(BaseModel):
    """A loop, the CPU that executes it, and what is assumed and changed.

    `piece` counts the loops and other blocks of the text from 1; 0 chooses the hottest or innermost loop.
    """

    model_config = ConfigDict(frozen=True)

    isa: str = Field(
        DETECTED,
        max_length=200,
        description="Name of the instruction set; empty: what the text shows; for digits, that of the CPU.",
        examples=[DEFAULT],
    )
    code: str = Field(
        "",
        max_length=TEXT_LIMIT,
        description="Assembly of x86-64, AArch64 or RISC-V, a listing, or machine code in hexadecimal.",
        examples=["imul rax, rbx\nadd rcx, rax"],
    )
    cpu: str = Field("", max_length=200, description="Name of a core model; empty: the newest one.")
    piece: int = Field(0, ge=0, le=100_000, description="Block of the text, from 1; 0: the hottest loop.")
    mode: Literal["loop", "unrolled"] = Field(
        "loop", description="How copies of a block without a jump follow each other."
    )
    registers: Literal["alike", "apart"] = Field(
        "alike", description="Whether address registers that the block never writes are assumed equal."
    )
    unknown: Literal["nearest", "unsupported"] = Field(
        "nearest",
        description="What stands for an instruction that was not measured: the nearest, or nothing.",
    )
    without: str = Field("", max_length=4000, description="Keys of removed dependencies, comma-separated.")
    omit: str = Field("", max_length=200, description="Bounds that are left out, comma-separated.")
    loads: Literal["", "hit"] = Field("", description="hit: latencies given for loads are ignored.")
    before: str = Field("", max_length=TEXT_LIMIT, description="Code of another version to compare with.")
    other: str = Field("", max_length=200, description="Name of another core model to compare with.")
    unroll: int = Field(1, ge=1, le=8, description="Copies of the loop's body to compare with.")
    graph: Literal["", "all"] = Field("", description="all: long blocks are drawn with all instructions.")

    @field_validator("omit")
    @classmethod
    def _require_bounds(cls, names: str) -> str:
        for name in filter(None, names.split(",")):
            if name not in list(BoundKind):
                raise ValueError(f"there is no bound {name!r}; there are {', '.join(BoundKind)}")
        return names

    @property
    def assumed(self) -> Assumptions:
        return Assumptions(
            [BoundKind(name) for name in self.omit.split(",") if name],
            alike=self.registers == "alike",
            nearest=self.unknown == "nearest",
            in_loop=self.mode == LOOP,
        )

    @property
    def removed_dependences(self) -> frozenset[str]:
        return frozenset(filter(None, self.without.split(",")))

    def of_block(self, block: Block) -> LoopQuestion:
        """The same question; about the block alone where the text is too long for an address."""
        if len(self.code) <= ADDRESS_LIMIT:
            return self
        return self.model_copy(update={"code": block.text, "piece": 0})

    def address(self, **changes: Any) -> str:
        """The address of the page about this question, with some fields changed."""
        fields = {**self.model_dump(exclude_defaults=True), **changes}
        if fields.get("isa") == DEFAULT:  # what a text without signs of another one is taken for
            del fields["isa"]
        filled = {name: value for name, value in fields.items() if value not in ("", None)}
        return f"{reverse('loop')}?{urlencode(filled)}"
