"""An agent that talks nonsense to a real web server, and then delivers results after all."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from benchmarks._fuzz_agent import FLOOD, NAMES, SOON, batch_content, text_of
from benchmarks._json_mutations import draw
from benchmarks._survey import Survey
from inference.agent import protocol
from inference.agent.protocol import MAX_MESSAGE_BYTES, PROTOCOL, RESULT_STATES, Frame
from inference.models import Batch, Machine, Run

_TRICKS = ("results", "results", "beat", "fence", "number", "foreign", "ids", "flood", "hello")
_CONTENT = batch_content(Frame())
_HELLO = {
    "type": "hello",
    "protocol": PROTOCOL,
    "version": "test",
    "instance": "fuzz",
    "facts": {"cpu": "Fuzz 9000", "vendor": "GenuineFuzz", "family": 6, "flags": ["avx2"]},
    "holds": None,
}
_BEAT = {"type": "beat", "state": "idle", "noise": 0.01, "ghz": 3.0, "rate": 5.0, "done": 1}


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

    def fuzz(self, n: int, seed: int) -> Survey:
        """Send about `n` messages that make no sense."""
        self.survey, self._drawn = Survey("server", seed), random.Random(seed)
        connections = 0
        while self.survey.total < n:
            connections += 1
            number = self._waiting()
            try:
                self._connection(number, 1.0 + connections / 1024)
            except ConnectionClosed as closed:
                self.survey.outcomes[f"closed with {closed.rcvd.code if closed.rcvd else 'nothing'}"] += 1
            except TimeoutError:
                self.survey.expect(False, "the server neither answers nor hangs up")
            self._look_after(number)
        return self.survey

    def _waiting(self) -> int:
        """The batch that waits for the machine; attempts do not count here."""
        rows = Batch.objects.filter(machine=self._machine, state__in=("waiting", "leased"))
        rows.update(attempts=0)
        return rows.values_list("pk", flat=True).first() or self._posted(self._machine)

    def _posted(self, machine: Machine) -> int:
        token = self._run.lease_token
        row = Batch.objects.create(
            machine=machine, run=self._run, run_token=token, content=_CONTENT, size=len(NAMES)
        )
        return row.pk

    def _connection(self, number: int, cycles: float) -> None:
        """One connection of an agent: perhaps a wrong greeting, one to three tricks, then results."""
        headers = {"Authorization": f"Bearer {self._token}"}
        options: dict[str, Any] = {"max_size": MAX_MESSAGE_BYTES, "proxy": None, "compression": None}
        with connect(self._address, additional_headers=headers, close_timeout=1, **options) as socket:
            if self._drawn.random() < 0.1:
                version = {**_HELLO, "protocol": self._drawn.choice((0, 2, -1, 10**9))}
                is_other_version = self._drawn.random() < 0.3
                odd = ("version", json.dumps(version)) if is_other_version else draw(_HELLO, self._drawn)
                self._send(socket, *odd)
            socket.send(json.dumps(_HELLO))
            batch: dict[str, Any] = {}
            while batch.get("type") != "batch":
                batch = json.loads(socket.recv(SOON))
            self.survey.expect(batch["batch"] == number, f"given {batch['batch']} and not {number}")
            for _ in range(self._drawn.randint(1, 3)):
                for kind, text in self._trick(batch):
                    self._send(socket, kind, text)
            self._deliver(socket, batch, cycles)

    def _trick(self, batch: dict[str, Any]) -> Iterator[tuple[str, str | bytes]]:
        """(kind, what is sent) of one or several messages."""
        sound, drawn = _results(batch, 0.5), self._drawn
        match drawn.choice(_TRICKS):
            case "results":
                yield draw(sound, drawn)
            case "beat":
                yield draw(_BEAT, drawn)
            case "fence":
                wrong = batch["fence"] + drawn.choice((-1, 1, 10**9))
                yield "wrong fence", json.dumps({**sound, "fence": wrong})
            case "number":
                yield "of another batch", json.dumps({**sound, "batch": drawn.randrange(2**63)})
            case "foreign":
                for fence in range(3):
                    text = json.dumps({**sound, "batch": self._foreign, "fence": fence})
                    yield "of another machine", text
            case "ids":
                same = [sound["results"][0]] * len(sound["results"])
                yield "same ids twice", json.dumps({**sound, "results": same})
            case "hello":
                yield "second greeting", json.dumps(_HELLO)
            case _:
                yield FLOOD, json.dumps({"type": "beat", "state": "idle"})

    def _send(self, socket: ClientConnection, kind: str, text: str | bytes) -> None:
        self.survey.sent[kind] += 1
        for _ in range(400 if kind == FLOOD and self._drawn.random() < 0.1 else 1):
            socket.send(text_of(text))

    def _deliver(self, socket: ClientConnection, batch: dict[str, Any], cycles: float) -> None:
        """What makes sense is stored all the same, once: the second time changes nothing."""
        socket.send(json.dumps({"type": "beat", "state": "idle"}))
        for _ in range(2):
            socket.send(json.dumps(_results(batch, cycles)))
        self.survey.sent["replayed"] += 1
        while Batch.objects.get(pk=batch["batch"]).state != Batch.State.DONE:
            message = json.loads(socket.recv(SOON))
            if message["type"] == "batch":  # the first one was taken back: it said what makes no sense
                socket.send(json.dumps(_results(message, cycles)))
        self.survey.outcomes["the server goes on and stores"] += 1

    def _look_after(self, number: int) -> None:
        """Expect sound results of the batch, or none, and that another machine's batch is as it was."""
        row = Batch.objects.get(pk=number)
        if row.state == Batch.State.DONE:
            self.survey.expect(_are_sound(row.results or []), f"stored: {row.results!r:.500}")
        else:
            self.survey.expect(row.results is None, f"results of a batch that is {row.state}")
        foreign = Batch.objects.get(pk=self._foreign)
        is_untouched = (foreign.state, foreign.fence) == ("waiting", 0)
        self.survey.expect(is_untouched, f"another machine's batch is {foreign.state}")


def _results(batch: dict[str, Any], cycles: float) -> dict[str, Any]:
    results = [protocol.Result(name, "settled", cycles, 0.01, 2).as_json() for name in NAMES]
    return {"type": "results", "batch": batch["batch"], "fence": batch["fence"], "results": results}


def _are_sound(results: Sequence[dict[str, Any]]) -> bool:
    """Whether they are one for each item, with numbers that can be; by other code than the server's."""
    return [result["id"] for result in results] == list(NAMES) and all(
        result["state"] in RESULT_STATES
        and (result["cycles"] is None) == (result["state"] == "failed")
        and all(
            value is None or (type(value) in {int, float} and math.isfinite(value) and 0 <= value <= 1e9)
            for value in (result["cycles"], result["spread"], result["passes"])
        )
        and len(result["note"]) <= 500
        for result in results
    )
