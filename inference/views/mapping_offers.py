"""What other apps offer on a mapping's page beside its exports: they fill this when they start.

Light on purpose: registering must not load the pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from inference.models import PortMapping


@dataclass(frozen=True)
class Offer:
    """A page about a mapping: `title` and `hint` for the menu, `route` its name, which takes the number.

    `suits`: whether there is such a page for this mapping.
    """

    title: str
    hint: str
    route: str
    suits: Callable[[PortMapping], bool] = lambda row: True


_OFFERS: list[Offer] = []


def register(offer: Offer) -> None:
    """Add an offer, once; an app does so when it is ready."""
    if offer.route not in {known.route for known in _OFFERS}:
        _OFFERS.append(offer)


def offers_for(row: PortMapping) -> list[Offer]:
    """What is offered for this mapping."""
    return [offer for offer in _OFFERS if offer.suits(row)]
