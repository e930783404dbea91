"""Tunables of an algorithm: dataclass fields with a default, the paper's value and a line of help."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

from inference.core.errors import InvalidInputError, as_written


def setting(default: Any, description: str, paper: Any, *, chooses: str = "", harmless: str = "") -> Any:
    """A dataclass field; `metadata["paper"]` is what the publication used, `["help"]` what forms show.

    `chooses`: what a value chooses of a program that is started, see `inference.predictors.permission`.
    `harmless`: a pattern of the words of a value that choose nothing of it.
    """
    marks = {"chooses": chooses, "harmless": harmless} if chooses else {}
    return field(default=default, metadata={"help": description, "paper": paper, **marks})


class AlgorithmSettings:
    """A dataclass of tunables, read from names and values and stored as these."""

    NAME: ClassVar[str]
    """What has these settings, in messages."""

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> Self:
        """From names to values or their text ("5000", "", "none"), as forms and `--set` give them.

        Raises `InvalidInputError` for an unknown name (telling the nearest) or a value out of its domain.
        """
        return cls(**values_of(cls, options, cls.NAME))

    def as_json(self) -> dict[str, Any]:
        """Plain JSON that `parse` takes back."""
        return dataclasses.asdict(self)  # type: ignore[call-overload,no-any-return]  # of a dataclass


def values_of(cls: Any, options: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
    """Arguments for the dataclass from names to values or their text ("5000", "", "none", "true").

    Raises `InvalidInputError` for what is no mapping, for an unknown name (telling the nearest), for text
    that is no number where one is wanted, and for what is no text, no list of texts, or neither true nor
    false where that is wanted. Domains, and whether a number is one, are the dataclass's own to check.
    """
    if not isinstance(options, Mapping):
        raise InvalidInputError(f"settings must be an object of names and values, not {as_written(options)}")
    fields = {entry.name: str(entry.type) for entry in dataclasses.fields(cls)}
    values: dict[str, Any] = {}
    for name, value in options.items():
        if name not in fields:
            near = difflib.get_close_matches(name, fields, n=1, cutoff=0.0)
            raise InvalidInputError(f"{algorithm} has no setting {name!r}; the nearest is {near[0]!r}")
        if isinstance(value, str):
            values[name] = _parsed(name, value, fields[name])
        else:
            _check_sort(name, value, fields[name])
            values[name] = value
    return values


def _check_sort(name: str, value: object, kind: str) -> None:
    if kind == "bool" and not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be true or false, not {as_written(value)}")
    if kind == "str":
        raise InvalidInputError(f"{name} must be a text, not {as_written(value)}")
    if kind.startswith("tuple[str"):
        texts = isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
        if not texts:
            raise InvalidInputError(f"{name} must be a text, or a list of texts, not {as_written(value)}")


def _parsed(name: str, text: str, kind: str) -> object:
    text = text.strip()
    if "None" in kind and text.lower() in ("", "none"):
        return None
    if kind == "bool":
        return _truth(name, text)
    try:
        if kind.startswith("int"):
            return int(text)
        if kind.startswith("float"):
            return float(text)
    except ValueError:
        wanted = "a whole number" if kind.startswith("int") else "a number"
        raise InvalidInputError(f"{name} must be {wanted}, not {as_written(text)}") from None
    return text


def _truth(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidInputError(f"{name} must be true or false, not {as_written(text)}")
    return text.lower() == "true"


def check_whole(name: str, value: object, low: int, high: int) -> None:
    """Raise `InvalidInputError` unless the value is a whole number of that range."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInputError(
            f"{name} must be a whole number from {low} to {high}, not {as_written(value)}"
        )


def check_number(name: str, value: object, low: float, high: float) -> None:
    """Raise `InvalidInputError` unless the value is a finite number of that range."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not low <= value <= high  # first: what no float can hold is compared all the same
        or not math.isfinite(value)
    ):
        raise InvalidInputError(f"{name} must be a number from {low:g} to {high:g}, not {as_written(value)}")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise `InvalidInputError` unless the value is one of those allowed."""
    if value not in allowed:
        raise InvalidInputError(f"{name} must be one of {', '.join(allowed)}, not {as_written(value)}")


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
