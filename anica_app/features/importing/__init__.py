"""Published campaigns and generalisations of AnICA, and archives of campaigns: looked at and imported.

They come in through `inference.features.asking.block_files`, whose runs and page import what is registered.
"""

import re

from inference.formats.other_formats import ImporterEntry
from inference.runs.lazy import lazy

IMPORTERS = (ImporterEntry(re.compile(rb"\APK\x03\x04"), lazy(__name__, "importer.CampaignImporter")),)
