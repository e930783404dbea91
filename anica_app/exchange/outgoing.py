"""Rows of AnICA as files, by their names: what `manage.py export` writes."""

from __future__ import annotations

from typing import BinaryIO

from anica_app.exchange.block_sets import export
from anica_app.exchange.campaign_zip import write_campaign
from anica_app.models import BasicBlockSet, Campaign
from inference.storage.names import by_name


def write_block_set(name: str, file: BinaryIO) -> None:
    """The basic-block set of this name as CSV. Raises `UnknownNameError`."""
    for piece in export(by_name(BasicBlockSet, name)):
        file.write(piece.encode())


def write_campaign_archive(name: str, file: BinaryIO) -> None:
    """The campaign of this name as a zip archive. Raises `UnknownNameError`."""
    write_campaign(by_name(Campaign, name), file)
