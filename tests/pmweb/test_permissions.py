"""Every address has a rule, and the rule holds for everybody: the table is walked, whatever is added to it.

Objects are not needed, nor the views: whoever is let in gets as far as `Door`, and whoever is not, does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import URLResolver, get_resolver, reverse

from inference.models import AgentToken, Machine
from inference.runs.machines import sessions
from inference.sockets import agent_urlpatterns, websocket_urlpatterns
from inference.storage.instruction_sets import new_isa
from inference.web.api.site import resolver
from pmweb.accounts.people import change_role, deactivate, invite
from pmweb.accounts.roles import AccessLevel, level_of, rights
from pmweb.models import Role
from pmweb.permissions.table import RULES, SHOWS, TABLE, Rule, rule_of

NOWHERE = "999999"
PARAMETER = re.compile(r"<(?:(?P<kind>\w+):)?(?P<name>\w+)>")
INSIDE, FORBIDDEN, LOG_IN, NO_METHOD = "inside", "forbidden", "log in", "no such method"
METHODS = ("GET", "POST", "DELETE")
"""One of each kind: see `test_methods_of_a_kind_need_the_same`."""
WORDS = {"action": "cancel"}


def named(patterns, space: str = "", before: str = "/") -> Iterator[tuple[str, str]]:
    """All addresses below these: the name, and one of things that are not there."""
    for each in patterns:
        here = before + PARAMETER.sub(an_example, str(each.pattern))
        if isinstance(each, URLResolver):
            yield from named(
                each.url_patterns, f"{space}{each.namespace}:" if each.namespace else space, here
            )
        else:
            yield f"{space}{each.name}" if each.name else f"{here} has no name", here


def an_example(parameter: re.Match[str]) -> str:
    return NOWHERE if parameter["kind"] == "int" else WORDS.get(parameter["name"], "a")


ADDRESSES = sorted({*named(get_resolver().url_patterns), *named(resolver().url_patterns)})
"""Pairs of a name and an address; several can have one name."""
NAMES = {name for name, _ in ADDRESSES}
SOCKETS = {each.name for each in [*websocket_urlpatterns, *agent_urlpatterns]}
OWN = [(name, path) for name, path in ADDRESSES if name in TABLE and not TABLE[name].guards_itself]
GUARDED = [(name, path) for name, path in ADDRESSES if name in TABLE and TABLE[name].guards_itself]


@pytest.fixture
def people(db: None) -> dict[AccessLevel, User]:
    """One for each level that somebody with an account can have."""
    roles = {
        AccessLevel.MEMBER: Role.VIEWER,
        AccessLevel.OPERATOR: Role.OPERATOR,
        AccessLevel.ADMIN: Role.ADMIN,
    }
    return {level: invite(role.value, role)[0] for level, role in roles.items()}


class Door:
    """Stands in for every view: behind all other middleware."""

    def __init__(self, answer) -> None:
        self.answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.answer(request)

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse:
        return HttpResponse(INSIDE)


def refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    return HttpResponse(str(exception), status=403)


@pytest.fixture
def door(settings, monkeypatch) -> None:
    """Neither views nor pages that refuse are drawn: what is asked is who gets how far."""
    monkeypatch.setattr("pmweb.urls.handler403", refused, raising=False)
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{__name__}.{Door.__name__}"]


def answer(client: Client, path: str, method: str) -> str:
    """What came of it, in a word."""
    response = client.generic(method, path)
    if response.status_code == 302 and response.url.startswith(f"{reverse('login')}?next="):
        return LOG_IN
    return {200: INSIDE, 403: FORBIDDEN, 405: NO_METHOD}[response.status_code]


def test_every_address_and_every_socket_has_a_rule():
    lacking = [name for name in sorted(NAMES | SOCKETS) if rule_of(name) is None]
    assert not lacking, "add a line for each of these to pmweb/permissions"


def test_no_rule_is_left_over_and_no_address_has_two():
    assert set(TABLE) <= NAMES | SOCKETS
    assert sorted(TABLE) == sorted(name for _, names in RULES for name in names.split())


def test_a_method_that_an_address_lacks_gets_the_sites_error_page(client: Client, administrator: User):
    client.force_login(administrator)
    wrong = [(name, path, method) for name, path in OWN for method in ("GET", "POST", "PUT")]
    wrong = [(*each, TABLE[each[0]].methods) for each in wrong if each[2] not in TABLE[each[0]].methods]
    buttons = {name for name, _, method, _ in wrong if method == "GET"}
    assert {"example", "front-pick", "run-action"} < buttons
    for name, path, method, methods in [*wrong, ("metrics", "/metrics/", "PUT", {"GET", "HEAD"})]:
        response = client.generic(method, path)
        page = response.content.decode()
        assert (response.status_code, 'class="error-code">405<' in page) == (405, True), (name, method)
        assert set(response["Allow"].split(", ")) == methods
        assert ("This address is a button’s" in page) == (name in buttons)


ADMINISTRATORS = {name: rule for name, rule in TABLE.items() if AccessLevel.ADMIN in (rule.read, rule.change)}


def test_administrators_addresses_ask_who_it_is_and_are_noted_or_say_why_not():
    silent = [
        name
        for name, rule in ADMINISTRATORS.items()
        if not rule.because and not (rule.recent and rule.records is not None)
    ]
    assert not silent, "let these be recent and noted, or say because of what they are not"
    changing = {name for name, rule in ADMINISTRATORS.items() if rule.change is not None}
    assert {name for name in changing if not TABLE[name].recent} == {"account-log-out", "account-deactivate"}
    assert {
        name for name, rule in ADMINISTRATORS.items() if rule.because == SHOWS
    } == ADMINISTRATORS.keys() - changing


def test_methods_of_a_kind_need_the_same():
    rule = Rule(AccessLevel.READER, AccessLevel.OPERATOR)
    assert {rule.needed(method) for method in ("GET", "HEAD", "OPTIONS")} == {AccessLevel.READER}
    assert rule.needed("POST") == AccessLevel.OPERATOR
    assert {rule.needed(method) for method in ("DELETE", "PUT", "PATCH", "TRACE", "", "PROPFIND")} == {None}


def test_only_the_ways_in_are_open_to_whoever_comes():
    """Everything else takes at least an account, or public reading."""
    reads = {name for name, _ in OWN if TABLE[name].read == AccessLevel.ANYONE}
    changes = {name for name, _ in OWN if TABLE[name].change == AccessLevel.ANYONE}
    shown_by_a_token = {"shared", "shared-file"}
    assert reads == {"health", "login", "login-link", "agent-download", *shown_by_a_token}
    assert changes == {"login", "login-link", "logout"}


def test_who_may_only_look_may_change_nothing_but_what_is_their_own():
    theirs = {name for name, rule in TABLE.items() if rule.change in {AccessLevel.READER, AccessLevel.MEMBER}}
    sessions = {"confirm", "session-end", "sessions-end-others"}
    loops = {"loop-answer", "loop-timeline"}  # long code is asked about by POST
    assert theirs == {"password", "api-token-make", "api-token-revoke", *loops, *sessions}


def expected(rule: Rule, method: str, level: AccessLevel) -> str:
    """What the table says comes of it."""
    refused = FORBIDDEN if level >= AccessLevel.MEMBER else LOG_IN
    needed = {"POST": rule.change, "GET": rule.read}.get(method)
    if needed is not None:
        return INSIDE if level >= needed else refused
    lowest = min(each for each in (rule.read, rule.change) if each is not None)
    return NO_METHOD if level >= lowest else refused


@pytest.mark.usefixtures("door")
@pytest.mark.parametrize(
    ("level", "public"),
    [
        (AccessLevel.ANYONE, False),
        (AccessLevel.ANYONE, True),
        (AccessLevel.MEMBER, False),
        (AccessLevel.MEMBER, True),
        (AccessLevel.OPERATOR, False),
        (AccessLevel.ADMIN, False),
    ],
)
def test_whoever_comes_is_let_in_where_the_rule_says_so_and_nowhere_else(
    client: Client, people: dict[AccessLevel, User], level: AccessLevel, public: bool, settings
):
    settings.PUBLIC_READING = public
    if level in people:
        client.force_login(people[level])
    elif public:
        level = AccessLevel.READER
    found = {(*each, method): answer(client, each[1], method) for each in OWN for method in METHODS}
    table = {key: expected(TABLE[key[0]], key[2], level) for key in found}
    assert {key: value for key, value in found.items() if value != table[key]} == {}


def test_without_public_reading_a_visitor_sees_no_page(client: Client, administrator: User):
    for name in ("start", "runs", "mappings", "isas", "machines", "about"):
        response = client.get(reverse(name))
        assert response.status_code == 302
        assert response.content == b""


def test_an_address_without_a_rule_is_open_to_nobody(
    client: Client, administrator: User, monkeypatch, caplog
):
    monkeypatch.delitem(TABLE, "runs")
    client.force_login(administrator)
    assert client.get("/runs/").status_code == 403
    assert "'runs' has no rule" in caplog.text


def test_a_viewer_is_told_why_not(client: Client, people: dict[AccessLevel, User]):
    client.force_login(people[AccessLevel.MEMBER])
    page = client.post(reverse("example"))
    assert page.status_code == 403
    assert "make you an operator" in page.content.decode()


@pytest.mark.usefixtures("door")
def test_an_agents_token_opens_no_page_and_acts_for_nobody(db):
    machine = Machine.objects.create(
        name="lab", kind=Machine.Kind.AGENT, isa=new_isa("toy", ["add"], "by hand")
    )
    agent = Client(headers={"Authorization": f"Bearer {sessions.create_token(machine)}"})
    for name, path in OWN:
        for method in ("GET", "POST"):
            assert answer(agent, path, method) == expected(TABLE[name], method, AccessLevel.ANYONE), name
    assert AgentToken.objects.get().last_used is None


def test_what_guards_itself_lets_nobody_in_without_a_token(client: Client, db):
    machine = Machine.objects.create(
        name="lab", kind=Machine.Kind.AGENT, isa=new_isa("toy", ["add"], "by hand")
    )
    agent = Client(headers={"Authorization": f"Bearer {sessions.create_token(machine)}"})
    assert GUARDED
    for name, path in GUARDED:
        for visitor in (client, agent):
            for method in METHODS:
                assert visitor.generic(method, path).status_code in {401, 403, 404, 405}, (name, method, path)


def test_levels_follow_the_role_at_once(people: dict[AccessLevel, User], settings):
    user = people[AccessLevel.OPERATOR]
    change_role(user, Role.VIEWER)
    assert level_of(User.objects.get(pk=user.pk)) == AccessLevel.MEMBER
    deactivate(user)
    settings.PUBLIC_READING = True
    assert level_of(User.objects.get(pk=user.pk)) == AccessLevel.ANYONE
    assert level_of(AnonymousUser()) == AccessLevel.READER
    assert level_of(None) == AccessLevel.READER


def test_templates_know_what_the_visitor_may_do(people: dict[AccessLevel, User]):
    request = RequestFactory().get("/")
    request.user = people[AccessLevel.OPERATOR]
    assert rights(request) == {"may_read": True, "may_operate": True, "may_administer": False}
