"""How the inner loops are compiled. Importing this module loads numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """The function as machine code that needs no interpreter lock, kept on disk where that is possible."""
    try:
        return cast(Kernel, numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # numba finds no directory that it may write its cache to
        return cast(Kernel, numba.njit(nogil=True)(function))
