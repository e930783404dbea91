"""Imports published campaigns and generalisations of AnICA, and archives of campaigns.

Uploads go through `inference.features.asking.block_files`, whose runs and page use the registered importers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anica_app import formats
from inference.formats.other_formats import ImporterEntry

if TYPE_CHECKING:
    from inference.formats.other_formats import Importer


def _files() -> Importer:
    from anica_app.features.importing.importer import CampaignImporter  # noqa: PLC0415  imports load it

    return CampaignImporter()


IMPORTERS = (ImporterEntry(re.compile(rb"\APK\x03\x04|" + formats.DOCUMENT_KEYS.pattern), _files),)
