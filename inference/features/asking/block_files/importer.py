"""What `manage.py import` and the pages of uploads hand files of blocks, programs and listings on to."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from inference.core.protocols import Json
from inference.features.asking.block_files.importing_blocks import (
    add_block_arguments,
    import_blocks,
    import_blocks_of,
)
from inference.features.asking.block_files.importing_loops import (
    SORTS,
    add_loop_arguments,
    import_loops,
    import_loops_of,
)
from inference.features.asking.block_files.reading import beginning_of
from inference.features.asking.block_files.request import BlockImportConfig
from inference.features.asking.block_files.upload_importers import PREVIEW, UploadImporter
from inference.features.asking.block_sets.asked import sets_of
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.formats.block_files import BlockFileSort, block_file_of
from inference.formats.other_formats import BEGINNING
from inference.formats.problems import ExchangeError
from inference.models import BasicBlockSet, Run, Upload
from inference.runs.kinds import Store, Task


class BlockFileImporter(UploadImporter):
    """Tables of blocks, programs, and what tools print of these."""

    sorts = tuple(BlockFileSort)
    titles = ", ".join(BlockFileSort)
    preview = PREVIEW
    model = BasicBlockSet
    list_page = "block-sets"
    list_title = "Basic-block sets"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Of tables of blocks, and of loops."""
        add_block_arguments(parser)
        add_loop_arguments(parser)

    def reads(self, file: BinaryIO) -> bool:
        return block_file_of(file.read(BEGINNING)) is not None

    def read(self, content: bytes, file_name: str, options: Json) -> Json:
        """Its format, and of blocks what the first rows tell. Raises `ExchangeError` or `ConfigError`."""
        sort = block_file_of(content)
        if sort is None:
            raise ExchangeError(f"{file_name} is none of {self.titles}")
        if sort in SORTS:
            return {"sort": sort.value}
        asked = BlockImportConfig.read({**options, "upload": 0}).as_json() if options else {}
        return {"sort": sort.value, **beginning_of(content, file_name, asked)}

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """The set that a file becomes. Raises `ExchangeError`."""
        with path.open("rb") as file:
            sort = block_file_of(file.read(BEGINNING))
        if sort in SORTS:
            return import_loops_of(path, sort, options)
        return import_blocks_of(path, options)

    def import_upload(self, task: Task, upload: Upload, content: bytes) -> Store:
        """Read the file, to be stored when the run is finished. Raises `ExchangeError` or `JobError`."""
        sort = block_file_of(content)
        if sort in SORTS:
            return import_loops(task, upload, content, sort)
        return import_blocks(task, upload, content)

    def outcomes(self, runs: Sequence[Run]) -> dict[int, RunOutcome]:
        """The basic-block sets that came out of files (one query)."""
        return sets_of(runs)
