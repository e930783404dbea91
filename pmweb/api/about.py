"""What this installation is, as the About page has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema
from pydantic import Field

from inference.web.api.errors import ProblemError
from pmweb import installation

router = Router()


class ProgramOut(Schema):
    """A program that other tools come with, and what was found of it here."""

    program: str = Field(examples=["llvm-mca"])
    found: dict[str, str] = Field(
        description="Path and version.", examples=[{"/usr/bin/llvm-mca-22": "22.1.0"}]
    )


class AboutOut(Schema):
    """The installation as it is now; labels and texts are for people."""

    facts: dict[str, str] = Field(examples=[{"pmweb": "0.8.0", "Python": "3.11.7"}])
    access: dict[str, str] = Field(
        description="Who may read, and how much somebody may have at a time.",
        examples=[{"Unfinished runs of a user": "at most 20"}],
    )
    computing: dict[str, str] = Field(examples=[{"Processors": "16 of this computer"}])
    containment: dict[str, str] = Field(
        description="What keeps predictors' programs from all else here.",
        examples=[{"Files": "closed by Landlock 7"}],
    )
    measuring: dict[str, str] = Field(examples=[{"Agent": "0.8.0, protocol 3"}])
    libraries: dict[str, str] = Field(examples=[{"numpy": "2.2.0"}])
    programs: list[ProgramOut]


@router.get("/about", response=AboutOut)
def get_about(request: HttpRequest) -> Any:
    """Versions, limits, and what this installation has or lacks, for whoever has an account."""
    if not request.user.is_authenticated:
        raise ProblemError(
            403, "This is for those who have an account", where="header Authorization", right="a token"
        )
    return {
        **{name: dict(lines) for name, lines in installation.sections().items()},
        "programs": [_program(*each) for each in installation.find_all()],
    }


def _program(
    program: installation.OptionalProgram, found: Iterable[installation.InstalledProgram]
) -> dict[str, Any]:
    return {"program": program.name, "found": {each.path: each.version for each in found}}
