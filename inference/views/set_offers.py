"""What other apps offer on an experiment set's page and beside a heat map on a set: they fill this when they
start.

Light on purpose: registering must not load the pages.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SetOffer:
    """A page about a set: `title` and `icon` of its button, `route` its name.

    Its address takes the number of the set as `set`, and on the page of a mapping that of the mapping as
    `mapping` or `resource_mapping`. `listing` is the name of the page that lists what was made so, with
    `listed` its title.
    """

    title: str
    icon: str
    route: str
    listing: str
    listed: str


OFFERS: dict[str, SetOffer] = {}
"""By route."""


def register(offer: SetOffer) -> None:
    """Add an offer, once; an app does so when its pages are loaded."""
    OFFERS[offer.route] = offer
