"""What can be asked of publishing: which things, under which title."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from inference.features.publishing.site.kinds import PublishedItem
from inference.web.published_page import PublishedKind

MOST_ITEMS = 24


Item = Annotated[str, Field(pattern=rf"^({'|'.join(PublishedKind)}):[0-9]{{1,18}}$", examples=["mapping:7"])]


class PublishRequest(BaseModel):
    """Things to publish together, each as its kind and number; title and text are shown as they are."""

    model_config = ConfigDict(extra="forbid")

    items: list[Item] = Field(
        min_length=1,
        max_length=MOST_ITEMS,
        description="mapping, core (a core model), comparison (its run) or campaign, and the number.",
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
    """`mapping:7`, which has been checked, as an item."""
    kind, _, number = text.partition(":")
    return PublishedItem(PublishedKind(kind), int(number))
