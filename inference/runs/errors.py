"""Errors of runs.

RunsError
├── ConfigError (also a ValueError)     a run was described wrongly; the message names the field
│   └── LimitError                      a user has as much here as one may have at a time
├── NameTakenError (also a ValueError)  another run has that name
├── RunStateError                       the run is in no state for what was asked
├── NewerDatabaseError                  a newer version of this program has made the database
├── NotPrivateError                     others can get at the data directory, and that cannot be changed
├── LeaseLostError                      somebody else holds the run now, or it is gone: stop without a trace
├── SessionLostError                    a newer connection speaks for the machine now, or nobody may
└── JobError                            a run cannot be done, for a reason its user can understand
"""

from __future__ import annotations

from pathlib import Path


class RunsError(Exception):
    """Anything the runs raise on purpose."""


class ConfigError(RunsError, ValueError):
    """The description of a run is wrong."""


class LimitError(ConfigError):
    """A user has as many runs or files here as one may have at a time."""


class RunNameTakenError(RunsError, ValueError):
    """Names of runs are unique; `suggestion` is free."""

    def __init__(self, name: str, suggestion: str) -> None:
        self.suggestion = suggestion
        super().__init__(f"there is already a run named {name!r}: choose another name, e.g. {suggestion!r}")


class RunStateError(RunsError):
    """A run cannot be paused, resumed or cancelled in the state it is in."""

    def __init__(self, name: str, state: str, asked: str, right: str) -> None:
        super().__init__(f"run {name!r} is {state} and cannot be {asked}; only {right} runs can")


class NotPrivateError(RunsError):
    """Something in the data directory is open to others; `why` says why it stays so, and what to do."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"others on this computer can get at {path}, which {why}, or let PMWEB_HOME name a directory "
            "that is yours alone (mode 0700)"
        )


class LeaseLostError(RunsError):
    """The lease of a run is held by somebody else."""

    def __init__(self, run_id: int, token: int) -> None:
        super().__init__(f"the lease {token} on run {run_id} is no longer valid")


class SessionLostError(RunsError):
    """A connection of an agent is no longer the one that speaks for its machine."""

    def __init__(self, machine: str, number: int) -> None:
        super().__init__(f"connection {number} no longer speaks for {machine}")


class NewerDatabaseError(RunsError):
    """The tables of the database are those of a newer version."""


class JobError(RunsError):
    """The work of a run cannot be done."""
