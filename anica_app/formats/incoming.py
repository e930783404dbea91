"""Which format of campaigns a file, a directory or an upload is in, and how to read it."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from anica_app.formats import anica_campaigns, campaign_zip
from anica_app.formats.anica_documents import CONFIG, DATABASE, DISCOVERY, WITNESS, is_published
from anica_app.formats.campaign_values import SpooledCampaign
from anica_app.formats.campaign_zip import is_campaign_archive, read_archive
from inference.formats.file_trees import Directory, FileTree, PartOfTree, ZipTree
from inference.formats.problems import ExchangeError

_ZIP = b"PK\x03\x04"
_MARKS = (CONFIG, DISCOVERY, WITNESS, campaign_zip.MAIN)
_EXPECTED = (
    f"campaign.json and discoveries.json of a campaign's archive, {CONFIG} of a campaign of AnICA, or "
    f"{DISCOVERY} and {WITNESS} of a generalisation are expected, in it or in directories of it"
)
_SHOWN = 3
MOST_PARTS = 200
"""Campaigns and generalisations of one archive."""

Told = Callable[[int, int], None]
"""Hears how much of how much is read; may raise in order to stop."""


class Sort(StrEnum):
    """What a file brings, by its format."""

    PUBLISHED = anica_campaigns.TITLE
    ARCHIVE = campaign_zip.TITLE


def sort_of_path(path: Path) -> Sort | None:
    """What a file or a directory is; None for anything else."""
    if path.is_dir():
        below = [path, *(one for one in path.iterdir() if one.is_dir())]
        marked = any((one / name).is_file() for one in below for name in _MARKS)
        return Sort.PUBLISHED if marked else None
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return sort_of_file(file)


def sort_of_file(file: BinaryIO) -> Sort | None:
    """What an opened file is, read from its beginning."""
    beginning = file.read(len(_ZIP))
    file.seek(0)
    if beginning != _ZIP:
        return None
    try:
        parts = parts_of(ZipTree(file, "archive"))
    except ExchangeError:
        # One of ours all the same: what is wrong with it is told when it is read.
        return Sort.ARCHIVE if zipfile.is_zipfile(file) else None
    finally:
        file.seek(0)
    if not parts:
        return None
    ours = all(is_campaign_archive(part.names()) for part in parts)
    return Sort.ARCHIVE if ours else Sort.PUBLISHED


def parts_of(tree: FileTree) -> list[FileTree]:
    """The tree if it is meant as a campaign or a generalisation, else its directories that are, by name.

    What lacks a file that belongs to it is one as well: what it lacks is told when it is read.
    """
    names = tree.names()
    tops = {str(PurePosixPath(name).parent) for name in names if PurePosixPath(name).name in _MARKS}
    if "." in tops:
        return [tree]
    inner = sorted(top for top in tops if not any(top.startswith(f"{other}/") for other in tops))
    return [PartOfTree(tree, top) for top in inner]


def sort_of_content(content: bytes) -> Sort | None:
    """What an uploaded file is."""
    return sort_of_file(io.BytesIO(content))


def read_all(tree: FileTree, told: Told | None = None) -> list[SpooledCampaign]:
    """All campaigns and generalisations of a tree, each called like its directory.

    Raises `ExchangeError` with what is wrong with which of them.
    """
    parts = parts_of(tree)
    if not parts:
        raise ExchangeError(f"{tree.name} has {_told(tree.names())}; {_EXPECTED}")
    if len(parts) > MOST_PARTS:
        raise ExchangeError(
            f"{tree.name} has {len(parts)} campaigns and generalisations, of {MOST_PARTS} at most"
        )
    rows, wrong = [], []
    for part in parts:
        try:
            rows.append(read_part(part, told))
        except ExchangeError as error:
            wrong.append(str(error) if part is tree else f"{part.name}: {error}")
    if wrong:
        left = f"{len(wrong)} of {len(parts)} cannot be read, so none was imported"
        raise ExchangeError("\n".join([*([left] if len(parts) > 1 else []), *wrong]))
    return rows


def read_part(tree: FileTree, told: Told | None = None) -> SpooledCampaign:
    """A campaign in either of the formats. Raises `ExchangeError`."""
    check_part(tree)
    if is_campaign_archive(tree.names()):
        return read_archive(tree, told)
    return anica_campaigns.read_campaign(tree, told)


def check_part(tree: FileTree) -> None:
    """Raise `ExchangeError` for what has not the files of a campaign or a generalisation."""
    names = tree.names()
    if is_campaign_archive(names) or is_published(names):
        return
    lacking = [name for name in (DISCOVERY, WITNESS) if name not in names]
    if len(lacking) == 1:
        there = DISCOVERY if lacking == [WITNESS] else WITNESS
        raise ExchangeError(
            f"{tree.name} has {there} and no {lacking[0]}: a generalisation of AnICA has both, and {DATABASE}"
        )
    raise ExchangeError(f"{tree.name} has {_told(names)}; {_EXPECTED}")


def _told(names: Sequence[str]) -> str:
    """What files there are, in a few words."""
    shown = ", ".join(names[:_SHOWN])
    return f"{len(names)} files ({shown}{', …' if len(names) > _SHOWN else ''})" if names else "no file"


def tree_of_path(path: Path) -> FileTree:
    """A directory, or the archive in a file (which is read into memory). Raises `ExchangeError`."""
    return Directory(path) if path.is_dir() else ZipTree(io.BytesIO(path.read_bytes()), path.name)
