"""The access log: a line for each answer, with the account or the token, and never a secret."""

from __future__ import annotations

import asyncio
import json
import logging
import logging.handlers
import re
from collections.abc import Iterator
from typing import Any

import pytest
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import reverse

from inference.runs.machines import sessions
from inference.sockets import agent_urlpatterns
from inference.storage.instruction_sets import new_isa
from pmweb import environment
from pmweb.accounts import api_tokens, people
from pmweb.handler import Pages
from pmweb.logs import AccessFormatter, AccessLog, JsonFormatter
from pmweb.models import Scope
from tests.listening import SOON

COMBINED = re.compile(
    r'(?P<address>\S+) - (?P<caller>\S+) \[[^\]]+\] "(?P<request>[^"]*)" (?P<status>\d+) (?P<bytes>\d+) '
    r'"[^"]*" "(?P<browser>(?:[^"\\]|\\.)*)" \d+\.\d{3}'
)


@pytest.fixture
def records(settings: Any) -> Iterator[list[logging.LogRecord]]:
    """What the log is told."""
    settings.ACCESS_LOG = "-"
    logger, found = logging.getLogger("pmweb.access"), logging.handlers.QueueHandler(Records())
    logger.addHandler(found)
    yield found.queue
    logger.removeHandler(found)


class Records(list):
    """A queue that is looked at."""

    put_nowait = list.append


def ask(path: str, headers: dict[str, str], method: str = "GET") -> None:
    """One request to the application as the web server has it."""
    name, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": name,
        "query_string": query.encode(),
        "http_version": "1.1",
        "client": ("203.0.113.7", 1),
        "headers": [(b"host", b"localhost"), *((k.lower().encode(), v.encode()) for k, v in headers.items())],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(_: dict[str, Any]) -> None:
        pass

    asyncio.run(AccessLog(Pages())(scope, receive, send))


def line(records: list[logging.LogRecord]) -> dict[str, str]:
    found = COMBINED.fullmatch(AccessFormatter().format(records[-1]))
    assert found, AccessFormatter().format(records[-1])
    return found.groupdict()


@pytest.mark.django_db(transaction=True)
def test_a_line_names_the_account_or_the_token_or_nobody(records: Any, django_user_model: Any):
    ada = django_user_model.objects.create_user("ada")
    client = Client()
    client.force_login(ada)
    ask(
        "/runs/?page=2", {"Cookie": f"sessionid={client.cookies['sessionid'].value}", "User-Agent": 'a "b"\n'}
    )
    found = line(records)
    assert (found["address"], found["caller"], found["status"]) == ("203.0.113.7", "ada", "200")
    assert found["request"] == "GET /runs/?page=2 HTTP/1.1"
    assert found["browser"] == r"a \"b\"\n"
    assert int(found["bytes"]) > 1000

    token, plain = api_tokens.issue(ada, "a script", Scope.READ, None)
    ask("/api/v1/isas", {"Authorization": f"Bearer {plain}"})
    assert line(records)["caller"] == f"ada/token:{token.pk}"
    ask("/api/v1/accounts", {"Authorization": f"Bearer {plain}"})
    assert (line(records)["caller"], line(records)["status"]) == (f"ada/token:{token.pk}", "403")
    ask("/api/v1/isas", {"Authorization": "Bearer pmwebapi_guessed"})
    assert (line(records)["caller"], line(records)["status"]) == ("-", "401")
    ask("/health/", {})
    assert line(records)["caller"] == "-"
    assert plain not in "\n".join(str(record.access) for record in records)


@pytest.mark.django_db(transaction=True)
def test_no_line_has_a_log_in_link(records: Any, administrator: User):
    token = people.issue_link(administrator)
    path = reverse("login-link", args=[token])
    ask(path, {"Referer": f"http://localhost{path}"})
    assert line(records)["request"] == "GET /login/…/ HTTP/1.1".encode("unicode_escape").decode()
    assert token not in str(records[-1].access)


@pytest.mark.django_db(transaction=True)
def test_a_line_of_an_agent_names_its_token(records: Any):
    machine = sessions.add_machine("lab", new_isa("toy", ["add R, R"], "by hand"))
    plain = sessions.create_token(machine)

    async def connect(token: str) -> None:
        headers = [(b"authorization", f"Bearer {token}".encode())]
        agent = WebsocketCommunicator(AccessLog(URLRouter(agent_urlpatterns)), "/ws/agent/", headers)
        await agent.connect(timeout=SOON)
        await agent.disconnect(timeout=SOON)

    asyncio.run(connect(plain))
    assert (line(records)["caller"], line(records)["status"]) == (
        f"agent-token:{machine.tokens.get().pk}",
        "101",
    )
    asyncio.run(connect("guessed"))
    assert (line(records)["caller"], line(records)["status"]) == ("-", "403")


@pytest.mark.django_db(transaction=True)
def test_programs_get_an_object_per_line(records: Any):
    ask("/health/", {})
    found = json.loads(JsonFormatter().format(records[-1]))
    assert (found["path"], found["status"], found["caller"]) == ("/health/", 200, "-")
    assert found["logger"] == "pmweb.access"
    assert "text" not in found


@pytest.mark.django_db(transaction=True)
def test_nothing_is_noted_where_nobody_wants_it(records: Any, settings: Any):
    settings.ACCESS_LOG = ""
    ask("/health/", {})
    assert records == []


def test_a_file_in_no_directory_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Any):
    for wrong in (tmp_path, tmp_path / "none" / "log"):
        monkeypatch.setenv("PMWEB_ACCESS_LOG", str(wrong))
        with pytest.raises(ImproperlyConfigured, match="PMWEB_ACCESS_LOG"):
            environment.log_file("PMWEB_ACCESS_LOG")
    monkeypatch.setenv("PMWEB_ACCESS_LOG", str(tmp_path / "log"))
    assert environment.log_file("PMWEB_ACCESS_LOG")["filename"] == tmp_path / "log"
