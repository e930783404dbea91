"""How runs describe loops of an uploaded program: which, and by what samples they are weighed."""

from __future__ import annotations

from typing import Any

from anica_app.exchange.program_loops import Wanted, Weighing
from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.core.tunables import check_choice, check_number
from inference.models import Upload
from inference.runs.described_rows import read_row
from inference.runs.errors import ConfigError, JobError

FIELDS: Json = {
    "samples": None,
    "functions": "",
    "program": "",
    "weighing": Weighing.SAMPLES.value,
    "least": 0.0,
}
MOST_KEYS = 20_000
_LONGEST = 300


def check_loops(complete: Json) -> None:
    """Check the fields of `FIELDS`, and `loops` where it is there. Raises `ConfigError` naming the field."""
    for field in ("functions", "program"):
        if not isinstance(complete[field], str) or len(complete[field]) > _LONGEST:
            raise ConfigError(
                f"{field} must be a text of {_LONGEST} characters at most, not {complete[field]!r:.80}"
            )
    try:
        check_choice("weighing", complete["weighing"], tuple(Weighing))
        check_number("least", complete["least"], 0.0, 100.0)
    except InvalidInputError as error:
        raise ConfigError(str(error)) from error
    if complete["samples"] is not None:
        read_row(Upload.objects.defer("content"), "samples", complete["samples"], "uploaded file")
    elif complete["weighing"] == Weighing.ITERATIONS or complete["least"]:
        raise ConfigError("weighing and least are about samples: name the upload that has them in samples")
    keys = complete.get("loops", [])
    if not isinstance(keys, list) or len(keys) > MOST_KEYS or not all(isinstance(one, str) for one in keys):
        raise ConfigError(
            f"loops must be a list of up to {MOST_KEYS:,} texts, as a run of the kind loops has"
        )


def wanted_of(config: Json) -> Wanted:
    """The same as a value."""
    return Wanted(
        config.get("functions") or "",
        config.get("program") or "",
        Weighing(config.get("weighing") or Weighing.SAMPLES),
        float(config.get("least") or 0.0),
        tuple(config.get("loops") or ()),
    )


def samples_of(config: Json) -> tuple[bytes, str] | None:
    """Content and name of the samples. Raises `JobError` where they have been deleted."""
    pk: Any = config.get("samples")
    if pk is None:
        return None
    row = Upload.objects.filter(pk=pk).first()
    if row is None:
        raise JobError("the uploaded file with the samples has been deleted")
    return bytes(row.content), row.file_name
