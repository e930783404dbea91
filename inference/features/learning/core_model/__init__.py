"""Why a block takes as long as it does: the bounds that a machine’s core model sets."""

import re

from inference.formats.other_formats import ImporterEntry
from inference.runs.lazy import lazy
from inference.web.panels import PagePanel, PanelPlace

PANELS = (
    PagePanel(
        PanelPlace.MACHINE,
        "core",
        "Core",
        "inference/core_model/of_machine.html",
        lazy(__name__, "pages.of_machine"),
    ),
)

IMPORTERS = (
    ImporterEntry(
        re.compile(rb'"format"\s*:\s*"pmweb-core-model"'), lazy(__name__, "storing.CoreModelFiles")
    ),
)
