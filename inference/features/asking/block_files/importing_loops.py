"""Imports of loops: of a compiled program, or of a listing that a profiler or a disassembler printed."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from inference.core.event import Event
from inference.core.events import Log, ResultStored
from inference.core.protocols import Json
from inference.features.asking.block_files.progress import telling
from inference.features.asking.block_files.request import LoopsConfig, samples_of, wanted_of
from inference.features.library.uploads.query import discard_upload
from inference.formats.block_files import BlockFileSort, ProgramLoops, find_listed_loops, find_loops
from inference.formats.import_formats import taken_in
from inference.formats.problems import ExchangeError
from inference.models import BasicBlockSet, Upload
from inference.runs.kinds import Store, Task
from inference.storage.block_sets import store_loops
from inference.storage.instruction_sets import code_isa_row
from inference.storage.names import NAME_LIMIT, free_name
from inference.web.request_options import add_request_options

SORTS = (BlockFileSort.PROGRAM, BlockFileSort.LISTING, BlockFileSort.SAMPLES)
"""What this module imports, or says what is missing."""


def import_loops(task: Task, upload: Upload, content: bytes, sort: BlockFileSort) -> Store:
    """Find the wanted loops, to be stored when the run is finished. Raises `ExchangeError`, `JobError`."""
    found = _found(
        content, upload.file_name, sort, task.run.config, samples_of(task.run.config), telling(task, "bytes")
    )
    return partial(_store, task, upload, found)


def add_loop_arguments(parser: ArgumentParser) -> None:
    """What `manage.py import` takes for files with loops."""
    group = parser.add_argument_group("loops of compiled programs and listings")
    group.add_argument(
        "--samples",
        type=Path,
        metavar="FILE",
        help="what `perf script` or `perf annotate --stdio` printed: weigh the loops by their samples",
    )
    add_request_options(
        group,
        LoopsConfig,
        functions="GLOB: of these alone: a name, or mat*",
        program="NAME: how perf calls the file (default: by its name)",
        weighing="weights are samples, or by branch records iterations (default: samples)",
        least="P: leave out loops with less than P %% of all samples",
    )
    group.add_argument("--list-loops", action="store_true", help="list the loops and store nothing")


def import_loops_of(path: Path, sort: BlockFileSort, options: Mapping[str, Any]) -> list[str]:
    """The same in the shell, at once; the lines tell what was made. Raises `ExchangeError`."""
    samples = None
    if beside := options.get("samples"):
        samples = (_content(beside), beside.name)
    content = _content(path)
    found = _found(content, path.name, sort, options, samples, lambda done, of: None)
    if options.get("list_loops"):
        return [*listed(found), *found.lines()]
    isa = code_isa_row()
    name = options["name"] or PurePath(path.name).stem[:NAME_LIMIT] or "loops"
    made = store_loops(found, path.name, name, note=options["note"], isa=isa)
    return _told(made, found)


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


def _found(
    content: bytes,
    file_name: str,
    sort: BlockFileSort,
    options: Mapping[str, Any],
    samples: tuple[bytes, str] | None,
    told: Callable[[int, int], None],
) -> ProgramLoops:
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


def _store(task: Task, upload: Upload, found: ProgramLoops) -> tuple[Json, Sequence[Event]]:
    discard_upload(upload)
    config = task.run.config
    usual = PurePath(upload.file_name).stem.strip()[:NAME_LIMIT] or "loops"
    name = config["name"] or free_name(BasicBlockSet, usual)
    isa = code_isa_row()
    made = store_loops(found, upload.file_name, name, note=config["note"], isa=isa, run=task.run)
    result: Json = {"block_set": made.pk, "name": made.name, "rows": made.size}
    told: list[Event] = [Log("info", line) for line in _told(made, found)]
    return result, [*told, ResultStored(result)]


def _told(made: BasicBlockSet, found: ProgramLoops) -> list[str]:
    return [f"basic-block set {made.name!r}: {made.size:,} blocks with weights", *found.lines()]
