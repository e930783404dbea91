"""Campaigns and generalisations out of files: stored by a run of an upload, or at once from the shell."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from django.db import transaction

from anica_app.features.campaigns.form import campaigns_of
from anica_app.formats.anica_documents import CONFIG, DISCOVERIES, WITNESSES
from anica_app.formats.campaign_values import SpooledCampaign
from anica_app.formats.campaign_zip import (
    GENERALISATIONS,
    MAIN,
    Sort,
    check_part,
    parts_of,
    read_all,
    sort_of_content,
    sort_of_file,
    sort_of_path,
    tree_of_path,
)
from anica_app.models import Campaign
from anica_app.storage.campaigns import store_campaign
from inference.core.events import Event, Log, ResultStored
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.features.asking.block_files.importer import telling
from inference.features.asking.block_files.query import PREVIEW, UploadImporter
from inference.features.library.uploads.query import discard_upload
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.formats.errors import ExchangeError
from inference.formats.file_trees import ZipTree
from inference.models import Run, Upload
from inference.runs.kinds import Store, Task
from inference.storage.names import NAME_LIMIT, free_name


class CampaignImporter(UploadImporter):
    """Campaigns and generalisations in archives and directories."""

    sorts = tuple(Sort)
    titles = ", ".join(Sort)
    preview = PREVIEW
    model = Campaign
    list_page = "campaigns"
    list_title = "Campaigns"

    def reads(self, file: BinaryIO) -> bool:
        """Whether an archive has campaigns."""
        return sort_of_file(file) is not None

    def reads_directory(self, path: Path) -> bool:
        """Whether it is a campaign or has some."""
        return sort_of_path(path) is not None

    def read(self, content: bytes, file_name: str, options: Json) -> Json:
        """Its format, and how much of what is in it. Raises `ExchangeError`."""
        del options
        sort = sort_of_content(content)
        if sort is None:
            raise ExchangeError(f"{file_name} is none of {self.titles}")
        return {"sort": sort.value, "facts": _archive_facts(content, file_name)}

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """The campaigns of a file or a directory. Raises `ExchangeError`."""
        made = store_campaigns(read_all(tree_of_path(path)), options["name"], options["note"])
        return [line for one in made for line in told_of_campaign(one)]

    def import_upload(self, task: Task, upload: Upload, content: bytes) -> Store:
        """Read the archive, to be stored when the run is finished. Raises `ExchangeError`."""
        campaigns = read_all(ZipTree(io.BytesIO(content), upload.file_name), telling(task, "blocks"))
        return partial(_store, task, upload, campaigns)

    def outcomes(self, runs: Sequence[Run]) -> dict[int, RunOutcome]:
        """The campaigns of these runs (one query); of several, the first and how many more."""
        more = {run.pk: len(run.result.get("campaigns", ())) - 1 for run in runs}
        return {
            run: replace(made, name=f"{made.name} and {more[run]} more") if more[run] > 0 else made
            for run, made in campaigns_of(runs).items()
        }


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


def _store(task: Task, upload: Upload, campaigns: Sequence[SpooledCampaign]) -> tuple[Json, Sequence[Event]]:
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
    return result, [
        *(Log("info", line) for one in made for line in told_of_campaign(one)),
        ResultStored(result),
    ]


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
