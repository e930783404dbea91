"""Which part of a started program an option chooses, and who may choose it.

| an option chooses | it takes | and is accepted from |
|---|---|---|
| nothing of it | words of a list, names that a pattern checks, numbers | everybody who may ask |
| `ARGUMENTS`, `PROGRAM`, `FILE` | paths where the site finds the tool (`tool_paths`) | people, the shell |
| `COMMAND` | any program of this computer | the same, where the operator allows it |

People are administrators who have recently confirmed their identity, in a browser. Neither a token nor a file
is sufficient.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from typing import Any

ARGUMENTS, PROGRAM, FILE, COMMAND = "arguments", "program", "file", "command"

VARIABLE = "PMWEB_ALLOW_COMMANDS"
HOW_TO_ALLOW = f"the operator of this site can allow it by setting {VARIABLE}=1 in its environment"
WHO_CHOOSES = (
    "chooses what runs on this computer: an administrator can add such a predictor on the page Predictors "
    "after confirming their identity, or a user of the shell by a command"
)


@dataclass
class _Operator:
    allows_commands: bool = False


_operator = _Operator()


def allow_commands(*, allowed: bool) -> None:
    """Set whether the operator allows commands, for this process; from the environment."""
    _operator.allows_commands = allowed


def are_commands_allowed() -> bool:
    """Whether a predictor may be any program of this computer."""
    return _operator.allows_commands


def is_offered(option: Field[Any]) -> bool:
    return are_commands_allowed() or option.metadata.get("chooses") != COMMAND


def launch_options(settings: type[Any], options: object) -> list[str]:
    """The options whose values choose a part of the program that is started."""
    if not isinstance(options, Mapping):
        return []  # as an old row or a request may have them: no settings are made of these
    return [
        option.name
        for option in fields(settings)
        if option.metadata.get("chooses") and _chooses(option, options.get(option.name))
    ]


def _chooses(option: Field[Any], value: object) -> bool:
    if not value or value == option.default:
        return False
    harmless = option.metadata.get("harmless")
    if harmless and isinstance(value, str):
        words = value.split()
        return not all(re.fullmatch(harmless, word) for word in words)  # bounded: `_SIMULATION` alone
    return True
