"""Calls of z3 that can be interrupted and repeated.

A call runs in a thread of its own, so that the search's thread can ask its listener ten times a second
whether to go on. Limits are z3's resource units, not seconds: the same call ends the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from typing import Any

from inference.core.errors import CoreError

LISTEN_EVERY = 0.1  # seconds
INTERRUPT_EVERY = 0.02


class SolverLimitError(CoreError):
    """A call of the solver used up its resource units."""


def version() -> str:
    """Which z3 answers: results repeat for the same one."""
    import z3  # loads z3

    return f"z3 {z3.get_full_version()}"


class Z3Solver:
    """One z3 solver in its own context; `kind` is a logic such as QF_FD, or "" for the general solver."""

    def __init__(self, kind: str, seed: int, limit: int, pulse: Callable[[], None]) -> None:
        import z3  # loads z3

        self.context = z3.Context()
        self.z3: Any = z3.SolverFor(kind, ctx=self.context) if kind else z3.SimpleSolver(ctx=self.context)
        self.z3.set("random_seed", seed % (1 << 31))
        if limit:
            self.z3.set("rlimit", limit)
        self._limit = limit
        self._pulse = pulse
        self._model: Any = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="z3")

    def satisfiable(self, *assumptions: Any) -> bool:
        """Whether the constraints can hold together; raises `SolverLimitError` and what the pulse raises."""
        import z3  # loads z3

        self._model = None
        call = self._thread.submit(self.z3.check, *assumptions)
        while True:
            try:
                answer = call.result(LISTEN_EVERY)
                break
            except NotYetError:
                self._listen(call)
        self._pulse()
        if answer == z3.unknown:
            raise SolverLimitError(
                f"a call of the solver did not end within {self._limit:,} resource units "
                f"({self.z3.reason_unknown()})"
            )
        return bool(answer == z3.sat)

    def model(self) -> Any:
        """The values that made the last call satisfiable; z3 makes a new one each time it is asked."""
        if self._model is None:
            self._model = self.z3.model()
        return self._model

    def core(self) -> set[str]:
        """Names of the assumptions that contradicted in the last call."""
        return {str(literal) for literal in self.z3.unsat_core()}

    def close(self) -> None:
        self._thread.shutdown()

    def _listen(self, call: Future[Any]) -> None:
        try:
            self._pulse()
        except BaseException:
            self._stop(call)
            raise

    def _stop(self, call: Future[Any]) -> None:
        """An interrupt that comes before z3 looks out for it is lost: repeat until it has ended."""
        while not call.done():
            self.context.interrupt()
            try:
                call.result(INTERRUPT_EVERY)
            except NotYetError:
                continue
