"""A connection to a Dask scheduler, and which of its workers can be relied on.

Whoever joins the cluster runs code as the site does: Dask unpickles what workers answer. So between computers
each side has to show a certificate of an authority that the operator has chosen for this alone.
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

_ASK_SECONDS = 2.0


def condition(address: str) -> str:
    """A sentence or two for whoever runs the site; asks the scheduler, and never fails.

    `address`: what `PMWEB_DASK` says, empty where it is not set.
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


CONNECT_SECONDS = 5.0

ANSWER_SECONDS = 30.0
"""How long scheduler and workers may take to say what they know, or to hand over what they have computed."""

_QUIET = ("distributed", "distributed.client", "distributed.gc", "distributed.comm", "distributed.core")
_TROUBLE = (OSError, ValueError, TypeError, RuntimeError, KeyError, ImportError, CancelledError)
"""What Dask raises for addresses that make no sense, schedulers that are away or too slow, keys that do not
fit, and answers that went away with their scheduler."""
Answer = TypeVar("Answer")


class ClusterError(Exception):
    """A cluster does not do what it should; says what would help."""


@dataclass(frozen=True)
class Crew:
    """The workers of a cluster by address: those with this pmweb, and what keeps others from being used."""

    fit: tuple[str, ...]
    refused: Mapping[str, str]


class SchedulerConnection:
    """To the scheduler at `address`, `tls://host:port`, or `tcp://127.0.0.1:port` on this computer.

    Raises `ClusterError`.
    """

    def __init__(self, address: str, seconds: float = CONNECT_SECONDS) -> None:
        self.address = address
        self._client = _connect(address, seconds)
        self._silent = False

    def crew(self) -> Crew:
        """Ask every worker for its version; one that is just dying is no worker."""
        answers: dict[str, Any] = self._told(
            lambda: self._client.run(version_here, on_error="return", asynchronous=True)
        )
        answers = {worker: said for worker, said in answers.items() if not isinstance(said, OSError)}
        fit = tuple(sorted(worker for worker, said in answers.items() if said == inference.__version__))
        return Crew(fit, {worker: _lacks(said) for worker, said in answers.items() if worker not in fit})

    def submit(self, task: Task, common: bytes, pieces: Sequence[bytes], crew: Crew) -> list[Future[bytes]]:
        """Hand out the pieces to the fit workers of a crew; one that is lost, Dask hands out again."""
        name, workers = name_of(task), list(crew.fit)

        def hand_out(piece: bytes) -> Future[bytes]:
            return self._client.submit(perform, name, common, piece, workers=workers, pure=False)

        return self._asked(lambda: [hand_out(piece) for piece in pieces])

    def answer(self, future: Future[bytes]) -> bytes | None:
        """Fetch what a worker has computed; none where it was lost and could not be computed again."""
        answers: list[bytes] = self._told(
            lambda: self._client.gather([future], errors="skip", asynchronous=True)
        )
        return answers[0] if answers else None

    def withdraw(self, futures: Sequence[Future[bytes]]) -> None:
        """Nobody waits for these answers any more."""
        if self._client.status == "running":
            with contextlib.suppress(*_TROUBLE):
                self._client.cancel(list(futures), force=True)

    def alive(self) -> bool:
        """Whether the scheduler is there, and has answered in time so far."""
        return bool(self._client.status == "running") and not self._silent

    def present(self, crew: Crew) -> bool:
        """Whether any fit worker of a crew is left, as far as the scheduler knows."""
        scheduler = self._client.scheduler
        if scheduler is None:
            return False
        known: dict[str, Any] = self._told(lambda: scheduler.identity(n_workers=-1))
        return not known["workers"].keys().isdisjoint(crew.fit)

    def close(self) -> None:
        """Let go; work that is still going on is withdrawn."""
        with contextlib.suppress(*_TROUBLE):
            self._client.close(timeout=CONNECT_SECONDS)

    def _told(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """What comes back within `ANSWER_SECONDS`."""

        def wait() -> Answer:
            answer: Answer = self._client.sync(ask, callback_timeout=ANSWER_SECONDS)
            return answer

        return self._asked(wait)

    def _asked(self, ask: Callable[[], Answer]) -> Answer:
        try:
            return ask()
        except _TROUBLE as error:
            self._silent = self._silent or isinstance(error, TimeoutError)
            why = str(error) or "it takes too long"
            raise ClusterError(f"the Dask scheduler at {self.address} does not answer: {why}") from error


def _connect(address: str, seconds: float) -> Client:
    import dask.config  # loads Dask

    # Dask prints to the terminal what a run says in its log. It is told so before it is loaded.
    dask.config.set({"distributed.logging": dict.fromkeys(_QUIET, "critical")})
    security = _security_of(address)
    try:
        from distributed import Client  # loads Dask

        return Client(address, timeout=seconds, set_as_default=False, name="pmweb", security=security)
    except _TROUBLE as error:
        raise ClusterError(f"no Dask scheduler can be reached at {address}: {error}") from error


_CERTIFICATES = {
    "tls_ca_file": "DASK_DISTRIBUTED__COMM__TLS__CA_FILE",
    "tls_client_cert": "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT",
    "tls_client_key": "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY",
}
"""Fields of Dask's security, and the variables that it reads them from."""


def _security_of(address: str) -> Security | None:
    """How both sides show who they are; None on this computer. Raises `ClusterError` where they would not."""
    scheme, host = _parsed(address)
    if scheme == "tcp" and _is_loopback(host):
        return None
    if scheme != "tls":
        raise ClusterError(
            f"{address} is not used: whoever joins a Dask cluster runs code as this site does, so another "
            "computer has to show a certificate. Start scheduler and workers with --tls-ca-file, --tls-cert "
            "and --tls-key, and begin PMWEB_DASK with tls://"
        )
    from distributed.security import Security  # loads Dask

    security = Security(require_encryption=True)
    missing = [variable for field, variable in _CERTIFICATES.items() if not getattr(security, field)]
    if missing:
        raise ClusterError(f"{address} is not used without certificates: set {', '.join(missing)}")
    return security


def _parsed(address: str) -> tuple[str, str]:
    """Scheme and host; Dask takes an address without a scheme for one of TCP."""
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


def _lacks(said: object) -> str:
    if isinstance(said, str):
        return f"has pmweb {said}, and this is {inference.__version__}"
    return (
        f"cannot load pmweb ({said}): start it as “python -m dask worker” "
        f"in the directory of pmweb {inference.__version__}"
    )
