"""How a file shall be read: what runs that read one and runs that import one are told alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from pydantic import Field

from inference.formats.file_units import FileUnit
from inference.formats.importing import Preview, name_list_of, preview_of, rejects_of
from inference.formats.packing import unpack
from inference.formats.parsing import ParsedFile, read
from inference.models import ISA, ExperimentSet, Upload
from inference.runs.errors import ConfigError, JobError
from inference.runs.request import OneOf, RunRequest
from inference.storage.names import NAME_LIMIT, by_name

STOP, LEAVE_OUT = "stop", "leave out"
"""What becomes of a file with rows that have problems."""
Value = TypeVar("Value")
Parse = Callable[[bytes, str, FileUnit | None, str], ParsedFile]
SchemeName = Annotated[str, Field(max_length=500)]


class FileChoices(RunRequest):
    """`upload`: id of the file.

    `isa`: name of its instruction set, or `new_isa`: the name of one to found (neither: the likely one).
    `unit`: of CSV rows that name none. `names`: id of an upload with scheme names for the instructions of a
    Palmed file; `rejects`: ids of uploads with what the runs rejected whose result the file is;
    `microarchitecture`: the one to read of a file that has several; `taken`: {unknown name: scheme that it is
    taken for}; `broken`: "leave out" where rows with problems are left out, "stop" where they keep all from
    being imported.
    """

    upload: int
    isa: str = ""
    new_isa: Annotated[str, Field(max_length=NAME_LIMIT)] = ""
    unit: Annotated[str, OneOf(FileUnit)] = FileUnit.CYCLES.value
    names: int | None = None
    rejects: list[int] | None = None
    microarchitecture: Annotated[str, Field(max_length=40)] | None = None
    taken: dict[SchemeName, SchemeName] | None = None
    broken: Annotated[str, OneOf((STOP, LEAVE_OUT))] | None = None

    def check(self) -> None:
        """What only rows of the database tell. Raises `ConfigError` or `UnknownNameError`."""
        if self.taken and self.new_isa:
            raise ConfigError("taken: a new instruction set knows all names of its file")
        if self.isa:
            by_name(ISA, self.isa)
        if self.isa and self.new_isa:
            raise ConfigError("isa and new_isa exclude each other")
        for field, pk in self.beside():
            if not Upload.objects.filter(pk=pk).exists():
                raise ConfigError(f"{field}: there is no uploaded file with the id {pk!r}")

    def beside(self) -> list[tuple[str, int]]:
        """(field, id) of the uploads that come beside the file."""
        names = [("names", self.names)] if self.names else []
        return [*names, *(("rejects", pk) for pk in self.rejects or ())]


def read_upload(upload: Upload, unit: str, microarchitecture: str = "", parse: Parse = read) -> ParsedFile:
    """What a file says: as it was read before, else read now. `unit`: "" for what its numbers seem to be."""
    if upload.parsed is not None:
        before = unpack(bytes(upload.parsed))
        same = before.guessed if not unit else before.document.facts.get("unit", unit) == unit
        if same and before.wanted == microarchitecture:
            return before
    meant = FileUnit(unit) if unit else None
    return parse(bytes(upload.content), upload.file_name, meant, microarchitecture)


def preview_as(
    reading: ParsedFile,
    choices: FileChoices,
    *,
    evidence: Sequence[ExperimentSet] = (),
    take_nearest: bool = False,
) -> Preview:
    """What a file would bring, looked up as is chosen.

    Raises `ExchangeError` where that cannot be, and `JobError` where a file beside it has been deleted.
    """
    return preview_of(
        reading,
        isa=by_name(ISA, choices.isa) if choices.isa else None,
        founding=choices.new_isa,
        names=_side_file(choices.names, name_list_of) if choices.names else None,
        rejects=[_side_file(pk, rejects_of) for pk in choices.rejects or ()],
        evidence=evidence,
        taken=choices.taken,
        take_nearest=take_nearest,
        leave_out=choices.broken == LEAVE_OUT,
    )


def _side_file(pk: int, read_it: Callable[[bytes, str], Value]) -> Value:
    """What an upload beside the file says."""
    upload = Upload.objects.filter(pk=pk).first()
    if upload is None:
        raise JobError("a file that was uploaded beside this one has been deleted")
    return read_it(bytes(upload.content), upload.file_name)
