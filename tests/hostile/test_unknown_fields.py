"""A form refuses what it does not know, and knows all that its own page sends."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from inference.web.request_fields import StrictForm
from pmweb.accounts import sessions
from pmweb.accounts.forms import (
    ApiTokenForm,
    ChangePasswordForm,
    ConfirmForm,
    FirstPasswordForm,
    InviteForm,
    PasswordLoginForm,
    RoleForm,
    _NewPasswordForm,
)
from tests.pmweb.test_permissions import ADDRESSES, NOWHERE
from tests.web.test_request_forms import all_forms

UNOPENED = {
    "BlocksForm": "of a file with blocks whose columns are to be named",
    "ChooseForm": "of loops that were found in a compiled program",
    "CoverageForm": "of campaigns with blocks of their own",
    "DifferenceForm": "of mappings, where llvm-mca is installed",
    "ExplainForm": "of blocks that were asked about",
    "ImportForm": "of a file that has been read",
    "ListingForm": "of a listing of a compiled program",
    "SearchForm": "of a compiled program",
}
"""Forms that no page of the fixtures' rows has: their own tests post what their pages send."""
MORE = ["/predictors/add/llvm-mca/"]
PAGES: dict[type[StrictForm], tuple[str, str]] = {
    PasswordLoginForm: ("login", "login"),
    ConfirmForm: ("confirm", "confirm"),
    FirstPasswordForm: ("password", "password"),
    ChangePasswordForm: ("password", "password"),
    InviteForm: ("account-invite", "account-invite"),
    ApiTokenForm: ("account", "api-token-make"),
    RoleForm: ("account-of", "account-role"),
}
"""The forms of accounts: the page that each is on, and where it is posted."""
OF_ACCOUNTS = {form for form in all_forms() if form.__module__.startswith("pmweb.")} - {_NewPasswordForm}
BASES = {
    "StrictForm",
    "RequestForm",
    "RunForm",
    "BlockImportForm",
    "ChoosingForm",
    "MeasuringForm",
    "ProcessorForm",
    "_NewPasswordForm",
}


class Controls(HTMLParser):
    """The names of all controls in each form of a page that is posted."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[set[str]] = []
        self._posting = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._posting = given.get("method", "").lower() == "post"
            if self._posting:
                self.forms.append(set())
        elif self._posting and tag in ("input", "select", "textarea", "button") and given.get("name"):
            self.forms[-1].add(given["name"])


def forms_of(answer: HttpResponse) -> Iterator[StrictForm]:
    for context in answer.context or ():
        for layer in getattr(context, "dicts", ()):
            yield from (value for value in layer.values() if isinstance(value, StrictForm))


def test_what_a_page_sends_is_taken_and_an_unknown_name_is_refused(
    visitor: Client, world: dict[str, int]
) -> None:
    opened: set[str] = set()
    expected = {form.__name__ for form in {*all_forms()} - OF_ACCOUNTS} - BASES - set(UNOPENED)
    numbers = sorted({str(pk) for pk in world.values()})
    addresses = [path.replace(NOWHERE, number) for number in numbers for _, path in ADDRESSES]
    for address in dict.fromkeys([*MORE, *addresses]):
        if address.startswith(("/static", "/api/", "/accounts")):
            continue
        if expected <= opened:  # each form is tried on the first page that has it
            break
        page = visitor.get(address)
        if page.status_code != 200 or not page["Content-Type"].startswith("text/html"):
            continue
        forms = {type(form): form for form in forms_of(page)}.values()
        for form in forms:
            if type(form) in OF_ACCOUNTS:
                continue
            own = max(Controls(page.content.decode()).forms, key=lambda names: len(names & {*form.fields}))
            if type(form).__name__ in opened or not own & {*form.fields}:
                continue
            opened.add(type(form).__name__)
            assert own <= {*form.fields, *form.extra_fields, "csrfmiddlewaretoken", "press"}, (
                address,
                type(form),
            )
            refusal = visitor.post(address, {"press": "start", "colour": "red"})
            assert refusal.status_code in (400, 200), (address, type(form))
            assert "There is no field &#x27;colour&#x27; here" in refusal.content.decode(), address
    assert expected <= opened


@pytest.mark.parametrize("form", sorted(OF_ACCOUNTS, key=str))
def test_forms_of_accounts_take_what_their_page_sends_and_nothing_else(
    administrator: User,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    form: type[StrictForm],
) -> None:
    page, post = PAGES[form]
    whose = User.objects.create_user("grace").pk
    if form is not FirstPasswordForm:
        administrator.set_password("seven blue horses")
        administrator.save()
    if form is not PasswordLoginForm:
        client.force_login(administrator)
    if page == "confirm":
        monkeypatch.setattr(sessions, "is_recent", lambda request: False)
    known = {*form.base_fields, *form.extra_fields, "csrfmiddlewaretoken"}
    opened = client.get(reverse(page, args=[whose] if page == "account-of" else []))
    sent = next(names for names in Controls(opened.text).forms if names & {*form.base_fields})
    assert sent <= known
    refusal = client.post(
        reverse(post, args=[whose] if page == "account-of" else []), {"colour": "red"}, follow=True
    )
    assert "There is no field &#x27;colour&#x27; here" in refusal.text
