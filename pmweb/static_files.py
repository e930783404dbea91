"""Storage of static files under names with a digest of their content."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):
    """WhiteNoise's storage with cached URLs: a page has dozens, and they stay the same in a process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._addresses = lru_cache(maxsize=4096)(super().url)

    def url(self, name: str | None, force: bool = False) -> str:
        """The URL of a file, cached."""
        return str(self._addresses(name, force))
