"""Shared links: what each shows, to whom, for how long, and what nobody learns from them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from inference.models import PortMapping
from pmweb.accounts.people import change_role, deactivate, invite
from pmweb.models import AuditEntry, Role, SharedLink
from pmweb.sharing import MAX_DAYS, ShareRequest, share
from tests.rows.library import ADD, isa, mapping
from tests.rows.programs import Program, session_of

__all__ = ["isa", "mapping"]


@pytest.fixture
def ada(db: None) -> User:
    """An operator."""
    return invite("ada", Role.OPERATOR)[0]


@pytest.fixture
def made(ada: User, mapping: PortMapping) -> tuple[SharedLink, str]:
    """A link of hers to the mapping."""
    return share(ada, ShareRequest(items=[f"mapping:{mapping.pk}"], days=7), by=ada)


def seen(token: str, file: str = "") -> Any:
    """What somebody without an account gets."""
    return Client().get(f"/shared/{token}/{file}")


def test_a_link_shows_its_thing_to_anybody(made: tuple[SharedLink, str], mapping: PortMapping) -> None:
    row, token = made
    answer = seen(token)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert f"<h1>{mapping.name}</h1>" in page
    assert ADD in page
    assert "<style" not in page
    assert not re.search(r"<script(?! src)", page)
    assert answer["Referrer-Policy"] == "no-referrer"
    row.refresh_from_db()
    assert row.uses == 1
    assert row.last_used is not None


def test_the_card_is_a_picture_at_an_address_of_its_own(made: tuple[SharedLink, str]) -> None:
    token = made[1]
    page = seen(token).content.decode()
    (card,) = re.findall(r'property="og:image" content="([^"]*)"', page)
    assert card == f"http://testserver/shared/{token}/card.png"
    answer = seen(token, "card.png")
    assert answer["Content-Type"] == "image/png"
    assert answer.content.startswith(b"\x89PNG")
    assert 'property="og:title"' in page


def test_every_file_of_the_page_is_there_and_nothing_else(made: tuple[SharedLink, str]) -> None:
    token = made[1]
    files = re.findall(r'href="((?:data|pictures)/[^"]*)"', seen(token).content.decode())
    assert len(files) >= 3
    for file in files:
        assert seen(token, file).status_code == 200
    for file in ("data/", "../", "data/other.csv", "index.html/x", "%2e%2e/settings.py"):
        assert seen(token, file).status_code == 404


def test_a_link_opens_nothing_else_of_the_site(made: tuple[SharedLink, str], mapping: PortMapping) -> None:
    visitor = Client()
    visitor.get(f"/shared/{made[1]}/")
    for path in (f"/mappings/{mapping.pk}/", "/", f"/mappings/{mapping.pk}/export/"):
        assert visitor.get(path).status_code == 302, path
    assert visitor.get("/api/v1/mappings").status_code == 401
    assert not visitor.cookies


def test_expired_revoked_and_unknown_links_look_the_same(made: tuple[SharedLink, str]) -> None:
    row, token = made
    unknown = seen("x" * 43)
    SharedLink.objects.filter(pk=row.pk).update(expires=timezone.now() - timedelta(seconds=1))
    expired = seen(token)
    SharedLink.objects.filter(pk=row.pk).update(expires=row.expires, revoked=timezone.now())
    revoked = seen(token)
    assert {unknown.status_code, expired.status_code, revoked.status_code} == {404}
    bodies = {re.sub(rb"/shared/[^/<]*", b"", each.content) for each in (unknown, expired, revoked)}
    assert len(bodies) == 1
    assert seen(token, "card.png").status_code == 404


def test_a_link_ends_with_its_makers_rights_and_with_its_thing(
    made: tuple[SharedLink, str], ada: User, mapping: PortMapping, administrator: User
) -> None:
    token = made[1]
    change_role(ada, Role.VIEWER, by=administrator)
    assert seen(token).status_code == 404
    change_role(ada, Role.OPERATOR, by=administrator)
    assert seen(token).status_code == 200
    deactivate(ada, by=administrator)
    assert seen(token).status_code == 404
    User.objects.filter(pk=ada.pk).update(is_active=True)
    assert seen(token).status_code == 200
    PortMapping.objects.filter(pk=mapping.pk).delete()
    assert seen(token).status_code == 404


def test_only_the_hash_of_a_token_is_kept_and_the_log_says_who_shared_what(
    made: tuple[SharedLink, str], mapping: PortMapping, administrator: User
) -> None:
    row, token = made
    assert token not in str(list(SharedLink.objects.values()))
    browser = Client()
    browser.force_login(administrator)
    assert token not in browser.get("/shares/").content.decode()
    assert browser.post(f"/shares/{row.pk}/revoke/").status_code == 302
    told = AuditEntry.objects.filter(kind="shared link").order_by("id")
    assert [(each.actor_name, each.name, each.detail.split(":")[0]) for each in told] == [
        ("ada", mapping.name, "made"),
        ("admin", mapping.name, "revoked"),
    ]
    assert seen(token).status_code == 404


def test_the_page_makes_a_link_that_works(administrator: User, mapping: PortMapping) -> None:
    browser = Client()
    browser.force_login(administrator)
    fields = {"item": f"mapping:{mapping.pk}", "days": "3", "title": "A title"}
    page = browser.post("/shares/make/", fields).content.decode()
    (token,) = re.findall(r"http://testserver/shared/([^/]+)/", page)
    assert b"<h1>A title</h1>" in seen(token).content
    row = SharedLink.objects.get()
    assert timedelta(days=2) < row.expires - timezone.now() <= timedelta(days=3)


@pytest.mark.parametrize(
    "fields", [{}, {"item": "mapping:999999"}, {"item": "run:1"}, {"days": "0"}, {"days": str(MAX_DAYS + 1)}]
)
def test_what_cannot_be_shared_makes_no_link(
    administrator: User, mapping: PortMapping, fields: dict[str, str]
) -> None:
    browser = Client()
    browser.force_login(administrator)
    usual = {"item": f"mapping:{mapping.pk}", "days": "3"} if fields else {"days": "3"}
    answer = browser.post("/shares/make/", {**usual, **fields})
    assert answer.status_code == 400
    assert "No link was created" in answer.content.decode()
    assert not SharedLink.objects.exists()


def test_viewers_share_nothing(mapping: PortMapping) -> None:
    viewer = invite("bea", Role.VIEWER)[0]
    browser = Client()
    browser.force_login(viewer)
    assert browser.get("/shares/").status_code == 403
    assert browser.post("/shares/make/", {"item": f"mapping:{mapping.pk}"}).status_code == 403
    with pytest.raises(ValueError, match="no operator"):
        share(viewer, ShareRequest(items=[f"mapping:{mapping.pk}"]))
    assert not SharedLink.objects.exists()


def test_the_api_makes_links_for_people_and_lists_and_revokes_them(
    administrator: User, mapping: PortMapping
) -> None:
    session: Program = session_of(administrator)
    status, made = session("POST", "/shared-links", {"items": [f"mapping:{mapping.pk}"]})
    assert status == 201, made
    token = made["url"].rstrip("/").rpartition("/")[2]
    assert seen(token).status_code == 200
    (listed,) = session.get("/shared-links")
    assert listed["item"] == f"mapping:{mapping.pk}"
    assert "url" not in listed
    assert session("DELETE", f"/shared-links/{listed['id']}")[0] == 204
    assert seen(token).status_code == 404
    assert session.get("/shared-links")[0]["matter"] == "revoked"


def test_the_shell_makes_lists_and_revokes(
    administrator: User, mapping: PortMapping, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("share", "make", "mapping", mapping.name, "--days", "2")
    token = capsys.readouterr().out.strip().rstrip("/").rpartition("/")[2]
    assert seen(token).status_code == 200
    call_command("share", "list")
    number = capsys.readouterr().out.partition(":")[0]
    call_command("share", "revoke", number)
    assert seen(token).status_code == 404
    with pytest.raises(CommandError, match="--days"):
        call_command("share", "make", "mapping", mapping.name, "--days", "9999")
    with pytest.raises(CommandError, match="there is no mapping"):
        call_command("share", "make", "mapping", "nothing")
