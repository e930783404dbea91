"""An agent that talks nonsense to a real web server, and then delivers results after all."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from benchmarks import _nonsense
from benchmarks._survey import Survey
from inference.agent import protocol
from inference.agent.protocol import MAX_MESSAGE_BYTES, PROTOCOL, RESULT_STATES, BatchItem, Frame, Settings
from inference.models import Batch, Machine, Run

_SOON = 60.0  # seconds; what takes longer hangs
_FLOOD = 400
_NAMES = ("a", "b", "c")
_TRICKS = ("results", "results", "beat", "fence", "number", "foreign", "ids", "flood", "hello")
_CONTENT = protocol.Batch(
    Frame(),
    Settings(),
    tuple(BatchItem(name, b"\x90" * 100, 100, 50, 50, 1, ((name, 1),)) for name in _NAMES),
).as_json()


class Server:
    """A web server to be talked nonsense to as one machine, whose batches belong to one run.

    `other` is another machine, with a batch of its own that must stay as it is.
    """

    def __init__(self, address: str, token: str, machine: Machine, other: Machine, run: Run) -> None:
        self._address = address
        self._token = token
        self._machine = machine
        self._run = run
        self._foreign = self._posted(other)
        self.survey = Survey()

    def fuzz(self, n: int, drawn: random.Random) -> Survey:
        """Send about `n` messages that make no sense."""
        connections = 0
        while self.survey.total < n:
            connections += 1
            number = self._waiting()
            try:
                self._connection(number, 1.0 + connections / 1024, drawn)
            except ConnectionClosed as closed:
                self.survey.outcomes[f"closed with {closed.rcvd.code if closed.rcvd else 'nothing'}"] += 1
            except TimeoutError:
                self.survey.failures.append("the server neither answers nor hangs up")
            self._look_after(number)
        return self.survey

    def _waiting(self) -> int:
        """The batch that waits for the machine; attempts do not count here."""
        rows = Batch.objects.filter(machine=self._machine, state__in=("waiting", "leased"))
        rows.update(attempts=0)
        found = rows.values_list("pk", flat=True).first()
        return found or self._posted(self._machine)

    def _posted(self, machine: Machine) -> int:
        row = Batch.objects.create(
            machine=machine,
            run=self._run,
            run_token=self._run.lease_token,
            content=_CONTENT,
            size=len(_NAMES),
        )
        return row.pk

    def _connection(self, number: int, cycles: float, drawn: random.Random) -> None:
        options: dict[str, Any] = {
            "max_size": MAX_MESSAGE_BYTES,
            "proxy": None,
            "compression": None,
            "close_timeout": 1,
        }
        headers = {"Authorization": f"Bearer {self._token}"}
        with connect(self._address, additional_headers=headers, **options) as socket:
            if drawn.random() < 0.1:
                self._greet_oddly(socket, drawn)
            socket.send(json.dumps(_hello()))
            batch = _heard(socket, "batch")
            self.survey.expect(batch["batch"] == number, f"given {batch['batch']} and not {number}")
            for _ in range(drawn.randint(1, 3)):
                self._say_nonsense(socket, batch, drawn)
            self._deliver(socket, batch, cycles)

    def _greet_oddly(self, socket: ClientConnection, drawn: random.Random) -> None:
        hello = _hello()
        if drawn.random() < 0.3:
            hello["protocol"] = drawn.choice((0, 2, -1, 10**9))
            self._send(socket, "version", json.dumps(hello))
        else:
            self._send(socket, *_nonsense.draw(hello, drawn))

    def _say_nonsense(self, socket: ClientConnection, batch: dict[str, Any], drawn: random.Random) -> None:
        sound = _results(batch, 0.5)
        trick = drawn.choice(_TRICKS)
        if trick == "results":
            self._send(socket, *_nonsense.draw(sound, drawn))
        elif trick == "beat":
            beat = {"type": "beat", "state": "idle", "noise": 0.01, "ghz": 3.0, "rate": 5.0, "done": 1}
            self._send(socket, *_nonsense.draw(beat, drawn))
        elif trick == "fence":
            wrong = batch["fence"] + drawn.choice((-1, 1, 10**9))
            self._send(socket, "wrong fence", json.dumps({**sound, "fence": wrong}))
        elif trick == "number":
            self._send(socket, "of another batch", json.dumps({**sound, "batch": drawn.randrange(2**63)}))
        elif trick == "foreign":
            for fence in range(3):
                text = json.dumps({**sound, "batch": self._foreign, "fence": fence})
                self._send(socket, "of another machine", text)
        elif trick == "ids":
            same = [sound["results"][0]] * len(sound["results"])
            self._send(socket, "same ids twice", json.dumps({**sound, "results": same}))
        elif trick == "hello":
            self._send(socket, "second greeting", json.dumps(_hello()))
        elif drawn.random() < 0.1:
            self.survey.sent["flood"] += 1
            for _ in range(_FLOOD):
                socket.send(json.dumps({"type": "beat", "state": "idle"}))

    def _send(self, socket: ClientConnection, kind: str, text: str | bytes) -> None:
        self.survey.sent[kind] += 1
        socket.send(text if isinstance(text, bytes) else text.encode("utf-8", "replace").decode())

    def _deliver(self, socket: ClientConnection, batch: dict[str, Any], cycles: float) -> None:
        """What makes sense is stored all the same, once: the second time changes nothing."""
        socket.send(json.dumps({"type": "beat", "state": "idle"}))
        for _ in range(2):
            socket.send(json.dumps(_results(batch, cycles)))
        self.survey.sent["replayed"] += 1
        while Batch.objects.get(pk=batch["batch"]).state != Batch.State.DONE:
            message = json.loads(socket.recv(_SOON))
            if message["type"] == "batch":  # the first one was taken back: it said what makes no sense
                socket.send(json.dumps(_results(message, cycles)))
        self.survey.outcomes["the server goes on and stores"] += 1

    def _look_after(self, number: int) -> None:
        row = Batch.objects.get(pk=number)
        if row.state == Batch.State.DONE:
            self.survey.expect(_are_sound(row.results or []), f"stored: {row.results!r:.500}")
        else:
            self.survey.expect(row.results is None, f"results of a batch that is {row.state}")
        foreign = Batch.objects.get(pk=self._foreign)
        self.survey.expect(
            (foreign.state, foreign.fence) == ("waiting", 0), f"another machine's batch is {foreign.state}"
        )


def _hello() -> dict[str, Any]:
    return {
        "type": "hello",
        "protocol": PROTOCOL,
        "version": "test",
        "instance": "fuzz",
        "facts": {"cpu": "Fuzz 9000", "vendor": "GenuineFuzz", "family": 6, "flags": ["avx2"]},
        "holds": None,
    }


def _heard(socket: ClientConnection, kind: str) -> dict[str, Any]:
    message: dict[str, Any] = {}
    while message.get("type") != kind:
        message = json.loads(socket.recv(_SOON))
    return message


def _results(batch: dict[str, Any], cycles: float) -> dict[str, Any]:
    results = [protocol.Result(name, "settled", cycles, 0.01, 2).as_json() for name in _NAMES]
    return {"type": "results", "batch": batch["batch"], "fence": batch["fence"], "results": results}


def _are_sound(results: Sequence[dict[str, Any]]) -> bool:
    """Whether they are one for each item, with numbers that can be; by other code than the server's."""
    return [result["id"] for result in results] == list(_NAMES) and all(
        result["state"] in RESULT_STATES
        and (result["cycles"] is None) == (result["state"] == "failed")
        and all(
            value is None or (type(value) in {int, float} and math.isfinite(value) and 0 <= value <= 1e9)
            for value in (result["cycles"], result["spread"], result["passes"])
        )
        and len(result["note"]) <= 500
        for result in results
    )
