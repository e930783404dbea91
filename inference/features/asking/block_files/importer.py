"""How files become basic-block sets: tables of blocks, and loops of programs, listings and samples."""

from __future__ import annotations

import io
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
    FOUND_OUT,
    BlockImportConfig,
    LoopsConfig,
    samples_of,
    wanted_of,
)
from inference.features.asking.block_sets.query import sets_of
from inference.features.asking.predictors.kinds import predictor_of
from inference.features.library.uploads.query import discard_upload
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.formats.answer_bounds import Bounds
from inference.formats.block_files import BlockFileSort, block_file_of
from inference.formats.block_sets import BlockSetOptions, Look, look
from inference.formats.blocks_csv import Broken, Scale
from inference.formats.errors import ExchangeError
from inference.formats.import_formats import taken_in
from inference.formats.listed_loops import find_listed_loops
from inference.formats.other_formats import BEGINNING
from inference.formats.program_loops import ProgramLoops, find_loops
from inference.models import BasicBlockSet, Run, Upload
from inference.predictors.protocol import PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Store, Task
from inference.storage.block_sets import store, store_loops
from inference.storage.instruction_sets import code_isa_row
from inference.storage.names import NAME_LIMIT, free_name
from inference.web.data_command import add_request_options

STAGES = ("Read and check", "Store")
LOOP_SORTS = (BlockFileSort.PROGRAM, BlockFileSort.LISTING, BlockFileSort.SAMPLES)
"""Files of which loops become a set."""
SEEN = 1 << 19
"""Bytes of a file with blocks that its preview looks at; the import reads all of it."""
WIDEST = 8.0
"""Instructions per cycle that hardly any processor exceeds: what answers are held against unless told."""
_EVERY = 0.3  # seconds between two words about progress

Make = Callable[[str], tuple[BasicBlockSet, list[str]]]
"""Stores a set under a name; also returns what was made, a line each."""


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
        blocks = parser.add_argument_group("basic-block sets")
        blocks.add_argument(
            "--numbers",
            choices=[one.value for one in Scale],
            default=FOUND_OUT,
            help="what the numbers of the file are (default: found out)",
        )
        add_request_options(
            blocks,
            BlockImportConfig,
            broken="at a row that cannot be read: refuse the file, or leave the row out (default: stop)",
            issue_width="N: instructions per cycle of the processor: doubt answers that are below",
            bounds="MAPPING: port mapping: doubt answers below what it says",
        )
        loops = parser.add_argument_group("loops of compiled programs and listings")
        loops.add_argument(
            "--samples",
            type=Path,
            metavar="FILE",
            help="what `perf script` or `perf annotate --stdio` printed: weigh the loops by their samples",
        )
        add_request_options(
            loops,
            LoopsConfig,
            functions="GLOB: of these alone: a name, or mat*",
            program="NAME: how perf calls the file (default: by its name)",
            weighing="weights are samples, or by branch records iterations (default: samples)",
            least="P: leave out loops with less than P %% of all samples",
        )
        loops.add_argument("--list-loops", action="store_true", help="list the loops and store nothing")

    def reads(self, file: BinaryIO) -> bool:
        return block_file_of(file.read(BEGINNING)) is not None

    def read(self, content: bytes, file_name: str, options: Json) -> Json:
        """Its format, and of blocks what the first rows tell. Raises `ExchangeError` or `ConfigError`."""
        sort = block_file_of(content)
        if sort is None:
            raise ExchangeError(f"{file_name} is none of {self.titles}")
        if sort in LOOP_SORTS:
            return {"sort": sort.value}
        asked = BlockImportConfig.read({**options, "upload": 0}).as_json() if options else {}
        return {"sort": sort.value, **beginning_of(content, file_name, asked)}

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """The set that a file becomes at once; the lines tell what was made. Raises `ExchangeError`."""
        with path.open("rb") as file:
            sort = block_file_of(file.read(BEGINNING))
            if sort not in LOOP_SORTS:
                file.seek(0)
                reading = reading_with_columns(file.read(1 << 16), path.name, options)
                file.seek(0)
                name = options["name"] or _stem(path.name, "import")
                return told_of_blocks(*store(file, path.name, name, reading, note=options["note"]))
        beside = options.get("samples")
        samples = (_content(beside), beside.name) if beside else None
        found = _loops(_content(path), path.name, sort, options, samples, lambda done, of: None)
        if options.get("list_loops"):
            return [*listed(found), *found.lines()]
        name = options["name"] or _stem(path.name, "loops")
        made = store_loops(found, path.name, name, note=options["note"], isa=code_isa_row())
        return _told_of_loops(made, found)

    def import_upload(self, task: Task, upload: Upload, content: bytes) -> Store:
        """Read the file, to be stored when the run is finished. Raises `ExchangeError` or `JobError`."""
        sort, config, file_name = block_file_of(content), task.run.config, upload.file_name
        about = {"note": config["note"], "run": task.run}
        if sort in LOOP_SORTS:
            found = _loops(content, file_name, sort, config, samples_of(config), telling(task, "bytes"))

            def make_loops(name: str) -> tuple[BasicBlockSet, list[str]]:
                made = store_loops(found, file_name, name, isa=code_isa_row(), **about)
                return made, _told_of_loops(made, found)

            return partial(_store, task, upload, "loops", make_loops)
        reading = _checked_blocks(task, upload, content)

        def make_blocks(name: str) -> tuple[BasicBlockSet, list[str]]:
            made, seen = store(io.BytesIO(content), file_name, name, reading, **about)
            return made, told_of_blocks(made, seen)

        return partial(_store, task, upload, "import", make_blocks)

    def outcomes(self, runs: Sequence[Run]) -> dict[int, RunOutcome]:
        """The basic-block sets that came out of files (one query)."""
        return sets_of(runs)


def _store(task: Task, upload: Upload, usual: str, make: Make) -> tuple[Json, Sequence[Event]]:
    discard_upload(upload)
    name = task.run.config["name"] or free_name(BasicBlockSet, _stem(upload.file_name, usual))
    made, lines = make(name)
    result: Json = {"block_set": made.pk, "name": made.name, "rows": made.size}
    return result, [*(Log("info", line) for line in lines), ResultStored(result)]


def _stem(file_name: str, usual: str) -> str:
    return PurePath(file_name).stem.strip()[:NAME_LIMIT] or usual


def telling(task: Task, unit: str) -> Callable[[int, int], None]:
    """Tells the run's page how far reading is, a few times a second, and hears the wish to stop."""
    started = last = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        task.reporter.pulse()
        if now - last >= _EVERY:
            last = now
            rate = done / max(now - started, 1e-9)
            eta = (total - done) / rate if rate else None
            task.reporter.emit(Progress("read", done, total, rate, unit, eta))

    return tell


def _checked_blocks(task: Task, upload: Upload, content: bytes) -> BlockSetOptions:
    """How the table is to be read, after all of its rows have been checked."""
    task.reporter.emit(PhaseStarted("check", 1, STAGES))
    total, tell = content.count(b"\n"), telling(task, "rows")
    reading = reading_with_columns(content, upload.file_name, task.run.config)
    seen = look(io.BytesIO(content), upload.file_name, reading, lambda read: tell(read, max(read, total)))
    if not seen.acceptable:
        raise JobError("\n".join(["nothing was imported", *(seen.lines() or ["the file has no row"])]))
    task.reporter.emit(PhaseStarted("store", 2, STAGES))
    return reading


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


def _loops(
    content: bytes,
    file_name: str,
    sort: BlockFileSort | None,
    options: Mapping[str, Any],
    samples: tuple[bytes, str] | None,
    told: Callable[[int, int], None],
) -> ProgramLoops:
    """The wanted loops of a program or a listing. Raises `ExchangeError`."""
    if sort is BlockFileSort.SAMPLES:
        raise ExchangeError(
            f"{file_name} has samples, but not the code that they are in: give the program or library, and "
            "this file as its samples"
        )
    wanted = wanted_of(dict(options))
    if sort is BlockFileSort.LISTING:
        return find_listed_loops(content, file_name, wanted, told)
    return find_loops(content, file_name, wanted, samples, told)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return taken_in(file, path.name)
    except OSError as error:
        raise ExchangeError(f"{path} cannot be read: {error.strerror}") from error


def listed(found: ProgramLoops) -> list[str]:
    """A line for each loop."""
    rows = [
        (
            f"{one.weight:,.10g}",
            "" if one.percent is None else f"{one.percent:.2f} %",
            str(one.instructions),
            "" if one.address is None else f"{one.address:#x}",
            one.function,
        )
        for one in found.loops
    ]
    head = ("weight", "samples", "instructions", "address", "function")
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head) - 1)]
    return [
        "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in [head, *rows]
    ]


def _told_of_loops(made: BasicBlockSet, found: ProgramLoops) -> list[str]:
    return [f"basic-block set {made.name!r}: {made.size:,} blocks with weights", *found.lines()]
