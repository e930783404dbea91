"""Requests to publish: the items, a title and a text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import QuerySet
from pydantic import BaseModel, ConfigDict, Field

from inference.formats.problems import ExchangeError
from inference.web.contributions import Publishable, contributed
from inference.web.published_page import PrivateWords, PublishedKind, PublishedPage, without_private_words


def publishable_kinds() -> dict[PublishedKind, Publishable]:
    return {PublishedKind(publishable.kind): publishable for publishable in contributed("PUBLISHED")}


def rows_of(kind: PublishedKind) -> QuerySet[Any]:
    """The rows of a kind, the newest first."""
    return publishable_kinds()[kind].rows()


@dataclass(frozen=True)
class PublishedItem:
    kind: PublishedKind
    pk: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.pk}"

    @property
    def row(self) -> Any:
        """The row; None if it was deleted."""
        return rows_of(self.kind).filter(pk=self.pk).first()


def item_named(kind: PublishedKind, name: str) -> PublishedItem:
    """The item of this kind and name. Raises `ExchangeError` if there is none."""
    rows = rows_of(kind)
    match = rows.filter(name=name).first()
    if match is None:
        examples = ", ".join(repr(str(row.name)) for row in rows[:5])
        raise ExchangeError(
            f"there is no {kind} {name!r} to publish" + (f"; there are {examples}" if examples else "")
        )
    return PublishedItem(kind, match.pk)


def page_of_item(
    item: PublishedItem, private: PrivateWords, title: str = "", text: str = ""
) -> PublishedPage:
    """The page of an item, without private names except in the publisher's own title and text.

    Raises `ExchangeError` if the row was deleted or has nothing to show.
    """
    make = publishable_kinds()[item.kind].page
    try:
        page = without_private_words(make(item.pk), private)
    except LookupError as error:
        raise ExchangeError(str(error)) from error
    except ObjectDoesNotExist:
        raise ExchangeError(f"there is no {item.kind} with number {item.pk}") from None
    return replace(page, title=title or page.title, text=text)


MAX_ITEMS = 24


Item = Annotated[str, Field(pattern=rf"^({'|'.join(PublishedKind)}):[0-9]{{1,18}}$", examples=["mapping:7"])]


class PublishRequest(BaseModel):
    """Items to publish together, each as its kind and number. Title and text are shown unchanged."""

    model_config = ConfigDict(extra="forbid")

    items: list[Item] = Field(
        min_length=1,
        max_length=MAX_ITEMS,
        description="mapping, core (a core model), comparison (its run), campaign or loop (a run about "
        "blocks), and the number.",
        examples=[["mapping:7"]],
    )
    title: str = Field("", max_length=120, description="Of the page, or of the gallery.", examples=["Zen 3"])
    text: str = Field(
        "", max_length=4000, description="Shown below the title.", examples=["Measured in 2026."]
    )

    @property
    def chosen(self) -> list[PublishedItem]:
        return [item_of(text) for text in dict.fromkeys(self.items)]


def item_of(text: str) -> PublishedItem:
    """The item of a validated text such as "mapping:7"."""
    kind, _, number = text.partition(":")
    return PublishedItem(PublishedKind(kind), int(number))
