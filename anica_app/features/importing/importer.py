"""Imports campaigns and generalisations from files: in a run over an upload, or directly in the shell."""

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
    CampaignFileKind,
    check_part,
    kind_of_content,
    kind_of_file,
    kind_of_path,
    parts_of,
    read_content,
    read_path,
)
from anica_app.models import Campaign
from anica_app.storage.campaigns import store_campaign
from inference.core.events import Event, Log, ResultStored
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.features.asking.block_files.importer import progress_reporter
from inference.features.asking.block_files.query import PREVIEW, UploadImporter
from inference.features.library.uploads.query import discard_upload
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.formats.file_trees import ZipTree
from inference.formats.problems import ExchangeError
from inference.models import Run, Upload
from inference.runs.kinds import Store, Task
from inference.storage.names import NAME_LIMIT, free_name


class CampaignImporter(UploadImporter):
    """Campaigns and generalisations in archives and directories, and single documents of AnICA."""

    sorts = tuple(CampaignFileKind)
    titles = ", ".join(CampaignFileKind)
    preview = PREVIEW
    model = Campaign
    list_page = "campaigns"
    list_title = "Campaigns"

    def reads(self, file: BinaryIO) -> bool:
        return kind_of_file(file) is not None

    def reads_directory(self, path: Path) -> bool:
        """Whether a directory is a campaign or contains some."""
        return kind_of_path(path) is not None

    def read(self, file: BinaryIO, file_name: str, options: Json) -> Json:
        """The format of an archive, and facts about its contents. Raises `ExchangeError`."""
        del options
        content = file.read()
        sort = kind_of_content(content)
        if sort is None:
            raise ExchangeError(f"{file_name} is none of {self.titles}")
        facts = _document_facts if sort is CampaignFileKind.DOCUMENT else _archive_facts
        return {"sort": sort.value, "facts": facts(content, file_name)}

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """Import the campaigns of a file or directory; returns a line per result. Raises `ExchangeError`."""
        campaigns = store_campaigns(read_path(path), options["name"], options["note"])
        return [line for campaign in campaigns for line in import_lines(campaign)]

    def import_upload(self, task: Task, upload: Upload) -> Store:
        """Parse the archive; its rows are stored when the run finishes. Raises `ExchangeError`."""
        campaigns = read_content(upload.content, upload.file_name, progress_reporter(task, "blocks"))
        return partial(_store, task, upload, campaigns)

    def outcomes(self, runs: Sequence[Run]) -> dict[int, RunOutcome]:
        """The campaigns of these runs (one query); of several, the first and the number of others."""
        n_more = {run.pk: len(run.result.get("campaigns", ())) - 1 for run in runs}
        return {
            run: replace(outcome, name=f"{outcome.name} and {n_more[run]} more")
            if n_more[run] > 0
            else outcome
            for run, outcome in campaigns_of(runs).items()
        }


def _document_facts(content: bytes, file_name: str) -> list[list[str]]:
    """(label, number) of a single document's contents. Raises `ExchangeError`."""
    campaigns = read_content(content, file_name)
    discoveries = sum(len(rows.discoveries) for rows in campaigns)
    tools = sorted({tool.name for rows in campaigns for tool in rows.predictors})
    facts = [["Abstract blocks", f"{discoveries:,}"], ["Configurations", f"{len(campaigns):,}"]]
    return [*facts, ["Tools", ", ".join(tools)]] if tools else facts


def _archive_facts(content: bytes, file_name: str) -> list[list[str]]:
    """(label, number) of the contents. Raises `ExchangeError` for a damaged or incomplete archive."""
    tree = ZipTree(io.BytesIO(content), file_name)
    parts = parts_of(tree)
    discoveries = traces = 0
    for part in parts:
        check_part(part)
        names = part.names()
        is_complete = CONFIG in names or MAIN in names
        discoveries += sum(name.startswith(DISCOVERIES) for name in names) if is_complete else 1
        traces += sum(name.startswith((WITNESSES, GENERALISATIONS)) for name in names) if is_complete else 1
    facts = [["Generalisations with their decisions", f"{traces:,}"], ["Files", f"{len(tree.names()):,}"]]
    if discoveries:
        facts.insert(0, ["Discoveries", f"{discoveries:,}"])
    if len(parts) > 1:
        facts.insert(0, ["Campaigns", f"{len(parts):,}: {', '.join(part.name for part in parts)}"])
    return facts


def _store(task: Task, upload: Upload, campaigns: Sequence[SpooledCampaign]) -> tuple[Json, Sequence[Event]]:
    discard_upload(upload)
    config = task.run.config
    stored = store_campaigns(campaigns, config["name"], config["note"], task.run)
    result: Json = {
        "campaign": stored[0].pk,
        "name": stored[0].name,
        "rows": sum(len(content.discoveries) for content in campaigns),
    }
    if len(stored) > 1:
        result["campaigns"] = [campaign.pk for campaign in stored]
    return result, [
        *(Log("info", line) for campaign in stored for line in import_lines(campaign)),
        ResultStored(result),
    ]


def store_campaigns(
    campaigns: Sequence[SpooledCampaign], name: str, note: str, run: Run | None = None
) -> list[Campaign]:
    """Store one campaign under `name`, or several with their own names appended; with "" under their own
    names.

    All or none are stored.

    Raises:
        NameTakenError: A single campaign's name is in use.
    """
    if len(campaigns) == 1:
        (content,) = campaigns
        own_name = content.campaign.name if run is None else free_name(Campaign, content.campaign.name)
        return [store_campaign(content, name or own_name, note=note, run=run)]
    stored: list[Campaign] = []
    with transaction.atomic():
        for content in campaigns:
            own_name = content.campaign.name
            free = free_name(Campaign, (f"{name}, {own_name}" if name else own_name)[:NAME_LIMIT])
            own_run = None if stored else run  # of a run there is one campaign
            stored.append(store_campaign(content, free, note=note, run=own_run))
    return stored


def import_lines(campaign: Campaign) -> list[str]:
    """The contents of an imported campaign, for the log."""
    steps = sum(campaign.generalisations.values_list("steps_count", flat=True))
    lines = [
        f"campaign {campaign.name!r}: {count_of(campaign.discoveries.count(), 'discovery', 'discoveries')}, "
        f"{count_of(campaign.generalisations.count(), 'generalisation')} with {count_of(steps, 'decision')}"
    ]
    if not campaign.discoveries.exists() and not campaign.generalisations.exists():
        lines.append("it is a configuration alone: its page begins a campaign with these settings")
    for label, why in campaign.facts.get("unsayable", {}).items():
        lines.append(f"{label} is kept as it was only: our words do not have {why}")
    return lines
