"""The way to the server: encrypted, and to nobody else."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import pytest_asyncio
from websockets.asyncio.server import ServerConnection, serve

from inference.agent.connection import (
    AddressError,
    ConnectionLostError,
    dial,
    is_unencrypted,
    tls_context,
)
from inference.agent.session import Agent

pytest.importorskip("cryptography")
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for this computer, signed by itself, and its key in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "pmweb test")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "certificate.pem"
    kinds = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file.write_bytes(built.public_bytes(serialization.Encoding.PEM) + key.private_bytes(*kinds))
    return file


@pytest_asyncio.fixture
async def address(certificate: Path) -> AsyncIterator[str]:
    """A server that greets whoever gets that far."""

    async def greet(socket: ServerConnection) -> None:
        await socket.send("you are in")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    async with serve(greet, "127.0.0.1", 0, ssl=context) as server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_certificate_of_ones_own_is_trusted_by_its_file(address: str, certificate: Path):
    async with dial(address, "secret", tls_context(str(certificate))) as connection:
        assert await connection.receive() == "you are in"


async def test_nobody_is_told_the_token_who_cannot_be_trusted(address: str):
    with pytest.raises(ConnectionLostError, match="certificate"):
        async with dial(address, "secret", tls_context(None)):
            pass


async def test_a_certificate_for_another_host_is_none(address: str, certificate: Path):
    with pytest.raises(ConnectionLostError, match="localhost"):
        async with dial(address.replace("127.0.0.1", "localhost"), "secret", tls_context(str(certificate))):
            pass


def test_an_agent_that_is_told_nothing_trusts_whom_the_system_trusts():
    agent = Agent("https://lab", "secret", SimpleNamespace(), dict, "test")
    context = agent._tls
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_a_file_without_certificates_is_refused(tmp_path: Path):
    (tmp_path / "empty").touch()
    for name in ("empty", "absent"):
        with pytest.raises(AddressError, match=name):
            tls_context(str(tmp_path / name))


@pytest.mark.parametrize(
    ("server", "open_to_others"),
    [("http://lab:8000", True), ("https://lab", False), ("http://127.0.0.1:8000", False), ("ws://lab", True)],
)
def test_what_can_be_read_on_the_way_is_known(server: str, open_to_others: bool):
    assert is_unencrypted(server) == open_to_others
