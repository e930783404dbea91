"""Resource mappings: the list, the page of each, and conversions of port mappings."""

from __future__ import annotations
