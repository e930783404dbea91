"""Tunables of an algorithm as dataclass fields: default, the paper's value, a line of help; their checks."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

from inference.core.errors import InvalidInputError, as_written


def setting(default: Any, description: str, paper: Any, *, chooses: str = "", harmless: str = "") -> Any:
    """A dataclass field of a tunable.

    Args:
        default: Value unless the user sets another.
        description: Line of help, shown in forms and by the command (`metadata["help"]`).
        paper: What the publication used (`metadata["paper"]`); None where it says nothing.
        chooses: Which part of a started program a value chooses, see `inference.predictors.permission`.
        harmless: Pattern for words of a value that choose nothing of the program.
    """
    marks = {"chooses": chooses, "harmless": harmless} if chooses else {}
    return field(default=default, metadata={"help": description, "paper": paper, **marks})


class AlgorithmSettings:
    """Base of dataclasses of tunables, which are read from names and values and stored as such."""

    NAME: ClassVar[str]
    """Names the algorithm in error messages."""

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> Self:
        """The settings from {name: value or its text}, as forms and `--set` give them.

        Texts are such as "5000", "" and "none".

        Raises:
            InvalidInputError: For an unknown name (the message names the nearest) or a value out of its
                domain.
        """
        return cls(**values_of(cls, options, cls.NAME))

    def as_json(self) -> dict[str, Any]:
        """Plain JSON; `parse` reads it back."""
        return dataclasses.asdict(self)  # type: ignore[call-overload,no-any-return]  # of a dataclass


def values_of(cls: Any, options: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
    """Keyword arguments for a dataclass from {name: value or its text}, such as "5000", "", "none", "true".

    Types are checked here; the ranges of numbers are checked by the dataclass itself.

    Args:
        cls: The dataclass.
        options: Options as forms, commands or JSON give them.
        algorithm: Named in messages.

    Raises:
        InvalidInputError: Where `options` is no mapping, a name is unknown (the message names the nearest),
            or a text cannot be read as the type of its field.
    """
    if not isinstance(options, Mapping):
        raise InvalidInputError(f"settings must be an object of names and values, not {as_written(options)}")
    fields = {setting_field.name: str(setting_field.type) for setting_field in dataclasses.fields(cls)}
    values: dict[str, Any] = {}
    for name, value in options.items():
        if name not in fields:
            near = difflib.get_close_matches(name, fields, n=1, cutoff=0.0)
            raise InvalidInputError(f"{algorithm} has no setting {name!r}; the nearest is {near[0]!r}")
        if isinstance(value, str):
            values[name] = _parse_text(name, value, fields[name])
        else:
            _check_type(name, value, fields[name])
            values[name] = value
    return values


def _check_type(name: str, value: object, kind: str) -> None:
    if kind == "bool" and not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be true or false, not {as_written(value)}")
    if kind == "str":
        raise InvalidInputError(f"{name} must be a text, not {as_written(value)}")
    if kind.startswith("tuple[str"):
        is_texts = isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)
        if not is_texts:
            raise InvalidInputError(f"{name} must be a text, or a list of texts, not {as_written(value)}")


def _parse_text(name: str, text: str, kind: str) -> object:
    text = text.strip()
    if "None" in kind and text.lower() in ("", "none"):
        return None
    if kind == "bool":
        return _parse_bool(name, text)
    try:
        if kind.startswith("int"):
            return int(text)
        if kind.startswith("float"):
            return float(text)
    except ValueError:
        expected = "a whole number" if kind.startswith("int") else "a number"
        raise InvalidInputError(f"{name} must be {expected}, not {as_written(text)}") from None
    return text


def _parse_bool(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidInputError(f"{name} must be true or false, not {as_written(text)}")
    return text.lower() == "true"


def check_integer(name: str, value: object, low: int, high: int) -> None:
    """Check an integer setting.

    Args:
        name: Name of the setting, for the message.
        value: Value of any type; a bool is no integer here.
        low: Smallest allowed value.
        high: Largest allowed value.

    Raises:
        InvalidInputError: For another type, or a value outside of the range.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInputError(
            f"{name} must be a whole number from {low} to {high}, not {as_written(value)}"
        )


def check_number(name: str, value: object, low: float, high: float) -> None:
    """Check a setting that is a number.

    Args:
        name: Name of the setting, for the error.
        value: From a form, a file or a program.
        low: Smallest allowed value.
        high: Largest allowed value.

    Raises:
        InvalidInputError: For another type, a bool, NaN, infinity, or a value outside of the range.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not low <= value <= high  # first: what no float can hold is compared all the same
        or not math.isfinite(value)
    ):
        raise InvalidInputError(f"{name} must be a number from {low:g} to {high:g}, not {as_written(value)}")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Check a setting with listed values.

    Args:
        name: Name of the setting, for the error.
        value: Value as the user wrote it.
        allowed: The values.

    Raises:
        InvalidInputError: The value is not among them.
    """
    if value not in allowed:
        raise InvalidInputError(f"{name} must be one of {', '.join(allowed)}, not {as_written(value)}")


def choice(default: str, allowed: tuple[str, ...], description: str, paper: Any) -> Any:
    """A dataclass field of a tunable with a fixed set of words; other arguments as for `setting`.

    Args:
        allowed: The words, stored as `metadata["choices"]`. The dataclass itself checks its values, with
            `check_choice`.
    """
    return dataclasses.field(
        default=default, metadata={"help": description, "paper": paper, "choices": allowed}
    )


def check_choices(settings: Any) -> None:
    """Raise `InvalidInputError` for a field made by `choice` whose value is not among its words."""
    for entry in dataclasses.fields(settings):
        if "choices" in entry.metadata:
            check_choice(entry.name, getattr(settings, entry.name), entry.metadata["choices"])
