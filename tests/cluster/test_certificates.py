"""Who joins the cluster runs code as the site does: on other computers only by certificates."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import dask.config
import pytest
from distributed import LocalCluster
from distributed.security import Security

from inference.cluster.connection import ClusterError, SchedulerConnection, _security_of, condition
from inference.cluster.executor import DaskExecutor
from inference.core.pacing import LocalExecutor, PacedReporter
from tests.core.executors import join
from tests.core.pmevo.small import Listener

OPEN = [
    "tcp://10.0.0.1:8786",
    "10.0.0.1:8786",
    "tcp://dask.example.org:8786",
    "tcp://[2001:db8::1]:8786",
    "tcp://127.0.0.1.example.org:8786",
    "tcp://127.0.0.1@10.0.0.1:8786",
    "tcp://0.0.0.0:8786",
    "ws://127.0.0.1:8786",
    "wss://10.0.0.1:8786",
    "ucx://10.0.0.1:8786",
    "inproc://10.0.0.1/1/1",
    "tcp://[",
]
HERE = ["tcp://127.0.0.1:9", "127.0.0.1:9", "tcp://localhost:9", "tcp://[::1]:9"]


@pytest.mark.parametrize("address", OPEN)
def test_another_computer_is_not_used_without_certificates(address: str) -> None:
    with pytest.raises(ClusterError, match="can run code as this site"):
        SchedulerConnection(address)
    assert "let PMWEB_DASK begin with tls://" in condition(address)


@pytest.mark.parametrize("address", HERE)
def test_a_scheduler_of_this_computer_needs_none(address: str) -> None:
    assert _security_of(address) is None


def test_a_run_goes_on_without_the_cluster_and_says_why() -> None:
    listener = Listener()
    executor = DaskExecutor(OPEN[0], LocalExecutor(1))
    assert executor.carry_out(join, b"", [b"a"], PacedReporter(listener)) == [b"a"]
    told = [event.payload()["text"] for event in listener.events if event.kind == "log"]
    assert len(told) == 1
    assert "can run code as this site" in told[0]
    executor.close()


def test_tls_without_certificates_of_ones_own_is_refused() -> None:
    with pytest.raises(ClusterError, match=r"set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, .*CERT, .*KEY"):
        SchedulerConnection("tls://10.0.0.1:8786")


class Authority:
    """Signs certificates, in files."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self._openssl("req", "-x509", "-subj", f"/CN={name}", "-days", "2", *self._new(name))

    @property
    def certificate(self) -> str:
        return str(self.folder / f"{self.name}.crt")

    def sign(self, name: str) -> tuple[str, str]:
        """The files of a new certificate and its key."""
        issuer = ("-CA", self.certificate, "-CAkey", str(self.folder / f"{self.name}.key"))
        self._openssl("req", "-x509", "-subj", f"/CN={name}", "-days", "2", *issuer, *self._new(name))
        return str(self.folder / f"{name}.crt"), str(self.folder / f"{name}.key")

    def _new(self, name: str) -> tuple[str, ...]:
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        return (*curve, "-keyout", str(self.folder / f"{name}.key"), "-out", str(self.folder / f"{name}.crt"))

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: apt install openssl")
    return Authority(tmp_path_factory.mktemp("authority"), "the-labs")


@pytest.fixture(scope="module")
def closed_cluster(authority: Authority) -> Iterator[str]:
    """A scheduler with a worker whose certificates are of that authority."""
    certificate, key = authority.sign("cluster")
    names = {
        f"tls_{part}_{kind}": file
        for part in ("scheduler", "worker", "client")
        for kind, file in (("cert", certificate), ("key", key))
    }
    security = Security(require_encryption=True, tls_ca_file=authority.certificate, **names)
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
        protocol="tls",
        security=security,
    ) as cluster:
        yield cluster.scheduler_address


def shown(authority: Authority, certificate: str, key: str) -> dask.config.set:
    """What the variables of a site would say."""
    return dask.config.set(
        {
            "distributed.comm.tls.ca-file": authority.certificate,
            "distributed.comm.tls.client.cert": certificate,
            "distributed.comm.tls.client.key": key,
        }
    )


def test_with_certificates_the_cluster_is_used(authority: Authority, closed_cluster: str) -> None:
    assert closed_cluster.startswith("tls://")
    with shown(authority, *authority.sign("site")):
        assert "connected with 1 worker" in condition(closed_cluster)


def test_a_site_or_cluster_with_a_certificate_of_another_authority_is_not(
    authority: Authority, closed_cluster: str, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path, "a-strangers")
    with shown(authority, *stranger.sign("intruder")), pytest.raises(ClusterError):
        SchedulerConnection(closed_cluster, 2.0)
    with shown(stranger, *stranger.sign("site")), pytest.raises(ClusterError):
        SchedulerConnection(closed_cluster, 2.0)
