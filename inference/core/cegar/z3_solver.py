"""Calls of z3 that can be interrupted and repeated.

A call runs in a thread of its own, so that the search's thread can call its pulse ten times a second. Limits
are in z3's resource units, not seconds, so that the same call ends the same way on every computer.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from typing import Any

from inference.core.errors import CoreError

PULSE_INTERVAL = 0.1  # seconds between calls of the pulse while z3 works
INTERRUPT_INTERVAL = 0.02  # seconds between interrupts until a call ends


class SolverLimitError(CoreError):
    """A call of the solver used up its resource units."""


def version() -> str:
    """The version of z3, e.g. `z3 4.13.0`; results are reproducible with the same version only."""
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
        """Whether the constraints are satisfiable.

        Raises:
            SolverLimitError: The call used up its resource units.
            Exception: Whatever the pulse raises.
        """
        import z3  # loads z3

        self._model = None
        call = self._thread.submit(self.z3.check, *assumptions)
        while True:
            try:
                answer = call.result(PULSE_INTERVAL)
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
        """The model of the last satisfiable call; cached, as z3 builds a new one for each request."""
        if self._model is None:
            self._model = self.z3.model()
        return self._model

    def core(self) -> set[str]:
        """Names of the assumptions in the unsatisfiable core of the last call."""
        return {str(literal) for literal in self.z3.unsat_core()}

    def close(self) -> None:
        self._thread.shutdown()

    def _listen(self, call: Future[Any]) -> None:
        """Call the pulse; what it raises ends the call first, as z3's context must not be used meanwhile."""
        try:
            self._pulse()
        except BaseException:
            self._stop(call)
            raise

    def _stop(self, call: Future[Any]) -> None:
        """Interrupt z3 until the call ends: an interrupt before z3 checks for it is lost."""
        while not call.done():
            self.context.interrupt()
            try:
                call.result(INTERRUPT_INTERVAL)
            except NotYetError:
                continue
