"""How the inner loops are compiled. Importing this module loads numba."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.extending import intrinsic

from inference.core.compiled_mark import CACHE_VARIABLE, PREFIX, cache_directory

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """The function as machine code that needs no interpreter lock, kept on disk where that is possible."""
    return _compiled(function)


def compiled_in_place(function: Kernel) -> Kernel:
    """The same for a function that makes no arrays but works in those that it is given.

    Then numba need not count the references to them, which takes atomic instructions whenever an array is
    passed on, several times as long as evaluating an experiment.
    """
    return _compiled(function, _nrt=False)


def inlined(function: Kernel) -> Kernel:
    """The same as `compiled_in_place` for a function that becomes part of each caller.

    Handing over a tuple full of arrays would take as long as what is done with it.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def in_llvm(function: Callable[..., Any]) -> Any:
    """A function of compiled code whose body is written in LLVM's own language.

    `function` gets the types of the arguments, and returns a signature and what writes the body (numba's
    `intrinsic`).
    """
    return intrinsic(function)


def _compiled(function: Kernel, **options: Any) -> Kernel:
    compile_: Any = numba.njit  # its declared types know no `_nrt`
    try:
        return cast(Kernel, compile_(nogil=True, cache=True, **options)(function))
    except RuntimeError:  # numba finds no directory that it may write its cache to
        return cast(Kernel, compile_(nogil=True, **options)(function))


def _keep_in_a_directory_of_these_sources() -> None:
    """Where none can be made, numba chooses a place."""
    directory = cache_directory()
    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
    if not os.access(directory, os.W_OK):
        return
    config: Any = numba.config  # its declared types know no settings
    config.CACHE_DIR = str(directory)
    if CACHE_VARIABLE in os.environ:
        return  # a place of somebody's choice, where other installations may keep theirs
    for other in directory.parent.glob(f"{PREFIX}*"):
        if other != directory:
            shutil.rmtree(other, ignore_errors=True)


_keep_in_a_directory_of_these_sources()
