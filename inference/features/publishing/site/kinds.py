"""What can be published: what there is of each kind, by name and number, and the page of one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import QuerySet

from inference.formats.errors import ExchangeError
from inference.web.contributions import PUBLISHABLE, Publishable
from inference.web.published_page import PrivateWords, PublishedKind, PublishedPage, cleaned


def publishable_kinds() -> dict[PublishedKind, Publishable]:
    return {PublishedKind(each.kind): each for each in PUBLISHABLE}


def rows_of(kind: PublishedKind) -> QuerySet[Any]:
    """What there is of a kind, the newest first."""
    return publishable_kinds()[kind].rows()


@dataclass(frozen=True)
class PublishedItem:
    kind: PublishedKind
    pk: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.pk}"

    @property
    def row(self) -> Any:
        """Its row; None where it is gone."""
        return rows_of(self.kind).filter(pk=self.pk).first()


def item_named(kind: PublishedKind, name: str) -> PublishedItem:
    """One by its name. Raises `ExchangeError` where there is none."""
    rows = rows_of(kind)
    found = rows.filter(name=name).first()
    if found is None:
        known = ", ".join(repr(str(row.name)) for row in rows[:5])
        raise ExchangeError(
            f"there is no {kind} {name!r} to publish" + (f"; there are {known}" if known else "")
        )
    return PublishedItem(kind, found.pk)


def page_of_item(
    item: PublishedItem, private: PrivateWords, title: str = "", text: str = ""
) -> PublishedPage:
    """The page of one thing, without private words but for a title and a text of the publisher's own.

    Raises `ExchangeError` where it is gone or nothing of it can be shown.
    """
    make = publishable_kinds()[item.kind].page
    try:
        page = cleaned(make(item.pk), private)
    except LookupError as error:
        raise ExchangeError(str(error)) from error
    except ObjectDoesNotExist:
        raise ExchangeError(f"there is no {item.kind} with number {item.pk}") from None
    return replace(page, title=title or page.title, text=text)
