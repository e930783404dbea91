"""Core models: the bounds that a machine's core sets for basic blocks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inference.formats.other_formats import ImporterEntry

if TYPE_CHECKING:
    from inference.formats.other_formats import Importer


def _files() -> Importer:
    from inference.features.learning.core_model.storing import CoreModelFiles  # noqa: PLC0415  imports load it

    return CoreModelFiles()


IMPORTERS = (ImporterEntry(re.compile(rb'"format"\s*:\s*"pmweb-core-model"'), _files),)
