"""What is wrong with a file: listed with its place and what would be right, and bounded in number."""

from __future__ import annotations

from dataclasses import dataclass, field


class ExchangeError(Exception):
    """Anything the exchange raises on purpose; `inference.storage.names` draws the tree."""


MOST_LISTED = 200  # a file with more problems than this is the wrong file; the rest is only counted
EXCERPT = 60  # characters of a bad value that a message repeats


@dataclass(frozen=True, slots=True)
class FileProblem:
    """One thing wrong with a file.

    `row` is the line of a text file or the number of an entry in a JSON list, both from 1, None where the
    problem belongs to the file as a whole. `column` is a column name or a path into the JSON document.
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
        """The problem in one line of text."""
        return f"{self.place(file_name)}: {self.message}; {self.right}"


@dataclass
class Problems:
    """Collects problems: keeps the first `SHOWN`, counts all."""

    listed: list[FileProblem] = field(default_factory=list)
    count: int = 0

    def __bool__(self) -> bool:
        return self.count > 0

    @property
    def full(self) -> bool:
        """Whether further problems would only be counted."""
        return len(self.listed) >= MOST_LISTED

    def add(self, message: str, right: str, *, row: int | None = None, column: str = "") -> None:
        """Note one problem; the messages say what is wrong and what would be right."""
        self.count += 1
        if not self.full:
            self.listed.append(FileProblem(message, right, row, column))


@dataclass(slots=True)
class FilePlace:
    """A row and column of a file, as `FileProblem` has them, and the list that takes what is wrong there."""

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
        """Row and column as an entry has them that is written here."""
        return self.row or 0, self.column


def excerpt(value: object) -> str:
    """A bad value as a short, printable quotation in the terms of JSON."""
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
