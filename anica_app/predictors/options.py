"""Options that are one of a few words."""

from __future__ import annotations

import dataclasses
from typing import Any

from inference.core.tunables import check_choice


def choice(default: str, allowed: tuple[str, ...], description: str, paper: Any) -> Any:
    """A dataclass field like `inference.core.tunables.setting`; `metadata["choices"]` are the words."""
    return dataclasses.field(
        default=default, metadata={"help": description, "paper": paper, "choices": allowed}
    )


def check_choices(settings: Any) -> None:
    """Raise `InvalidInputError` for an option that is none of its words."""
    for entry in dataclasses.fields(settings):
        if "choices" in entry.metadata:
            check_choice(entry.name, getattr(settings, entry.name), entry.metadata["choices"])
