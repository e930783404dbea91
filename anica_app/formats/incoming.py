"""Rows of AnICA as files, by their names: what `manage.py export` writes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from anica_app.formats import anica_campaigns, block_sets, campaign_zip
from anica_app.formats.anica_documents import CONFIG, DISCOVERY, WITNESS, is_published
from anica_app.formats.block_sets import export
from anica_app.formats.blocks_csv import is_block_csv
from anica_app.formats.campaign_rows import CampaignRows
from anica_app.formats.campaign_zip import is_campaign_archive, read_archive, write_campaign
from anica_app.formats.file_trees import Directory, FileTree, ZipTree
from anica_app.formats.listed_loops import is_listing
from anica_app.formats.perf_texts import is_script
from anica_app.models import BasicBlockSet, Campaign
from inference.formats.other_formats import BEGINNING
from inference.isa.x86.binaries import is_binary
from inference.storage.errors import ExchangeError
from inference.storage.names import by_name


def write_block_set(name: str, file: BinaryIO) -> None:
    """The basic-block set of this name as CSV. Raises `UnknownNameError`."""
    for piece in export(by_name(BasicBlockSet, name)):
        file.write(piece.encode())


def write_campaign_archive(name: str, file: BinaryIO) -> None:
    """The campaign of this name as a zip archive. Raises `UnknownNameError`."""
    write_campaign(by_name(Campaign, name), file)


# Which of AnICA's formats a file, a directory or an upload is in, and how to read it.


_ZIP = b"PK\x03\x04"

Told = Callable[[int, int], None]
"""Hears how much of how much is read; may raise in order to stop."""


class Sort(StrEnum):
    """What a file brings, by its format."""

    BLOCKS = block_sets.TITLE
    PROGRAM = "compiled program"
    LISTING = "listing of machine code"
    SAMPLES = "samples of a profiler"
    PUBLISHED = anica_campaigns.TITLE
    ARCHIVE = campaign_zip.TITLE


def sort_of_path(path: Path) -> Sort | None:
    """What a file or a directory is; None for anything else."""
    if path.is_dir():
        has_pair = (path / DISCOVERY).is_file() and (path / WITNESS).is_file()
        return Sort.PUBLISHED if has_pair or (path / CONFIG).is_file() else None
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return sort_of_file(file)


def sort_of_file(file: BinaryIO) -> Sort | None:
    """What an opened file is, read from its beginning."""
    beginning = file.read(BEGINNING)
    file.seek(0)
    if not beginning.startswith(_ZIP):
        return _sort_of_text(beginning)
    try:
        names = ZipTree(file, "archive").names()
    except ExchangeError:
        # One of ours all the same: what is wrong with it is told when it is read.
        return Sort.ARCHIVE if zipfile.is_zipfile(file) else None
    finally:
        file.seek(0)
    if is_campaign_archive(names):
        return Sort.ARCHIVE
    return Sort.PUBLISHED if is_published(names) else None


def _sort_of_text(beginning: bytes) -> Sort | None:
    if is_binary(beginning):
        return Sort.PROGRAM
    text = beginning.decode("utf-8-sig", "replace")
    if is_listing(text):
        return Sort.LISTING
    if is_script(text):
        return Sort.SAMPLES
    return Sort.BLOCKS if is_block_csv(beginning) else None


def sort_of_content(content: bytes) -> Sort | None:
    """What an uploaded file is."""
    return sort_of_file(io.BytesIO(content))


def read_rows(tree: FileTree, told: Told | None = None) -> CampaignRows:
    """A campaign in either of the formats. Raises `ExchangeError`."""
    names = tree.names()
    if is_campaign_archive(names):
        return read_archive(tree, told)
    if is_published(names):
        return anica_campaigns.read_campaign(tree, told)
    raise ExchangeError(
        f"{tree.name} is neither the archive of a campaign nor a directory of AnICA: campaign.json and "
        f"discoveries.json, {CONFIG}, or {DISCOVERY} and {WITNESS} are expected"
    )


def tree_of_path(path: Path) -> FileTree:
    """A directory, or the archive in a file (which is read into memory). Raises `ExchangeError`."""
    return Directory(path) if path.is_dir() else ZipTree(io.BytesIO(path.read_bytes()), path.name)
