"""Core models: the bounds that a machine's core sets for basic blocks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inference.formats.other_formats import ImporterEntry
from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.formats.other_formats import Importer
    from inference.models import Machine
    from inference.web.contributions import Context

_NEWEST = 6


def _of_machine(_request: HttpRequest, machine: Machine) -> Context | None:
    from inference.features.learning.core_model.query import core_models  # noqa: PLC0415  pages load it

    models = list(core_models().filter(machine=machine)[:_NEWEST])
    return {"core_models": models} if models else None


PANELS = (PagePanel(PanelPlace.MACHINE, "core", "Core", "inference/core_model/of_machine.html", _of_machine),)


def _files() -> Importer:
    from inference.features.learning.core_model.storing import CoreModelFiles  # noqa: PLC0415  imports load it

    return CoreModelFiles()


IMPORTERS = (ImporterEntry(re.compile(rb'"format"\s*:\s*"pmweb-core-model"'), _files),)
