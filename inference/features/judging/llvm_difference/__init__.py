"""A port mapping beside LLVM's scheduling model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.runs.kinds import Job, Lane, RunKind
from inference.web.menus import MenuEntry, MenuPlace

if TYPE_CHECKING:
    from inference.models import PortMapping


def _job() -> Job:
    from inference.features.judging.llvm_difference.job import LlvmDifferenceJob  # noqa: PLC0415  runs load it

    return LlvmDifferenceJob()


KINDS = (
    RunKind(
        "llvm-difference",
        label="LLVM comparison",
        job=_job,
        summary="A port mapping beside LLVM’s scheduling model",
        example={"mapping": 7, "cpu": "haswell", "tolerance": 0.2},
        lane=Lane.SHORT,
    ),
)


def _suits(row: PortMapping) -> bool:
    from inference.isa.targets import target_of  # noqa: PLC0415  pages load it

    return target_of(row.isa.name).blocks is not None


MENUS = (
    MenuEntry(
        MenuPlace.MAPPING,
        "Difference to LLVM’s model …",
        "mapping-llvm",
        "what llvm-mca says of each scheme; a report in Markdown",
        suits=_suits,
    ),
)
