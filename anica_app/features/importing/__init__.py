"""Files with basic blocks, programs, listings and campaigns: looked at and imported."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "import-anica",
        label="Block import",
        job="anica_app.features.importing.import_job.ImportAnicaJob",
        summary="A basic-block set or a campaign from a file",
        example={"upload": 5, "name": "BHive on Haswell", "broken": "skip", "numbers": "cycles"},
        lane=Lane.SHORT,
        words="anica_app.features.importing.asked.import_words",
        outcomes="anica_app.features.importing.asked.imports_of",
    ),
    RunKind(
        "loops",
        label="Loop search",
        job="anica_app.features.importing.loops_job.LoopsJob",
        summary="The loops of a compiled program",
        example={"upload": 5, "functions": "mat*"},
        lane=Lane.SHORT,
        outcomes="anica_app.features.importing.asked.loops_of",
    ),
)

OPERATIONS = (("/block-sets", "api"),)
