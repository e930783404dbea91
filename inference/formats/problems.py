"""Problems of a file, each with its place and what is expected; a bounded number is listed."""

from __future__ import annotations

from dataclasses import dataclass, field


class ExchangeError(Exception):
    """Base of all errors of importing and exporting; `inference.storage.errors` has the tree."""


MAX_LISTED = 200  # a file with more problems is the wrong file; further ones are only counted
EXCERPT = 60  # characters of a bad value that a message repeats


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A problem of a file.

    Attributes:
        message: What is wrong.
        right: What is expected instead.
        row: Line of a text file, or number of an entry in a JSON list, from 1; None for the file as a
            whole.
        column: Name of a column, or path into a JSON document.
    """

    message: str
    right: str
    row: int | None = None
    column: str = ""

    def place(self, file_name: str) -> str:
        """`file.csv, row 3, column cycles`."""
        parts = [file_name]
        if self.row is not None:
            parts.append(f"row {self.row}")
        if self.column:
            parts.append(f"column {self.column}")
        return ", ".join(parts)

    def line(self, file_name: str) -> str:
        return f"{self.place(file_name)}: {self.message}; {self.right}"


@dataclass
class Problems:
    """Collects problems: lists the first `MAX_LISTED`, counts all."""

    listed: list[FileProblem] = field(default_factory=list)
    count: int = 0

    def __bool__(self) -> bool:
        return self.count > 0

    @property
    def full(self) -> bool:
        """Whether further problems are only counted."""
        return len(self.listed) >= MAX_LISTED

    def add(self, message: str, right: str, *, row: int | None = None, column: str = "") -> None:
        """Note a problem.

        Args:
            message: What is wrong.
            right: What is expected instead.
            row: Line of a text file, or number of an entry in a JSON list, from 1; None for the
                whole file.
            column: Name of a column, or path into a JSON document; "" for the whole row.
        """
        self.count += 1
        if not self.full:
            self.listed.append(FileProblem(message, right, row, column))


@dataclass(slots=True)
class FilePlace:
    """A place in a file, as in `FileProblem`, with the list in which its problems are noted."""

    problems: Problems
    row: int | None = None
    column: str = ""

    def add(self, message: str, right: str) -> None:
        self.problems.add(message, right, row=self.row, column=self.column)

    def at(self, column: str) -> FilePlace:
        """Another column of the same row."""
        return FilePlace(self.problems, self.row, column)

    @property
    def start(self) -> tuple[int, str]:
        """(row, column) of an entry that begins here; row 0 where there is none."""
        return self.row or 0, self.column


def excerpt(value: object) -> str:
    """A value quoted for a message: printable, at most `EXCERPT` characters, in terms of JSON.

    >>> excerpt("x" * 70) == "'" + "x" * 59 + "…", excerpt(None), excerpt([1])
    (True, 'null', 'a list')
    """
    if isinstance(value, str):
        start = value[: EXCERPT + 1]
        quoted = repr(start) if start.isprintable() else ascii(start)
        return quoted if len(value) <= EXCERPT else quoted[:EXCERPT] + "…"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) >= 10**EXCERPT:
        return "a huge whole number"
    return repr(value)
