"""Imports of tables of blocks: by a run of an upload, or at once from the shell."""

from __future__ import annotations

import io
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from inference.core.events import Event, Log, PhaseStarted, ResultStored
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.features.asking.block_files.progress import telling
from inference.features.asking.block_files.reading import reading_with_columns
from inference.features.asking.block_files.request import FOUND_OUT, BlockImportConfig
from inference.features.library.uploads.query import discard_upload
from inference.formats.block_sets import BlockSetOptions, Look, look
from inference.formats.blocks_csv import Scale
from inference.models import BasicBlockSet, Upload
from inference.runs.errors import JobError
from inference.runs.kinds import Store, Task
from inference.storage.block_sets import store
from inference.storage.names import NAME_LIMIT, free_name
from inference.web.request_options import add_request_options

STAGES = ("Read and check", "Store")


def import_blocks(task: Task, upload: Upload, content: bytes) -> Store:
    """Check all rows, to be stored when the run is finished. Raises `ExchangeError`, `JobError`."""
    _enter(task, "check", 1)
    total = content.count(b"\n")
    tell = telling(task, "rows")
    reading = reading_with_columns(content, upload.file_name, task.run.config)
    seen = look(io.BytesIO(content), upload.file_name, reading, lambda read: tell(read, max(read, total)))
    if not seen.acceptable:
        raise JobError("\n".join(["nothing was imported", *(seen.lines() or ["the file has no row"])]))
    _enter(task, "store", 2)
    return partial(_store_blocks, task, upload, content, reading)


def add_block_arguments(parser: ArgumentParser) -> None:
    """What `manage.py import` takes for tables of blocks."""
    group = parser.add_argument_group("basic-block sets")
    group.add_argument(
        "--numbers",
        choices=[one.value for one in Scale],
        default=FOUND_OUT,
        help="what the numbers of the file are (default: found out)",
    )
    add_request_options(
        group,
        BlockImportConfig,
        broken="at a row that cannot be read: refuse the file, or leave the row out (default: stop)",
        issue_width="N: instructions per cycle of the processor: doubt answers that are below",
        bounds="MAPPING: port mapping: doubt answers below what it says",
    )


def import_blocks_of(path: Path, options: Mapping[str, Any]) -> list[str]:
    """The same in the shell, at once; the lines tell what was made. Raises `ExchangeError`."""
    with path.open("rb") as file:
        beginning = file.read(1 << 16)
        reading = reading_with_columns(beginning, path.name, options)
        file.seek(0)
        made, seen = store(
            file,
            path.name,
            options["name"] or _stem(path.name),
            reading,
            note=options["note"],
        )
    return told_of_blocks(made, seen)


def _enter(task: Task, name: str, index: int) -> None:
    task.reporter.emit(PhaseStarted(name, index, STAGES))


def _store_blocks(
    task: Task, upload: Upload, content: bytes, reading: BlockSetOptions
) -> tuple[Json, Sequence[Event]]:
    discard_upload(upload)
    config = task.run.config
    name = config["name"] or free_name(BasicBlockSet, _stem(upload.file_name))
    made, seen = store(
        io.BytesIO(content),
        upload.file_name,
        name,
        reading,
        note=config["note"],
        run=task.run,
    )
    result: Json = {"block_set": made.pk, "name": made.name, "rows": made.size}
    return result, [*(Log("info", text) for text in told_of_blocks(made, seen)), ResultStored(result)]


def told_of_blocks(made: BasicBlockSet, seen: Look) -> list[str]:
    """What an import of blocks has made, a line each."""
    columns = ", ".join(
        f"{one.name} ({one.scale}, {count_of(one.answers, 'answer')})" for one in seen.columns
    )
    lines = [f"basic-block set {made.name!r}: {count_of(made.size, 'block')}; {columns or 'no column'}"]
    if seen.left_out:
        lines += [f"left out: {count_of(seen.left_out, 'row')}", *seen.lines()]
    for one in seen.columns:
        if one.looks is not one.scale:
            alike = f"its numbers look like {one.looks} (--numbers {one.looks})"
            lines.append(f"{one.name} is taken for {one.scale}; {alike}")
    if seen.empty:
        lines.append(f"{count_of(seen.empty, 'row')} without a block passed over")
    if seen.duplicates:
        lines.append(f"{count_of(seen.duplicates, 'block')} repeated")
    for name, count in seen.doubts.counts.items():
        lines.append(f"{name}: {count_of(count, 'answer')} below what the processor needs")
    return lines


def _stem(file_name: str) -> str:
    return PurePath(file_name).stem.strip()[:NAME_LIMIT] or "import"
