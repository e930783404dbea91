"""Discoveries, the trees of their generalisation, and reports about them."""

from __future__ import annotations
