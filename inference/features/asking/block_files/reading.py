"""How a file with blocks shall be read, and what its first rows tell before it is."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from inference.core.protocols import Json
from inference.features.asking.block_files.request import FOUND_OUT
from inference.features.asking.predictors.query import predictor_of
from inference.formats.block_sets import BlockSetOptions, Bounds, look
from inference.formats.blocks_csv import Broken, Scale
from inference.formats.problems import ExchangeError
from inference.predictors.protocol import PredictorError

SEEN = 1 << 19
"""Bytes of a file with blocks that its preview looks at; the import reads all of it."""
WIDEST = 8.0
"""Instructions per cycle that hardly any processor exceeds: what answers are held against unless told."""


def reading_of(options: Mapping[str, Any], columns: int = 0) -> BlockSetOptions:
    """How a file with blocks is to be read. `columns`: how many it has that `numbers` is about.

    Raises `ExchangeError` for a mapping that there is not.
    """
    mapping, width = options.get("bounds") or "", options.get("issue_width")
    try:
        ports = predictor_of("mapping", {"mapping": mapping}) if mapping else None
    except PredictorError as error:
        raise ExchangeError(str(error)) from error
    numbers = options.get("numbers") or FOUND_OUT
    each = numbers if isinstance(numbers, list) else [numbers] * columns
    scales = tuple(Scale(one) if one else None for one in each)
    return BlockSetOptions(Broken(options.get("broken") or Broken.STOP), scales, Bounds(width, ports))


def reading_with_columns(content: bytes, file_name: str, options: Mapping[str, Any]) -> BlockSetOptions:
    """As `reading_of`; with `numbers` for all, the columns have to be known: the beginning tells them."""
    if not options.get("numbers") or isinstance(options["numbers"], list):
        return reading_of(options)
    beginning = content[: content.find(b"\n", 4096) + 1] or content
    return reading_of(
        options, len(look(io.BytesIO(beginning), file_name, BlockSetOptions(Broken.SKIP)).columns)
    )


def beginning_of(content: bytes, file_name: str, options: Json) -> Json:
    """What the first rows of a file with blocks tell, broken ones passed over; `whole`: these are all.

    `usual` is what each column is taken for without options.
    """
    end = len(content) if len(content) <= SEEN else content.rfind(b"\n", 0, SEEN) + 1
    first = content[: end or SEEN]
    usual = look(io.BytesIO(first), file_name, BlockSetOptions(Broken.SKIP, bounds=Bounds(WIDEST)))
    asked = {**options, "broken": Broken.SKIP}
    seen = (
        look(io.BytesIO(first), file_name, reading_with_columns(first, file_name, asked))
        if options
        else usual
    )
    scales = [column.scale.value for column in usual.columns]
    return {**seen.as_json(), "usual": scales, "whole": end == len(content)}
