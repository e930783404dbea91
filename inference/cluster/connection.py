"""A connection to a Dask scheduler, and the check of its workers.

Every member of the cluster can execute code as the site, as Dask unpickles results of workers. So connections
between computers require certificates of an authority that the operator uses only for this.
"""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import inference
from inference.core.pacing import Task

if TYPE_CHECKING:
    from distributed import Client, Future
    from distributed.security import Security
from inference.cluster.worker import name_of, perform, version_here

_ASK_SECONDS = 2.0  # to connect


def condition(address: str) -> str:
    """The state of the cluster in a sentence or two for the operator; does not raise.

    `address`: value of `PMWEB_DASK`, empty where it is not set. It waits `_ASK_SECONDS` for a connection.
    """
    if not address:
        return "not configured: this computer alone computes (PMWEB_DASK=tls://host:8786 adds others)"
    try:
        _security_of(address)
    except ClusterError as error:
        return str(error)
    try:
        connection = SchedulerConnection(address, _ASK_SECONDS)
    except ClusterError:
        return (
            f"{address} cannot be reached: start it with “python -m dask scheduler” or correct PMWEB_DASK; "
            "until then this computer alone computes"
        )
    try:
        crew = connection.crew()
    except ClusterError as error:
        return str(error)
    finally:
        connection.close()
    if not crew.fit and not crew.refused:
        return f"{address} has no workers: start some with “python -m dask worker {address}”"
    used = f"connected with {len(crew.fit)} worker{'' if len(crew.fit) == 1 else 's'} of {address}"
    return "; ".join([used, *(f"{worker} is not used: it {why}" for worker, why in crew.refused.items())])


CONNECT_SECONDS = 5.0  # until a scheduler counts as unreachable

ANSWER_SECONDS = 30.0
"""Time limit for answers of scheduler and workers, results of tasks included."""

_LOGGERS = ("distributed", "distributed.client", "distributed.gc", "distributed.comm", "distributed.core")
_DASK_ERRORS = (OSError, ValueError, TypeError, RuntimeError, KeyError, ImportError, CancelledError)
"""Exceptions of Dask for invalid addresses, unreachable or slow schedulers, keys that do not match
certificates, and results lost with their scheduler."""

Answer = TypeVar("Answer")


class ClusterError(Exception):
    """A cluster cannot be used; the message says why, and what to do."""


@dataclass(frozen=True)
class Crew:
    """The workers of a cluster by address: `fit` ones, and {worker: why it is not used}."""

    fit: tuple[str, ...]
    refused: Mapping[str, str]


class SchedulerConnection:
    """A connection to the scheduler at `tls://host:port`, or `tcp://127.0.0.1:port` on this computer.

    Raises:
        ClusterError: From the constructor and all methods but `withdraw`, `alive` and `close`.
    """

    def __init__(self, address: str, seconds: float = CONNECT_SECONDS) -> None:
        self.address = address
        self._client = _connect(address, seconds)
        self._silent = False

    def crew(self) -> Crew:
        """The workers, after asking each for its version; workers that are just ending are skipped."""
        answers: dict[str, Any] = self._wait_for(
            lambda: self._client.run(version_here, on_error="return", asynchronous=True)
        )
        answers = {worker: reply for worker, reply in answers.items() if not isinstance(reply, OSError)}
        fit = tuple(sorted(worker for worker, reply in answers.items() if reply == inference.__version__))
        return Crew(
            fit, {worker: _reason_against(reply) for worker, reply in answers.items() if worker not in fit}
        )

    def submit(self, task: Task, common: bytes, pieces: Sequence[bytes], crew: Crew) -> list[Future[bytes]]:
        """Submit the pieces to the fit workers; Dask submits lost ones again."""
        name, workers = name_of(task), list(crew.fit)

        def hand_out(piece: bytes) -> Future[bytes]:
            return self._client.submit(perform, name, common, piece, workers=workers, pure=False)

        return self._call(lambda: [hand_out(piece) for piece in pieces])

    def answer(self, future: Future[bytes]) -> bytes | None:
        """Fetch a worker's result; None where it was lost and could not be computed again."""
        answers: list[bytes] = self._wait_for(
            lambda: self._client.gather([future], errors="skip", asynchronous=True)
        )
        return answers[0] if answers else None

    def withdraw(self, futures: Sequence[Future[bytes]]) -> None:
        """Cancel tasks whose results are no longer needed."""
        if self._client.status == "running":
            with contextlib.suppress(*_DASK_ERRORS):
                self._client.cancel(list(futures), force=True)

    def alive(self) -> bool:
        """Whether the scheduler is connected, and has answered in time so far."""
        return bool(self._client.status == "running") and not self._silent

    def present(self, crew: Crew) -> bool:
        """Whether the scheduler still knows a fit worker of the crew."""
        scheduler = self._client.scheduler
        if scheduler is None:
            return False
        identity: dict[str, Any] = self._wait_for(lambda: scheduler.identity(n_workers=-1))
        return not identity["workers"].keys().isdisjoint(crew.fit)

    def close(self) -> None:
        """Disconnect; running tasks are cancelled."""
        with contextlib.suppress(*_DASK_ERRORS):
            self._client.close(timeout=CONNECT_SECONDS)

    def _wait_for(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """The result of an asynchronous call within `ANSWER_SECONDS`."""

        def wait() -> Answer:
            answer: Answer = self._client.sync(ask, callback_timeout=ANSWER_SECONDS)
            return answer

        return self._call(wait)

    def _call(self, ask: Callable[[], Answer]) -> Answer:
        try:
            return ask()
        except _DASK_ERRORS as error:
            self._silent = self._silent or isinstance(error, TimeoutError)
            why = str(error) or "it takes too long"
            raise ClusterError(f"the Dask scheduler at {self.address} does not answer: {why}") from error


def _connect(address: str, seconds: float) -> Client:
    import dask.config  # loads Dask

    # Dask would print messages that the run has in its log; its loggers must be set before it is loaded.
    dask.config.set({"distributed.logging": dict.fromkeys(_LOGGERS, "critical")})
    security = _security_of(address)
    try:
        from distributed import Client  # loads Dask

        return Client(address, timeout=seconds, set_as_default=False, name="pmweb", security=security)
    except _DASK_ERRORS as error:
        raise ClusterError(f"no Dask scheduler can be reached at {address}: {error}") from error


_CERTIFICATES = {
    "tls_ca_file": "DASK_DISTRIBUTED__COMM__TLS__CA_FILE",
    "tls_client_cert": "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT",
    "tls_client_key": "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY",
}
"""{field of Dask's `Security`: environment variable that sets it}."""


def _security_of(address: str) -> Security | None:
    """Certificates for a connection; None for a scheduler on this computer.

    Raises:
        ClusterError: The address is of another computer without TLS, or certificates are not set.
    """
    scheme, host = _parse(address)
    if scheme == "tcp" and _is_loopback(host):
        return None
    if scheme != "tls":
        raise ClusterError(
            f"{address} is not used: every member of a Dask cluster can run code as this site, so another "
            "computer needs a certificate. Start scheduler and workers with --tls-ca-file, --tls-cert "
            "and --tls-key, and let PMWEB_DASK begin with tls://"
        )
    from distributed.security import Security  # loads Dask

    security = Security(require_encryption=True)
    missing = [variable for field, variable in _CERTIFICATES.items() if not getattr(security, field)]
    if missing:
        raise ClusterError(f"{address} is not used without certificates: set {', '.join(missing)}")
    return security


def _parse(address: str) -> tuple[str, str]:
    """(scheme, host) of an address; without a scheme it is TCP, as for Dask. Both are "" if it is invalid."""
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
    except ValueError:
        return "", ""
    return parts.scheme, parts.hostname or ""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reason_against(reply: object) -> str:
    if isinstance(reply, str):
        return f"has pmweb {reply}, and this is {inference.__version__}"
    return (
        f"cannot load pmweb ({reply}): start it as “python -m dask worker” "
        f"in the directory of pmweb {inference.__version__}"
    )
