"""How the inner loops are compiled. Importing this module loads numba."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core.event import Event, Listener, register
from numba.extending import intrinsic

from inference.core.compiled_mark import CACHE_VARIABLE, PREFIX, cache_directory
from inference.core.search_clocks import computing_seconds, elapsed_seconds

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """The function as machine code that releases the interpreter lock, cached on disk if possible."""
    return _compile_kernel(function)


def compiled_in_place(function: Kernel) -> Kernel:
    """Compile a function that makes no arrays but only uses those that it is passed.

    numba then need not count references to them. Counting takes atomic instructions whenever an array is
    passed on, which together take several times as long as evaluating an experiment.
    """
    return _compile_kernel(function, _nrt=False)


def inlined(function: Kernel) -> Kernel:
    """Compile as `compiled_in_place` does, and inline the function into each caller.

    Passing a tuple full of arrays would take as long as the work of the function.
    """
    return _compile_kernel(function, _nrt=False, forceinline=True)


def in_llvm(function: Callable[..., Any]) -> Any:
    """A function of compiled code whose body is written in LLVM IR (numba's `intrinsic`).

    `function` gets the types of the arguments, and returns a signature and a code generator.
    """
    return intrinsic(function)


def _compile_kernel(function: Kernel, **options: Any) -> Kernel:
    compile_: Any = numba.njit  # its declared types know no `_nrt`
    try:
        return cast(Kernel, compile_(nogil=True, cache=True, **options)(function))
    except RuntimeError:  # numba finds no directory that it may write its cache to
        return cast(Kernel, compile_(nogil=True, **options)(function))


def _keep_in_a_directory_of_these_sources() -> None:
    """Point numba's cache at `cache_directory` if it can be created; otherwise numba chooses a place."""
    directory = cache_directory()
    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
    if not os.access(directory, os.W_OK):
        return
    config: Any = numba.config  # its declared types know no settings
    config.CACHE_DIR = str(directory)
    if CACHE_VARIABLE in os.environ:
        return  # the user's own directory, which other installations may share
    for other in directory.parent.glob(f"{PREFIX}*"):
        if other != directory:
            shutil.rmtree(other, ignore_errors=True)


class _ClockStopper(Listener):
    """Stops the clocks of searches while numba compiles; a compilation may start others in it."""

    def __init__(self) -> None:
        self._depth = 0

    def on_start(self, event: Event) -> None:
        self._depth += 1
        if self._depth == 1:
            for clock in (computing_seconds, elapsed_seconds):
                clock.stop()

    def on_end(self, event: Event) -> None:
        self._depth -= 1
        if not self._depth:
            for clock in (computing_seconds, elapsed_seconds):
                clock.start()


_keep_in_a_directory_of_these_sources()
_register: Any = register  # declares no types
_register("numba:compile", _ClockStopper())
