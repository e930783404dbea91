"""The help of every page, by the name of its address."""

from __future__ import annotations

from pmweb.help import anica, house, mappings, measuring

HELP = {**house.PAGES, **measuring.PAGES, **mappings.PAGES, **anica.PAGES}
