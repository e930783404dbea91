"""Files that become basic-block sets: tables of blocks, compiled programs, their listings and samples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inference.formats.other_formats import ImporterEntry
from inference.runs.kinds import Lane, RunKind

if TYPE_CHECKING:
    from inference.formats.other_formats import Importer


KINDS = (
    RunKind(
        "import-anica",
        label="Block import",
        summary="A basic-block set or a campaign from a file",
        example={"upload": 5, "name": "BHive on Haswell", "broken": "skip", "numbers": "cycles"},
        lane=Lane.SHORT,
    ),
    RunKind(
        "loops",
        label="Loop search",
        summary="The loops of a compiled program",
        example={"upload": 5, "functions": "mat*"},
        lane=Lane.SHORT,
    ),
)


def _files() -> Importer:
    from inference.features.asking.block_files.importer import BlockFileImporter  # noqa: PLC0415  imports load it

    return BlockFileImporter()


_MCA_KEYS = rb"(?:CodeRegions|SimulationParameters|TargetInfo)"
_NO_BLOCKS = (
    rb'(?:\xef\xbb\xbf)?(?:\s*+#.*+)*+\s*+(?:"?experiment|\{\s*+(?!"%s")["}]|\[\s*+[\[{"])' % _MCA_KEYS
)
"""Matches the beginning of a table of experiments, and of JSON other than llvm-mca's reports."""

IMPORTERS = (ImporterEntry(re.compile(rb"\A(?!%s)" % _NO_BLOCKS, re.IGNORECASE), _files),)
