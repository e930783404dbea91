"""The importer of basic-block sets from tables of blocks and from the loops of programs and listings."""

from __future__ import annotations

import io
import os
import time
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from inference.core.events import Event, Log, PhaseStarted, Progress, ResultStored
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.features.asking.block_files.query import PREVIEW, UploadImporter
from inference.features.asking.block_files.request import (
    DETECTED,
    BlockImportConfig,
    LoopsConfig,
    loop_filter_of,
    samples_of,
)
from inference.features.asking.block_sets.query import outcomes_of
from inference.features.asking.predictors.kinds import predictor_of
from inference.features.library.uploads.query import lock_upload
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.formats.block_doubts import Bounds
from inference.formats.block_files import (
    BlockFileSort,
    LoopFilter,
    ProgramLoops,
    block_file_of,
    find_listed_loops,
    find_loops,
)
from inference.formats.block_sets import BlockSetOptions, BlockSetSummary, summarise
from inference.formats.block_tables import TABLE_TITLES, beginning_of
from inference.formats.blocks_csv import BrokenRows, Scale
from inference.formats.import_formats import bytes_to_store
from inference.formats.other_formats import BEGINNING
from inference.formats.problems import ExchangeError
from inference.models import BasicBlockSet, Run, Upload
from inference.predictors.protocol import PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Store, Task
from inference.storage.block_sets import store, store_loops
from inference.storage.names import NAME_LIMIT, free_name
from inference.web.data_command import add_request_options

STAGES = ("Read and check", "Store")
LOOP_SORTS = (BlockFileSort.PROGRAM, BlockFileSort.LISTING, BlockFileSort.SAMPLES)
"""Sorts of files whose loops become a set."""
LISTED_LOOPS = 100
"""Loops of a listing on its page; the import takes all of them."""
PREVIEW_BYTES = 1 << 19
"""Bytes of a table of blocks that its preview reads; the import reads all of it."""
LARGEST_ISSUE_WIDTH = 8.0
"""Instructions per cycle that hardly any processor exceeds: the default bound of plausible answers."""
_REPORT_INTERVAL = 0.3  # seconds between two progress events

StoreSet = Callable[[str], tuple[BasicBlockSet, list[str]]]
"""Stores a set under a name, and returns it with the lines of its import report."""


class BlockFileImporter(UploadImporter):
    """Imports tables of blocks, compiled programs, and listings and samples of these."""

    sorts = tuple(BlockFileSort)
    titles = ", ".join((*BlockFileSort, *TABLE_TITLES))
    preview = PREVIEW
    model = BasicBlockSet
    list_page = "block-sets"
    list_title = "Basic-block sets"

    def add_arguments(self, parser: ArgumentParser) -> None:
        blocks = parser.add_argument_group("basic-block sets")
        blocks.add_argument(
            "--numbers",
            choices=[scale.value for scale in Scale],
            default=DETECTED,
            help="scale of the numbers in the file (default: detected)",
        )
        add_request_options(
            blocks,
            BlockImportConfig,
            broken="at an unreadable row: refuse the file, or leave the row out (default: stop)",
            issue_width="N: instructions per cycle of the processor: report answers below what it allows",
            bounds="MAPPING: port mapping: report answers below its port bound",
        )
        loops = parser.add_argument_group("loops of compiled programs and listings")
        loops.add_argument(
            "--samples",
            type=Path,
            metavar="FILE",
            help="output of `perf script` or `perf annotate --stdio`: weigh the loops by their samples",
        )
        add_request_options(
            loops,
            LoopsConfig,
            functions="GLOB: only these functions: a name, or mat*",
            program="NAME: the file's name in the output of perf (default: its own)",
            weighing="weights: samples, or iterations by branch records (default: samples)",
            least="P: leave out loops with less than P %% of all samples",
        )
        loops.add_argument("--list-loops", action="store_true", help="list the loops and store nothing")

    def reads(self, file: BinaryIO) -> bool:
        return block_file_of(file.read(BEGINNING)) is not None

    def read(self, file: BinaryIO, file_name: str, options: Json) -> Json:
        """The format of a file, with a preview of a table of blocks, or the first loops of a listing.

        Raises `ExchangeError` or `ConfigError`.
        """
        sort = block_file_of(file.read(BEGINNING))
        file.seek(0)
        if sort is None:
            raise ExchangeError(f"{file_name} is none of {self.titles}")
        if sort is BlockFileSort.LISTING:
            return {"sort": sort.value, **_first_loops(file.read(), file_name)}
        if sort in LOOP_SORTS:
            return {"sort": sort.value}
        request = BlockImportConfig.read({**options, "upload": 0}).as_json() if options else {}
        return {"sort": sort.value, **preview_of(file, file_name, request)}

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """Import a file at once; the lines are its report. Raises `ExchangeError`."""
        with path.open("rb") as file:
            sort = block_file_of(file.read(BEGINNING))
            if sort not in LOOP_SORTS:
                file.seek(0)
                reading = reading_options(options)
                name = options["name"] or _stem(path.name, "import")
                report, size = options["report"], path.stat().st_size
                stored = store(
                    file,
                    path.name,
                    name,
                    reading,
                    note=options["note"],
                    on_progress=lambda rows: report(size if file.closed else file.tell()),
                )
                return block_import_lines(*stored)
        samples_path = options.get("samples")
        samples = (_content(samples_path), samples_path.name) if samples_path else None
        loops = _loops(_content(path), path.name, sort, options, samples, lambda done, of: None)
        if options.get("list_loops"):
            return [*loop_table(loops), *loops.lines()]
        name = options["name"] or _stem(path.name, "loops")
        row = store_loops(loops, path.name, name, note=options["note"])
        return _loop_import_lines(row, loops)

    def import_upload(self, task: Task, upload: Upload) -> Store:
        """Read the file; the result stores it when the run ends. Raises `ExchangeError` or `JobError`."""
        sort, config, file_name = block_file_of(bytes(upload.beginning)), task.run.config, upload.file_name
        fields = {"note": config["note"], "run": task.run}
        if sort in LOOP_SORTS:
            report = progress_reporter(task, "bytes")
            loops = _loops(upload.content, file_name, sort, config, samples_of(config), report)

            def make_loops(name: str) -> tuple[BasicBlockSet, list[str]]:
                row = store_loops(loops, file_name, name, **fields)
                return row, _loop_import_lines(row, loops)

            return partial(_store, task, upload, "loops", make_loops)
        reading = _checked_blocks(task, upload)

        def make_blocks(name: str) -> tuple[BasicBlockSet, list[str]]:
            row, look_result = store(upload.open(), file_name, name, reading, **fields)
            return row, block_import_lines(row, look_result)

        return partial(_store, task, upload, "import", make_blocks)

    def outcomes(self, runs: Sequence[Run]) -> dict[int, RunOutcome]:
        """{run id: the imported set} (one query)."""
        return outcomes_of(runs)


def _first_loops(content: bytes, file_name: str) -> Json:
    """The loops of a listing for its page, the hottest first, or the `problem` of reading it."""
    try:
        loops = find_listed_loops(content, file_name, LoopFilter(), excerpts=LISTED_LOOPS)
    except ExchangeError as error:
        return {"problem": str(error)}
    listed = [
        {
            "function": loop.function,
            "percent": loop.percent,
            "instructions": loop.instructions,
            "code": loop.code.hex(),
            "excerpt": loop.excerpt,
        }
        for loop in loops.loops[:LISTED_LOOPS]
    ]
    return {
        "isa": loops.isa,
        "loops": listed,
        "count": len(loops.loops),
        "lines": loops.lines(),
        "sampled": loops.total is not None,
    }


def _store(task: Task, upload: Upload, usual: str, make: StoreSet) -> tuple[Json, Sequence[Event]]:
    lock_upload(upload)
    name = task.run.config["name"] or free_name(BasicBlockSet, _stem(upload.file_name, usual))
    row, lines = make(name)  # reads the file
    upload.delete()
    result: Json = {"block_set": row.pk, "name": row.name, "rows": row.size}
    return result, [*(Log("info", line) for line in lines), ResultStored(result)]


def _stem(file_name: str, usual: str) -> str:
    return PurePath(file_name).stem.strip()[:NAME_LIMIT] or usual


def progress_reporter(task: Task, unit: str) -> Callable[[int, int], None]:
    """A callback (bytes or rows done, total) that emits progress and raises when the run is to stop."""
    started = last = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        task.reporter.pulse()
        if now - last >= _REPORT_INTERVAL:
            last = now
            rate = done / max(now - started, 1e-9)
            eta = (total - done) / rate if rate else None
            task.reporter.emit(Progress("read", done, total, rate, unit, eta))

    return tell


def _checked_blocks(task: Task, upload: Upload) -> BlockSetOptions:
    """The options that read a table, after a check of all its rows. Raises `JobError` if they are refused."""
    task.reporter.emit(PhaseStarted("check", 1, STAGES))
    with upload.open() as file:
        total, report = sum(1 for _ in file), progress_reporter(task, "rows")
    reading = reading_options(task.run.config)
    check = summarise(upload.open(), upload.file_name, reading, lambda n: report(n, max(n, total)))
    if not check.acceptable:
        raise JobError("\n".join(["nothing was imported", *(check.lines() or ["the file has no row"])]))
    task.reporter.emit(PhaseStarted("store", 2, STAGES))
    return reading


def reading_options(options: Mapping[str, Any]) -> BlockSetOptions:
    """The options that read a table of blocks. Raises `ExchangeError` for an unknown mapping."""
    mapping, width = options.get("bounds") or "", options.get("issue_width")
    try:
        ports = predictor_of("mapping", {"mapping": mapping}) if mapping else None
    except PredictorError as error:
        raise ExchangeError(str(error)) from error
    numbers = options.get("numbers") or DETECTED
    scales: tuple[Scale | None, ...] | Scale = ()
    if isinstance(numbers, list):
        scales = tuple(Scale(scale) if scale else None for scale in numbers)
    elif numbers:
        scales = Scale(numbers)
    return BlockSetOptions(BrokenRows(options.get("broken") or BrokenRows.STOP), scales, Bounds(width, ports))


def preview_of(file: BinaryIO, file_name: str, options: Json) -> Json:
    """The preview of a table of blocks, from its first rows without unreadable ones.

    `usual`: the detected scale of each column, without options. `whole`: whether these are all rows.
    """
    first = beginning_of(file, PREVIEW_BYTES)
    usual = summarise(
        io.BytesIO(first),
        file_name,
        BlockSetOptions(BrokenRows.SKIP, bounds=Bounds(LARGEST_ISSUE_WIDTH)),
    )
    preview_options = {**options, "broken": BrokenRows.SKIP}
    reading = summarise(io.BytesIO(first), file_name, reading_options(preview_options)) if options else usual
    scales = [column.scale.value for column in usual.columns]
    return {**reading.as_json(), "usual": scales, "whole": len(first) == file.seek(0, os.SEEK_END)}


def block_import_lines(row: BasicBlockSet, reading: BlockSetSummary) -> list[str]:
    columns = ", ".join(
        f"{column.name} ({column.scale}, {count_of(column.answers, 'answer')})" for column in reading.columns
    )
    lines = [f"basic-block set {row.name!r}: {count_of(row.size, 'block')}; {columns or 'no column'}"]
    lines += reading.remarks
    if reading.left_out:
        lines += [f"left out: {count_of(reading.left_out, 'row')}", *reading.lines()]
    for column in reading.columns:
        if column.looks is not column.scale:
            alike = f"its numbers look like {column.looks} (--numbers {column.looks})"
            lines.append(f"{column.name} is taken for {column.scale}; {alike}")
    if reading.empty:
        lines.append(f"{count_of(reading.empty, 'row')} without a block passed over")
    if reading.repeated.count:
        lines.append(f"{count_of(reading.repeated.count, 'block')} repeated")
    for name, count in reading.doubts.counts.items():
        lines.append(f"{name}: {count_of(count, 'answer')} below what the processor needs")
    return lines


def _loops(
    content: bytes,
    file_name: str,
    sort: BlockFileSort | None,
    options: Mapping[str, Any],
    samples: tuple[bytes, str] | None,
    report: Callable[[int, int], None],
) -> ProgramLoops:
    """The loops of a program or a listing that the options select. Raises `ExchangeError`."""
    if sort is BlockFileSort.SAMPLES:
        raise ExchangeError(
            f"{file_name} has samples without the code: import the program or library, and give "
            "this file as its samples"
        )
    loop_filter = loop_filter_of(dict(options))
    if sort is BlockFileSort.LISTING:
        return find_listed_loops(content, file_name, loop_filter, report)
    return find_loops(content, file_name, loop_filter, samples, report)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return bytes_to_store(file, path.name)
    except OSError as error:
        raise ExchangeError(f"{path} cannot be read: {error.strerror}") from error


def loop_table(loops: ProgramLoops) -> list[str]:
    """A table of loops: a head, and a line per loop."""
    rows = [
        (
            f"{loop.weight:,.10g}",
            "" if loop.percent is None else f"{loop.percent:.2f} %",
            str(loop.instructions),
            "" if loop.address is None else f"{loop.address:#x}",
            loop.function,
        )
        for loop in loops.loops
    ]
    head = ("weight", "samples", "instructions", "address", "function")
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head) - 1)]
    return [
        "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in [head, *rows]
    ]


def _loop_import_lines(row: BasicBlockSet, loops: ProgramLoops) -> list[str]:
    return [f"basic-block set {row.name!r}: {row.size:,} blocks with weights", *loops.lines()]
