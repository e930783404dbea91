"""Discoveries, the trees of their generalisation, and reports about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inference.models import Run
    from inference.web.origins import RunOrigin


def _questions_about_steps(runs: Sequence[Run]) -> dict[int, RunOrigin]:
    from anica_app.features.discoveries.steps import questions_about_steps  # noqa: PLC0415  when it is needed

    return questions_about_steps(runs)


ORIGINS = (_questions_about_steps,)

OPERATIONS = (("/discoveries", "api"), ("/discoveries", "trees_api"))
