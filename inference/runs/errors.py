"""Errors of runs.

RunsError ├── ConfigError (also a ValueError)            a run's description is wrong; the message names the
field │   └── LimitError                             a user has reached the number of runs or files allowed at
a time ├── DuplicateRunNameError (also a ValueError)  another run has that name ├── RunStateError
the run's state does not allow the action ├── NewerDatabaseError                         a newer version of
this program created the database ├── NotPrivateError                            other users can read the data
directory ├── LeaseLostError                             another worker holds the run, or it was deleted:
write nothing ├── SessionLostError                           a newer connection has replaced this one, or all
were ended └── JobError                                   a run cannot be done; the message is for its user
"""

from __future__ import annotations

from pathlib import Path


class RunsError(Exception):
    """Base class of this package's errors."""


class ConfigError(RunsError, ValueError):
    """The description of a run is wrong; the message names the field."""


class LimitError(ConfigError):
    """A user has reached the number of unfinished runs or uploaded files allowed at a time."""


class DuplicateRunNameError(RunsError, ValueError):
    """Names of runs are unique; no run has the name `suggestion` yet."""

    def __init__(self, name: str, suggestion: str) -> None:
        self.suggestion = suggestion
        super().__init__(f"there is already a run named {name!r}: choose another name, e.g. {suggestion!r}")


class RunStateError(RunsError):
    """A run's state does not allow to pause, resume or cancel it."""

    def __init__(self, name: str, state: str, action: str, allowed_states: str) -> None:
        super().__init__(f"run {name!r} is {state} and cannot be {action}; only {allowed_states} runs can")


class NotPrivateError(RunsError):
    """A file of the data directory is open to other users; `cause` completes "which …", with a remedy."""

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(
            f"other users of this computer can read {path}, which {cause}, or let PMWEB_HOME name a "
            "directory that only you can access (mode 0700)"
        )


class LeaseLostError(RunsError):
    """Another worker has claimed the run, or the run is settled or deleted."""

    def __init__(self, run_id: int, token: int) -> None:
        super().__init__(f"the lease {token} on run {run_id} is no longer valid")


class SessionLostError(RunsError):
    """An agent's connection has been replaced by a newer one, or ended by the site."""

    def __init__(self, machine: str, number: int) -> None:
        super().__init__(f"connection {number} no longer speaks for {machine}")


class NewerDatabaseError(RunsError):
    """A newer version of this program created the database's tables."""


class JobError(RunsError):
    """A run cannot be done, for a reason that its user can understand."""
