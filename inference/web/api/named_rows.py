"""What every kind of row with a name has: listing, reading, renaming, deleting and exporting by programs.

Annotations of operations are made as they are defined here, so they are no texts in this file.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from inference.models.named import Named
from inference.runs.request import OneOf
from inference.storage.exporting import Export
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT, kind_of, rename
from inference.web.api import access
from inference.web.api.access import Deed
from inference.web.api.document import FILE
from inference.web.api.errors import Flaw, ProblemError
from inference.web.api.paging import PageOf, Paging, listed, sorts
from inference.web.api.shapes import Input, Name, Note, RowOut, Text, Time
from inference.web.deleting import delete_unless_needed, dependents_of
from inference.web.file_answers import attachment
from inference.web.validation import Id

NamedRow = TypeVar("NamedRow", bound=Named)


class NamedOut(RowOut):
    """What a row with a name is called, and when it was made."""

    id: Id
    name: Name
    note: Note
    created: Time


class NameAndNote(Input):
    """Another name, another note, or both; what is absent stays."""

    name: str | None = Field(None, min_length=1, max_length=NAME_LIMIT, examples=["Zen 3, second attempt"])
    note: str | None = Field(None, max_length=NOTE_LIMIT, examples=["without AVX"])


class DependentOut(RowOut):
    """What depends on something that may be deleted, and its fate; `blocks`: it forbids the deletion."""

    what: str = Field(validation_alias="label", examples=["3 evaluations"])
    fate: str = Field(examples=["are deleted with it"])
    blocks: bool = Field(examples=[False])


@dataclass(frozen=True)
class NamedRows(Generic[NamedRow]):
    """Adds to a feature's router the operations that all kinds of rows with a name have in common.

    Operations whose path has a word in the place of a row's number are defined before them.

    Attributes:
        path: Where the list is; `/sets`.
        key: What ids of operations and the path's parameter are made of: `set` for `get_set` and `set_id`.
        rows: All rows with what `shape` needs of them; for `add_list`, those with a text in name or note.
        shape: A row as answers have it.
        values: What `shape` is read from, where that takes more than each row by itself.
        noun: What descriptions call a row, where that is not the key.
    """

    router: Router
    path: str
    key: str
    rows: Callable[..., QuerySet[NamedRow]]
    shape: type[Schema]
    values: Callable[[Sequence[NamedRow]], Sequence[Any]] = list
    noun: str = ""

    def row(self, row_id: int) -> NamedRow:
        """The row with this id. Raises `Http404`."""
        return get_object_or_404(self.rows(), pk=row_id)

    def add_list(self, columns: Mapping[str, str], usual: str, description: str) -> None:
        """The list, sorted by one of the `columns` as `sort` says, or as `usual`."""

        def operation(
            request: HttpRequest,
            paging: Query[Paging],
            q: Text = "",
            sort: Annotated[str, sorts(columns)] = usual,
        ) -> Any:
            return listed(self.rows(q.strip()), columns, sort, paging, self.values)

        named = self._named(operation, f"list_{self.key}s", description)
        self.router.get(self.path, response=PageOf[self.shape])(named)  # type: ignore[name-defined]

    def add_get(self, description: str) -> None:
        """One row, as the list has it."""

        def operation(request: HttpRequest, row_id: Id) -> Any:
            return self.value(self.row(row_id))

        named = self._named(operation, f"get_{self.key}", description)
        self.router.get(self._row_path, response=self.shape)(named)

    def add_changes(self, deletion: str, **access_to_delete: Any) -> None:
        """Another name and note, what depends on a row, and its deletion, which `deletion` describes."""

        def rename_row(request: HttpRequest, row_id: Id, data: NameAndNote) -> Any:
            row = self.row(row_id)
            name = row.name if data.name is None else data.name.strip()
            rename(row, name, row.note if data.note is None else data.note.strip())
            access.note(request, Deed.CHANGED, row)
            return self.value(row)

        def list_dependents(request: HttpRequest, row_id: Id) -> Any:
            return dependents_of(self.row(row_id))

        def delete_row(request: HttpRequest, row_id: Id) -> Any:
            _delete(self.row(row_id))
            return Status(204, None)

        noun = self.noun or self.key.replace("_", " ")
        named = self._named(rename_row, f"rename_{self.key}", f"Give a {noun} another name or note.")
        self.router.patch(self._row_path, response=self.shape)(named)
        description = f"What depends on this {noun}, and what becomes of it when the {noun} is deleted."
        named = self._named(list_dependents, f"list_dependents_of_{self.key}", description)
        self.router.get(f"{self._row_path}/dependents", response=list[DependentOut])(named)
        named = self._named(delete_row, f"delete_{self.key}", deletion)
        self.router.delete(self._row_path, response={204: None}, **access_to_delete)(named)

    def add_exports(self, formats: Mapping[str, Export[Any]], content_type: str, description: str) -> None:
        """A row as a file, in one of several formats."""

        def operation(
            request: HttpRequest, row_id: Id, file_format: Annotated[str, OneOf(formats)]
        ) -> HttpResponse:
            return _export(request, self.row(row_id), formats[file_format])

        named = self._named(operation, f"export_{self.key}", description)
        path = f"{self._row_path}/exports/{{file_format}}"
        self.router.get(path, response=str, openapi_extra={FILE: content_type})(named)

    def value(self, row: NamedRow) -> Any:
        """What `shape` is read from, of one row."""
        (value,) = self.values([row])
        return value

    def answer(self, row: NamedRow) -> dict[str, Any]:
        """The row as the list has it, for answers that say more of it."""
        return self.shape.model_validate(self.value(row)).model_dump()

    @property
    def _row_path(self) -> str:
        return f"{self.path}/{{{self.key}_id}}"

    def _named(self, operation: Callable[..., Any], name: str, description: str) -> Callable[..., Any]:
        """The operation as ninja has to see it: its id, its description, and `row_id` as the path has it."""
        row_id = f"{self.key}_id"

        def call(request: HttpRequest, **values: Any) -> Any:
            renamed = {"row_id" if key == row_id else key: value for key, value in values.items()}
            return operation(request, **renamed)

        signature = inspect.signature(operation)
        call.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[
                each.replace(name=row_id) if each.name == "row_id" else each
                for each in signature.parameters.values()
            ]
        )
        call.__name__, call.__doc__, call.__module__ = name, description, self.shape.__module__
        return call


def _delete(row: Named) -> None:
    """Delete the row with what belongs to it. Raises `ProblemError` (409) where something needs it."""
    blockers = delete_unless_needed(row)
    if blockers:
        needed = [Flaw(blocker.label, right=blocker.fate) for blocker in blockers]
        raise ProblemError(409, f"The {kind_of(type(row))} {row.name!r} cannot be deleted now", flaws=needed)


def _export(request: HttpRequest, row: Any, export: Export[Any]) -> HttpResponse:
    """The row in this format, under a file name made of its own. Raises `ProblemError`, `ExchangeError`."""
    if not export.describes(row.isa.name):
        what = f"{export.title} has no words for {row.isa.name}"
        raise ProblemError(422, what, where="path file_format", right="another format")
    text = export.write(row)
    access.note(request, Deed.EXPORTED, row)
    return attachment(text, f"{export.content_type}; charset=utf-8", row.name, export.extension)
