"""Port mappings: the list, and the page of each with its tabs."""

from __future__ import annotations
