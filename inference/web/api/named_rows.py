"""API operations of all rows with a name: list, read, rename, delete and export.

This file must not import `annotations` from `__future__`: ninja reads the annotations of nested functions,
which refer to local variables.
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
from inference.runs.request import AllowedTexts
from inference.storage.exporting import Export
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT, kind_of, rename
from inference.web.api import access
from inference.web.api.access import AuditAction
from inference.web.api.document import FILE
from inference.web.api.errors import Flaw, ProblemError
from inference.web.api.paging import PageOf, Paging, allowed_sorts, list_answer
from inference.web.api.shapes import Input, Name, Note, RowOut, Text, Time
from inference.web.deleting import delete_unless_needed, dependents_of
from inference.web.file_answers import attachment
from inference.web.validation import Id

NamedRow = TypeVar("NamedRow", bound=Named)


class NamedOut(RowOut):
    """Name, note and creation time of a row."""

    id: Id
    name: Name
    note: Note
    created: Time


class NameAndNote(Input):
    """A new name, a new note, or both; absent fields stay."""

    name: str | None = Field(None, min_length=1, max_length=NAME_LIMIT, examples=["Zen 3, second attempt"])
    note: str | None = Field(None, max_length=NOTE_LIMIT, examples=["without AVX"])


class DependentOut(RowOut):
    """Rows that depend on a row, and their fate at its deletion; `blocks`: they forbid the deletion."""

    what: str = Field(validation_alias="label", examples=["3 evaluations"])
    fate: str = Field(examples=["are deleted with it"])
    blocks: bool = Field(examples=[False])


@dataclass(frozen=True)
class NamedRows(Generic[NamedRow]):
    """Adds operations on rows with a name to a feature's router.

    Paths with a word in the place of a row's id must be added to the router before these operations.

    Attributes:
        router: Router of the feature.
        path: Path of the list, such as `/sets`.
        key: Part of operation ids and of the path's parameter: `set` for `get_set` and `set_id`.
        rows: Query of all rows with the relations that `shape` reads; for `add_list` it takes a search text.
        shape: Schema of a row in answers.
        values: Computes the objects that `shape` reads, if it needs more than the rows themselves.
        noun: Name of a row in descriptions; "" if it is the key.
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

    def add_list(self, columns: Mapping[str, str], default_sort: str, description: str) -> None:
        """Add the list, sorted by the parameter `sort` (a key of `columns`), else by `default_sort`."""

        def operation(
            request: HttpRequest,
            paging: Query[Paging],
            q: Text = "",
            sort: Annotated[str, allowed_sorts(columns)] = default_sort,
        ) -> Any:
            return list_answer(self.rows(q.strip()), columns, sort, paging, self.values)

        view = self._view_of(operation, f"list_{self.key}s", description)
        self.router.get(self.path, response=PageOf[self.shape])(view)  # type: ignore[name-defined]

    def add_get(self, description: str) -> None:
        """Add reading one row, in the shape of the list."""

        def operation(request: HttpRequest, row_id: Id) -> Any:
            return self.value(self.row(row_id))

        view = self._view_of(operation, f"get_{self.key}", description)
        self.router.get(self._row_path, response=self.shape)(view)

    def add_changes(self, deletion: str, **access_to_delete: Any) -> None:
        """Add renaming, the list of dependents, and deletion; `deletion` is the description of the last."""

        def rename_row(request: HttpRequest, row_id: Id, data: NameAndNote) -> Any:
            row = self.row(row_id)
            name = row.name if data.name is None else data.name.strip()
            rename(row, name, row.note if data.note is None else data.note.strip())
            access.log_action(request, AuditAction.CHANGED, row)
            return self.value(row)

        def list_dependents(request: HttpRequest, row_id: Id) -> Any:
            return dependents_of(self.row(row_id))

        def delete_row(request: HttpRequest, row_id: Id) -> Any:
            _delete(self.row(row_id))
            return Status(204, None)

        noun = self.noun or self.key.replace("_", " ")
        view = self._view_of(rename_row, f"rename_{self.key}", f"Give a {noun} another name or note.")
        self.router.patch(self._row_path, response=self.shape)(view)
        description = f"What depends on this {noun}, and what becomes of it when the {noun} is deleted."
        view = self._view_of(list_dependents, f"list_dependents_of_{self.key}", description)
        self.router.get(f"{self._row_path}/dependents", response=list[DependentOut])(view)
        view = self._view_of(delete_row, f"delete_{self.key}", deletion)
        self.router.delete(self._row_path, response={204: None}, **access_to_delete)(view)

    def add_exports(self, formats: Mapping[str, Export[Any]], content_type: str, description: str) -> None:
        """Add the export of a row as a file; `formats` are by their names in the path."""

        def operation(
            request: HttpRequest, row_id: Id, file_format: Annotated[str, AllowedTexts(formats)]
        ) -> HttpResponse:
            return _export(request, self.row(row_id), formats[file_format])

        view = self._view_of(operation, f"export_{self.key}", description)
        path = f"{self._row_path}/exports/{{file_format}}"
        self.router.get(path, response=str, openapi_extra={FILE: content_type})(view)

    def value(self, row: NamedRow) -> Any:
        """The object that `shape` reads, for one row."""
        (value,) = self.values([row])
        return value

    def answer(self, row: NamedRow) -> dict[str, Any]:
        """Fields of the row in the shape of the list, for answers with further fields."""
        return self.shape.model_validate(self.value(row)).model_dump()

    @property
    def _row_path(self) -> str:
        return f"{self.path}/{{{self.key}_id}}"

    def _view_of(self, operation: Callable[..., Any], name: str, description: str) -> Callable[..., Any]:
        """The operation with its id and description, and `row_id` named like the path's parameter."""
        row_id = f"{self.key}_id"

        def call(request: HttpRequest, **values: Any) -> Any:
            renamed = {"row_id" if key == row_id else key: value for key, value in values.items()}
            return operation(request, **renamed)

        signature = inspect.signature(operation)
        call.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[
                parameter.replace(name=row_id) if parameter.name == "row_id" else parameter
                for parameter in signature.parameters.values()
            ]
        )
        call.__name__, call.__doc__, call.__module__ = name, description, self.shape.__module__
        return call


def _delete(row: Named) -> None:
    """Delete the row and its dependents. Raises `ProblemError` (409) if a dependent forbids it."""
    blockers = delete_unless_needed(row)
    if blockers:
        flaws = [Flaw(blocker.label, right=blocker.fate) for blocker in blockers]
        raise ProblemError(409, f"The {kind_of(type(row))} {row.name!r} cannot be deleted now", flaws=flaws)


def _export(request: HttpRequest, row: Any, export: Export[Any]) -> HttpResponse:
    """The row in this format, with a file name made from its name.

    Raises:
        ProblemError: The format does not support the row's instruction set.
        ExchangeError: The row cannot be written in this format.
    """
    if not export.describes(row.isa.name):
        message = f"{export.title} does not support {row.isa.name}"
        raise ProblemError(422, message, where="path file_format", right="another format")
    text = export.write(row)
    access.log_action(request, AuditAction.EXPORTED, row)
    return attachment(text, f"{export.content_type}; charset=utf-8", row.name, export.extension)
