"""Mappings, core models, comparisons, campaigns and explained loops as a static site."""

from __future__ import annotations
