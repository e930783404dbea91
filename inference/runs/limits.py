"""How much one run may ask for."""

from __future__ import annotations

MOST_MIXES = 100_000


MOST_SCHEMES = 100_000
