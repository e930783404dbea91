"""Addresses told when a run ends: once, again if nobody answers, and none that only this host reaches."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import IntegrityError
from django.utils import timezone

from inference.models import Run, Webhook
from inference.runs import leases, webhooks
from inference.runs.errors import ConfigError, RunStateError
from inference.runs.kinds import RUN_KINDS
from inference.runs.lifecycle import cancel, submit
from inference.runs.webhook_address import is_public, masked
from inference.runs.webhooks import DeliveryError, post
from tests.runs.counting.job import COUNTING

pytestmark = pytest.mark.django_db


class Listener(ThreadingHTTPServer):
    """Keeps what is posted to it, and answers with `status`."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.status = 204
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                listener.heard.append({"path": self.path, "host": self.headers["Host"], **json.loads(body)})
                self.send_response(listener.status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?key=1"


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setitem(RUN_KINDS, "count", COUNTING)
    settings.WEBHOOK_INTERNAL = True
    settings.URL = "https://pmweb.example.org"


def deliver() -> None:
    """What a worker does again and again."""

    async def once() -> None:
        deliveries = webhooks.Deliveries()
        await deliveries.start_due()
        await deliveries.wait()

    async_to_sync(once)()


def test_an_address_is_told_when_the_run_has_ended_and_only_then(listener: Listener) -> None:
    run = submit("count", {}, "a run", webhook=listener.url)
    deliver()
    assert listener.heard == []
    lease = leases.claim("w", only=run.pk)
    assert lease is not None
    leases.fail(lease, "it broke\nevidence")
    deliver()
    deliver()
    (heard,) = listener.heard
    assert heard["path"] == "/hook?key=1"
    assert (heard["event"], heard["run"], heard["state"]) == ("run-ended", run.pk, "failed")
    assert heard["url"] == f"https://pmweb.example.org/runs/{run.pk}/"
    assert (heard["error"], heard["text"]) == ("it broke", "a run: failed")
    (told,) = webhooks.visible_webhooks(run)
    assert told.sent is not None
    assert "key" not in told.url


def test_the_sites_own_address_is_told_of_every_run(listener: Listener, settings: Any) -> None:
    settings.WEBHOOK = listener.url
    settings.WEBHOOK_INTERNAL = False  # whoever sets it is the host's administrator
    cancel(submit("count", {}, "one"))
    cancel(submit("count", {}, "two", webhook=listener.url))
    deliver()
    assert sorted(each["name"] for each in listener.heard) == ["one", "two"]


def test_what_is_not_taken_is_tried_again_later_and_given_up_in_the_end(listener: Listener) -> None:
    listener.status = 500
    run = cancel(submit("count", {}, "a run", webhook=listener.url))
    for attempt in range(1, 9):
        deliver()
        deliver()  # not due yet
        assert len(listener.heard) == min(attempt, 1 + len(webhooks.RETRY_DELAYS))
        Webhook.objects.update(due=timezone.now() - timedelta(seconds=1))
    (told,) = webhooks.visible_webhooks(run)
    assert told.sent is None
    assert "500" in told.error


def test_redirections_are_not_followed(listener: Listener) -> None:
    listener.status = 302
    cancel(submit("count", {}, "a run", webhook=listener.url))
    deliver()
    assert [each["path"] for each in listener.heard] == ["/hook?key=1"]
    assert "302" in Webhook.objects.get().error


def test_two_workers_tell_it_once(listener: Listener) -> None:
    cancel(submit("count", {}, "a run", webhook=listener.url))
    first = webhooks._claim_due(Counter())
    assert len(first) == 1
    assert webhooks._claim_due(Counter()) == []


def test_internal_addresses_are_refused_unless_the_setting_allows_them(
    listener: Listener, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_INTERNAL = False
    for url in (listener.url, listener.url.replace("127.0.0.1", "innocent.example.org")):
        cancel(submit("count", {}, url[:100], webhook=url))
    known = socket.getaddrinfo

    def rebound(host: str, *rest: Any, **named: Any) -> Any:
        return known("127.0.0.1" if host == "innocent.example.org" else host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", rebound)
    deliver()
    assert listener.heard == []
    assert all("not a public address" in row.error for row in Webhook.objects.all())
    settings.WEBHOOK_INTERNAL = True
    Webhook.objects.update(due=None)
    deliver()
    assert len(listener.heard) == 2
    assert {each["host"].partition(":")[0] for each in listener.heard} == {
        "127.0.0.1",
        "innocent.example.org",
    }


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1",
     "224.0.0.1", "::1", "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1",
     "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "64:ff9b:1:ffff::a00:1", "2002:7f00:1::",
     "fec0::1", "feff::1", "::",
     # those of IPv4 inside one of IPv6: compatible, translated, ISATAP, Teredo
     "::127.0.0.1", "::7f00:1", "::a9fe:a9fe", "::5db8:d822", "::ffff:0:7f00:1",
     "2606:2800:220:1:0:5efe:127.0.0.1", "2606:2800:220:1:200:5efe:10.0.0.1", "2001:0:7f00:1::",
     "::ffff:192.0.0.192", "::ffff:168.63.129.16", "::ffff:169.254.169.254", "2002:5db8:d822::1",
     # metadata of clouds: Oracle, Azure, Alibaba, AWS by IPv6
     "192.0.0.192", "168.63.129.16", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254",
     "192.0.0.1", "192.0.0.9", "192.0.0.170", "192.88.99.1", "198.18.0.1", "192.0.2.1", "240.0.0.1",
     "255.255.255.255", "100::1", "2001:2::1", "2001:20::1", "2001:db8::1", "3fff::1", "5f00::1", "ff02::1"],
)  # fmt: skip
def test_these_are_not_public(address: str) -> None:
    assert not is_public(address)


def test_these_are_public() -> None:
    assert all(
        map(is_public, ("93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34"))
    )


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.org", "https://example.org/"),
        ("https://example.org:8443/hook/s3cret?key=s3cret", "https://example.org:8443/…"),
        ("https://me:s3cret@example.org:8443/", "https://example.org:8443/"),
        ("https://s3cret@[2606:2800::1]:8443/x", "https://[2606:2800::1]:8443/…"),
        ("https://me:s3cret/x@example.org/", "…"),
        ("https://example.org:99999/s3cret", "…"),
        ("http://[::1", "…"),
    ],
)
def test_of_an_address_readers_see_the_host_alone(url: str, shown: str) -> None:
    assert masked(url) == shown


@pytest.mark.parametrize(
    "url", ["http://example.org:99999/", "http://me:s3cret/x@example.org/", "http://[::1"]
)
def test_a_stored_address_that_makes_no_sense_is_one_that_cannot_be_told(
    listener: Listener, url: str
) -> None:
    run = cancel(submit("count", {}, "a run", webhook=listener.url))
    Webhook.objects.create(run=run, url=url)
    deliver()
    assert len(listener.heard) == 1
    assert "no address" not in Webhook.objects.get(url=listener.url).error
    told = Webhook.objects.get(url=url)
    assert "the address is malformed; expected: http://… or https://…" in told.error
    assert "s3cret" not in told.error


def test_a_fault_at_one_webhook_keeps_no_other_from_being_told(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first = cancel(submit("count", {}, "one", webhook=listener.url))
    cancel(submit("count", {}, "two", webhook=listener.url))
    sound = webhooks._message

    def faulty(row: Webhook) -> Any:
        if row.run_id == first.pk:
            raise RuntimeError("nobody has thought of this")
        return sound(row)

    async def a_round_is_over(_seconds: float) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(webhooks, "_message", faulty)
    monkeypatch.setattr(webhooks.asyncio, "sleep", a_round_is_over)
    with contextlib.suppress(asyncio.CancelledError):
        async_to_sync(webhooks.deliver_webhooks)()
    assert [each["name"] for each in listener.heard] == ["two"]
    assert f"run {first.pk}: sending its webhook failed" in caplog.text
    assert Webhook.objects.get(run=first).attempts == 1


def test_nobody_there_is_an_error_that_says_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        with pytest.raises(DeliveryError, match="cannot be reached"):
            post(url, {}, internal=True)


def test_an_answer_that_does_not_come_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "ANSWER_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(DeliveryError, match="answer"):
        post(f"http://127.0.0.1:{silent.getsockname()[1]}/", {}, internal=True)


@pytest.mark.parametrize(
    "url",
    ["ftp://example.org/", "file:///etc/passwd", "//example.org", "http://", "http://user:pw@example.org/",
     "http://example.org:0/", "http://example.org:99999/", "http://exa mple.org/", "http://a..b/", "http://[::1",
     "https://example.org/" + "a" * 500, "gopher://example.org/", "http://ex\nample.org/"],
)  # fmt: skip
def test_what_is_no_address_is_refused_and_no_run_is_made(url: str) -> None:
    with pytest.raises(ConfigError, match="webhook"):
        submit("count", {}, "a run", webhook=url)
    assert not Run.objects.exists()


def test_the_address_of_a_run_can_be_changed_until_it_ends(settings: Any) -> None:
    settings.WEBHOOK = "https://own.example.org/"
    run = submit("count", {}, "a run", webhook="https://one.example.org/")
    webhooks.replace_webhook(run, "https://two.example.org/x")
    assert [each.url for each in webhooks.visible_webhooks(run)] == [
        "https://own.example.org/",
        "https://two.example.org/…",
    ]
    webhooks.replace_webhook(run, "")
    assert [each.url for each in webhooks.visible_webhooks(run)] == ["https://own.example.org/"]
    cancel(run)
    with pytest.raises(RunStateError):
        webhooks.replace_webhook(run, "https://three.example.org/")


def test_an_address_is_named_once_per_run() -> None:
    run = submit("count", {}, "a run", webhook="https://one.example.org/")
    with pytest.raises(IntegrityError):
        Webhook.objects.create(run=run, url="https://one.example.org/")


def test_a_name_that_is_public_when_asked_and_internal_when_asked_again_is_connected_to_as_it_was_first(
    listener: Listener, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_INTERNAL = False
    answers = iter(["93.184.216.34", *["127.0.0.1"] * 9])
    connected = []

    def rebinding(host: str, port: int, *_: Any, **__: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    def create_connection(address: tuple[str, int], *_: Any) -> socket.socket:
        connected.append(address[0])
        raise OSError("nobody is to be reached by this test")

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setattr(socket, "create_connection", create_connection)
    cancel(submit("count", {}, "a run", webhook=f"http://rebinding.example.org:{listener.server_port}/"))
    deliver()
    assert connected == ["93.184.216.34"]
    assert listener.heard == []


def test_of_several_addresses_of_a_host_none_that_is_internal_is_taken(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(None, None, None, "", (each, 80)) for each in ("::127.0.0.1", "192.0.0.192", "93.184.216.34")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert webhooks.resolve("mixed.example.org", 80, internal=False) == "93.184.216.34"


class Silent:
    """Takes connections and never answers, until it is closed."""

    def __init__(self, host: str) -> None:
        self._socket = socket.create_server((host, 0))
        self.url = f"http://{host}:{self._socket.getsockname()[1]}/"

    def close(self) -> None:
        """Let everybody who waits know that there is no answer."""
        self._socket.close()


@pytest.mark.django_db(transaction=True)
def test_webhooks_do_not_wait_for_those_that_do_not_answer(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose owner never answers is asked to tell many runs; those of others are told meanwhile."""
    monkeypatch.setattr(webhooks, "ANSWER_TIMEOUT", 3600.0)
    silent = Silent("127.0.0.1")
    for number in range(webhooks.MAX_CONCURRENT + 1):
        cancel(submit("count", {}, f"slow {number}", webhook=silent.url))
    cancel(submit("count", {}, "quick", webhook=listener.url))

    async def until_told() -> list[str]:
        deliveries = webhooks.Deliveries()
        await deliveries.start_due()
        while not listener.heard:
            await asyncio.sleep(0.01)
        under_way = list(deliveries._active.values())
        silent.close()
        await deliveries.wait()
        return under_way

    under_way = async_to_sync(until_told)()
    assert [each["name"] for each in listener.heard] == ["quick"]
    assert under_way.count(silent.url.removeprefix("http://").rstrip("/")) == webhooks.MAX_CONCURRENT_PER_HOST
    untouched = Webhook.objects.filter(url=silent.url, attempts=0).count()
    assert untouched == webhooks.MAX_CONCURRENT + 1 - webhooks.MAX_CONCURRENT_PER_HOST, "they stay due"
