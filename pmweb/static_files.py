"""Static files under names that tell their content, with the name of each looked up once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):
    """WhiteNoise's storage. A page names dozens of files, which stay what they are while a process lives."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._addresses = lru_cache(maxsize=4096)(super().url)

    def url(self, name: str | None, force: bool = False) -> str:
        """The address of a file."""
        return str(self._addresses(name, force))
