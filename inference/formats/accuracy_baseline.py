"""Accuracy baselines: JSON with the accuracy of a block set's columns, which later columns are compared with.

See docs/formats.md, "Accuracy baseline".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from inference.formats.archived_parts import clean_texts, read_document
from inference.formats.problems import ExchangeError
from inference.formats.quoting import json_text
from inference.isa.targets import DEFAULT

FORMAT: Final = "pmweb-accuracy-baseline"
LIMIT_BYTES = 1 << 20
MAX_VALUES = 20_000
"""JSON values in a file. A hundred columns take some 20 KB, far below both limits."""

_Text = Annotated[str, Field(min_length=1, max_length=200)]
_Count = Annotated[int, Field(ge=0, le=10**9)]
_Share = Annotated[float, Field(ge=-1, le=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class BaselineColumn(_Part):
    """Accuracy of one column, compared with the reference column."""

    name: _Text = Field(description="Name of the column.", examples=["llvm-mca 22 · znver2"])
    answered: _Count = Field(description="Blocks with a number, compared or not.", examples=[457])
    mape: Annotated[float, Field(ge=0)] | None = Field(
        description="Mean absolute percentage error; null where no block is compared.", examples=[23.6]
    )
    kendall: _Share | None = Field(description="Kendall's τ; null where undefined.", examples=[0.76])


class AccuracyBaseline(_Part):
    """The columns of a set compared with its reference, and a digest that identifies the set's blocks."""

    format: Literal["pmweb-accuracy-baseline"] = Field(default=FORMAT, examples=[FORMAT])
    version: Literal[1] = Field(default=1, examples=[1])
    set: _Text = Field(description="The basic-block set.", examples=["sqlite"])
    blocks: _Count = Field(examples=[500])
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = Field(
        description="SHA-256 of the machine code of all blocks, in any order.", examples=["0" * 64]
    )
    reference: _Text = Field(
        description="Column that others are compared with.", examples=["machine lab · unrolled"]
    )
    numbers: _Count = Field(description="Blocks with a number above 0.", examples=[498])
    columns: list[BaselineColumn] = Field(
        examples=[[{"name": "llvm-mca 22 · znver2", "answered": 457, "mape": 23.6, "kendall": 0.76}]]
    )

    @model_validator(mode="after")
    def _check_unique_columns(self) -> Self:
        names = [column.name for column in self.columns]
        duplicate = next((name for name in names if names.count(name) > 1), None)
        if duplicate is not None:
            raise ValueError(f"columns: {duplicate!r} is there twice")
        return self


def write_baseline(baseline: AccuracyBaseline) -> str:
    return json_text(clean_texts(baseline.model_dump(), _is_any_key), indent=1) + "\n"


def read_baseline(content: bytes, name: str) -> AccuracyBaseline:
    """Read a baseline.

    Args:
        content: JSON in UTF-8, at most `LIMIT_BYTES`.
        name: File name, for messages.

    Raises:
        ExchangeError: The content is no baseline; the message names the field.
    """
    if len(content) > LIMIT_BYTES:
        raise ExchangeError(f"{name} has more than {LIMIT_BYTES:,} bytes: a baseline is much smaller")
    try:
        return read_document(AccuracyBaseline, content, name, MAX_VALUES, _is_any_key)
    except ExchangeError as error:
        raise ExchangeError(f"no accuracy baseline: {error}; see docs/formats.md") from error


def _is_any_key(_key: str) -> bool:
    return True


def digest_of_blocks(codes: Iterable[bytes], isa: str) -> str:
    """SHA-256 (hexadecimal) over a set's machine code, independent of the order of its blocks.

    Args:
        codes: Machine code of each block.
        isa: Instruction set. `DEFAULT` does not enter the digest: it is what files mean that name none.

    >>> digest_of_blocks([b"a", b"b"], "x86-64") == digest_of_blocks([b"b", b"a"], "x86-64")
    True
    """
    digests = sorted(hashlib.sha256(code).digest() for code in codes)
    isa_prefix = b"" if isa == DEFAULT else isa.encode()
    return hashlib.sha256(b"".join([isa_prefix, *digests])).hexdigest()
