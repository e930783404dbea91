"""Campaigns: searches for what tools disagree about."""

from __future__ import annotations

from typing import BinaryIO

from inference.runs.kinds import RunKind

KINDS = (
    RunKind(
        "campaign",
        label="Campaign",
        summary="Search for blocks on which predictors disagree",
        example={
            "predictors": [2, 5],
            "preset": "tools",
            "settings": {"samples": 50, "threshold": 0.5},
            "end": {"minutes": 10},
            "scheme_filter": "-ext:AVX512",
            "excluded": [31],
            "seed": 1,
        },
    ),
)


def _write(name: str, file: BinaryIO) -> None:
    from anica_app.storage.campaigns import write_campaign_archive  # noqa: PLC0415  exports load it

    write_campaign_archive(name, file)


WRITERS = {"campaign": _write}
