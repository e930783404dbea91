"""Files that become basic-block sets: tables of blocks, compiled programs, listings and samples of them."""

import re

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.formats.other_formats import ImporterEntry
from inference.runs.kinds import Lane, RunKind
from inference.runs.lazy import lazy

KINDS = (
    RunKind(
        "import-anica",
        label="Block import",
        job=lazy(__name__, "import_job.BlockImportJob"),
        summary="A basic-block set or a campaign from a file",
        example={"upload": 5, "name": "BHive on Haswell", "broken": "skip", "numbers": "cycles"},
        lane=Lane.SHORT,
    ),
    RunKind(
        "loops",
        label="Loop search",
        job=lazy(__name__, "loops_job.LoopsJob"),
        summary="The loops of a compiled program",
        example={"upload": 5, "functions": "mat*"},
        lane=Lane.SHORT,
    ),
)

PRESENTATIONS = {
    "import-anica": lambda: KindPresentation(
        words=lazy(__name__, "asked.import_words"), outcomes=lazy(__name__, "asked.imports_of")
    ),
    "loops": lambda: KindPresentation(outcomes=lazy(__name__, "asked.loops_of")),
}

_NO_BLOCKS = rb'(?:\xef\xbb\xbf)?(?:\s*+#.*+)*+\s*+(?:"?experiment|\{\s*+["}]|\[\s*+[\[{"])'
"""How tables of experiments begin, and JSON."""

IMPORTERS = (
    ImporterEntry(
        re.compile(rb"\A(?!%s)" % _NO_BLOCKS, re.IGNORECASE), lazy(__name__, "importer.BlockFileImporter")
    ),
)
