"""Imports of basic-block sets and campaigns: as a durable run of an upload, or at once from the shell."""

from __future__ import annotations

import io
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import Annotated, Any

from django.db import transaction
from pydantic import Field

from anica_app.features.importing.importing_loops import SORTS as LOOP_SORTS
from anica_app.features.importing.importing_loops import add_loop_arguments, import_loops, import_loops_of
from anica_app.features.importing.loops_job import MOST_KEYS, LoopsConfig, check_loops, telling
from anica_app.formats.anica_documents import CONFIG, DISCOVERIES, WITNESSES
from anica_app.formats.campaign_zip import GENERALISATIONS, MAIN
from anica_app.formats.file_trees import ZipTree
from anica_app.formats.incoming import (
    Sort,
    check_part,
    parts_of,
    read_all,
    sort_of_content,
    sort_of_path,
    tree_of_path,
)
from anica_app.formats.spooled_campaigns import SpooledCampaign
from anica_app.models import Campaign
from anica_app.storage.campaigns import store_campaign
from inference.core.event import Event
from inference.core.events import Log, PhaseStarted, ResultStored
from inference.core.protocols import Json
from inference.features.asking.predictors.query import predictor_of
from inference.features.library.uploads.query import claim_upload, discard_upload, free_upload
from inference.formats.answer_bounds import Bounds
from inference.formats.block_sets import BlockSetOptions, Look, look
from inference.formats.blocks_csv import Broken, Scale
from inference.formats.errors import ExchangeError
from inference.models import BasicBlockSet, Run, Upload
from inference.predictors.protocol import PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Store, Task
from inference.runs.request import OneOf
from inference.storage.block_sets import store
from inference.storage.names import NAME_LIMIT, free_name

FOUND_OUT = ""
"""The numbers of a file mean what they look like."""
NumbersMeaning = Annotated[str, OneOf((FOUND_OUT, *Scale))]


class ImportAnicaConfig(LoopsConfig):
    """A file that becomes a basic-block set or a campaign, called `name` ("": as it calls itself).

    Of a set, `broken`: "stop" or "skip" at rows that cannot be read; `numbers`: what those of the file are,
    "" to find out, or a list with one for each column; `issue_width` and `bounds`, the name of a port
    mapping: what answers are compared with. Of a program or a listing, which loops: the fields of runs of
    kind `loops`, and in `loops` the keys of some that such a run has found, [] for all.
    """

    noun = "an import"
    name: str = ""
    note: str = ""
    broken: Annotated[str, OneOf(Broken)] = Broken.STOP.value
    numbers: NumbersMeaning | list[NumbersMeaning] = FOUND_OUT
    issue_width: Annotated[float, Field(ge=0.01, le=1000)] | None = None
    bounds: str = ""
    loops: Annotated[list[str], Field(max_length=MOST_KEYS)] = []


STAGES = ("Read and check", "Store")
"""Of an import of blocks."""


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


class ImportAnicaJob:
    """Runs of kind `import-anica`; see `ImportAnicaConfig`."""

    def check(self, config: Json) -> Json:
        """The complete description. Raises `ConfigError`."""
        complete = ImportAnicaConfig.read(config).as_json()
        check_loops(complete)
        free_upload(complete["upload"])
        return complete

    def submitted(self, run: Run) -> None:
        """The upload shows which run imports it, and no other does. Raises `ConfigError` where one does."""
        claim_upload(run)

    def work(self, task: Task) -> Store:
        """Read the file, to be stored when the run is finished. Raises `JobError` with the problems."""
        upload = Upload.objects.filter(pk=task.run.config["upload"]).first()
        if upload is None:
            raise JobError("the uploaded file has been deleted")
        content = bytes(upload.content)
        try:
            sort = sort_of_content(content)
            if sort is Sort.BLOCKS:
                return _block_import(task, upload, content)
            if sort in LOOP_SORTS:
                return import_loops(task, upload, content, sort, telling(task, "bytes"))
            campaigns = read_all(ZipTree(io.BytesIO(content), upload.file_name), telling(task, "blocks"))
        except ExchangeError as error:
            raise JobError(str(error)) from error
        return partial(_store_campaigns, task, upload, campaigns)


def _block_import(task: Task, upload: Upload, content: bytes) -> Store:
    _enter(task, "check", 1)
    total = content.count(b"\n")
    tell = telling(task, "rows")
    reading = _reading(content, upload.file_name, task.run.config)
    seen = look(io.BytesIO(content), upload.file_name, reading, lambda read: tell(read, max(read, total)))
    if not seen.acceptable:
        raise JobError("\n".join(["nothing was imported", *(seen.lines() or ["the file has no row"])]))
    _enter(task, "store", 2)
    return partial(_store_blocks, task, upload, content, reading)


def _enter(task: Task, name: str, index: int) -> None:
    task.reporter.emit(PhaseStarted(name, index, STAGES))


def _reading(content: bytes, file_name: str, options: Mapping[str, Any]) -> BlockSetOptions:
    """With `numbers` for all, the columns have to be known: a look at the beginning tells them."""
    if not options.get("numbers") or isinstance(options["numbers"], list):
        return reading_of(options)
    beginning = content[: content.find(b"\n", 4096) + 1] or content
    return reading_of(
        options, len(look(io.BytesIO(beginning), file_name, BlockSetOptions(Broken.SKIP)).columns)
    )


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
    return result, [*(_log(text) for text in told_of_blocks(made, seen)), ResultStored(result)]


def _store_campaigns(
    task: Task, upload: Upload, campaigns: Sequence[SpooledCampaign]
) -> tuple[Json, Sequence[Event]]:
    discard_upload(upload)
    config = task.run.config
    made = store_campaigns(campaigns, config["name"], config["note"], task.run)
    result: Json = {
        "campaign": made[0].pk,
        "name": made[0].name,
        "rows": sum(len(content.discoveries) for content in campaigns),
    }
    if len(made) > 1:
        result["campaigns"] = [one.pk for one in made]
    return result, [*(_log(line) for one in made for line in told_of_campaign(one)), ResultStored(result)]


def store_campaigns(
    campaigns: Sequence[SpooledCampaign], name: str, note: str, run: Run | None = None
) -> list[Campaign]:
    """Store one under the name, or several, each with its own name behind it; "": under their own names.

    All of them or none. Raises `NameTakenError` for one campaign with a name in use.
    """
    if len(campaigns) == 1:
        (content,) = campaigns
        own = content.campaign.name if run is None else free_name(Campaign, content.campaign.name)
        return [store_campaign(content, name or own, note=note, run=run)]
    made: list[Campaign] = []
    with transaction.atomic():
        for content in campaigns:
            own = content.campaign.name
            wanted = free_name(Campaign, (f"{name}, {own}" if name else own)[:NAME_LIMIT])
            own_run = None if made else run  # of a run there is one campaign
            made.append(store_campaign(content, wanted, note=note, run=own_run))
    return made


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


def told_of_campaign(made: Campaign) -> list[str]:
    """What an import of a campaign has made, a line each."""
    steps = sum(made.generalisations.values_list("steps_count", flat=True))
    lines = [
        f"campaign {made.name!r}: {count_of(made.discoveries.count(), 'discovery', 'discoveries')}, "
        f"{count_of(made.generalisations.count(), 'generalisation')} with {count_of(steps, 'decision')}"
    ]
    for label, why in made.facts.get("unsayable", {}).items():
        lines.append(f"{label} is kept as it was only: our words do not have {why}")
    return lines


def count_of(count: int, one: str, several: str = "") -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def _log(text: str) -> Event:
    return Log("info", text)


def _stem(file_name: str) -> str:
    return PurePath(file_name).stem.strip()[:NAME_LIMIT] or "import"


SEEN = 1 << 19
"""Bytes of a file with blocks that its preview looks at; the import reads all of it."""
WIDEST = 8.0
"""Instructions per cycle that hardly any processor exceeds: what answers are held against unless told."""


def _beginning_of(content: bytes, file_name: str, options: Json) -> Json:
    """What the first rows of a file with blocks tell, broken ones passed over; `whole`: these are all.

    `usual` is what each column is taken for without options.
    """
    end = len(content) if len(content) <= SEEN else content.rfind(b"\n", 0, SEEN) + 1
    first = content[: end or SEEN]
    usual = look(io.BytesIO(first), file_name, BlockSetOptions(Broken.SKIP, bounds=Bounds(WIDEST)))
    asked = {**options, "broken": Broken.SKIP}
    seen = look(io.BytesIO(first), file_name, _reading(first, file_name, asked)) if options else usual
    scales = [column.scale.value for column in usual.columns]
    return {**seen.as_json(), "usual": scales, "whole": end == len(content)}


def _archive_facts(content: bytes, file_name: str) -> list[list[str]]:
    """(label, number) of what an archive has. Raises `ExchangeError` where it is damaged or lacks files."""
    tree = ZipTree(io.BytesIO(content), file_name)
    parts = parts_of(tree)
    discoveries = traces = 0
    for part in parts:
        check_part(part)
        names = part.names()
        all_of_it = CONFIG in names or MAIN in names
        discoveries += sum(name.startswith(DISCOVERIES) for name in names) if all_of_it else 1
        traces += sum(name.startswith((WITNESSES, GENERALISATIONS)) for name in names) if all_of_it else 1
    facts = [["Generalisations with their decisions", f"{traces:,}"], ["Files", f"{len(tree.names()):,}"]]
    if discoveries:
        facts.insert(0, ["Discoveries", f"{discoveries:,}"])
    if len(parts) > 1:
        facts.insert(0, ["Campaigns", f"{len(parts):,}: {', '.join(part.name for part in parts)}"])
    return facts


class AnicaImporter:
    """What `manage.py import` and the upload pages hand on."""

    titles = ", ".join(Sort)
    preview = "anica-import"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Of basic-block sets."""
        group = parser.add_argument_group("basic-block sets")
        group.add_argument(
            "--broken",
            choices=[one.value for one in Broken],
            default=Broken.STOP.value,
            help="at a row that cannot be read: refuse the file, or leave the row out (default: stop)",
        )
        group.add_argument(
            "--numbers",
            choices=[one.value for one in Scale],
            default=FOUND_OUT,
            help="what the numbers of the file are (default: found out)",
        )
        group.add_argument(
            "--issue-width",
            type=float,
            metavar="N",
            help="instructions per cycle of the processor: doubt answers that are below",
        )
        group.add_argument(
            "--bounds", default="", metavar="MAPPING", help="port mapping: doubt answers below what it says"
        )
        add_loop_arguments(parser)

    def reads_path(self, path: Path) -> bool:
        """Whether it is one of ours."""
        return sort_of_path(path) is not None

    def reads_content(self, content: bytes) -> bool:
        """Whether it is one of ours."""
        return sort_of_content(content) is not None

    def read(self, content: bytes, file_name: str, options: Json) -> Json:
        """Its format, and of blocks what the first rows tell. Raises `ExchangeError` or `ConfigError`."""
        sort = sort_of_content(content)
        if sort is None:
            raise ExchangeError(f"{file_name} is none of {self.titles}")
        if sort in LOOP_SORTS:
            return {"sort": sort.value}
        if sort is not Sort.BLOCKS:
            return {"sort": sort.value, "facts": _archive_facts(content, file_name)}
        asked = ImportAnicaConfig.read({**options, "upload": 0}).as_json() if options else {}
        return {"sort": sort.value, **_beginning_of(content, file_name, asked)}

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """Import a file or a directory. Raises `ExchangeError`."""
        sort = sort_of_path(path)
        if sort in LOOP_SORTS:
            return import_loops_of(path, sort, options)
        if sort is not Sort.BLOCKS:
            made_of_it = store_campaigns(read_all(tree_of_path(path)), options["name"], options["note"])
            return [line for one in made_of_it for line in told_of_campaign(one)]
        with path.open("rb") as file:
            beginning = file.read(1 << 16)
            reading = _reading(beginning, path.name, options)
            file.seek(0)
            made, seen = store(
                file,
                path.name,
                options["name"] or _stem(path.name),
                reading,
                note=options["note"],
            )
        return told_of_blocks(made, seen)
