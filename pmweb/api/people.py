"""API operations on accounts, sessions and shared links."""

from __future__ import annotations

from typing import Annotated, Any

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema, Status
from pydantic import Field

from inference.runs.request import AllowedTexts
from inference.web.api.access import (
    account_of,
    admin_access,
    confirmed_in_person,
    confirmed_operator,
    operator_access,
)
from inference.web.api.errors import Flaw, ProblemError
from inference.web.api.shapes import Input, Name, RowOut, Time, fields_of
from inference.web.validation import Id
from pmweb import sharing
from pmweb.accounts import api_tokens, people, sessions
from pmweb.accounts.forms import InviteForm
from pmweb.accounts.people import AccountError, accounts, invited_until, link_path
from pmweb.accounts.roles import role_of
from pmweb.models import ApiToken, Role, SharedLink
from pmweb.sharing import ListedLink, ShareRequest, address_of

account_router = Router()
RoleName = Annotated[str, AllowedTexts(Role.values)]


session_router = Router()
sharing_router = Router()


class ApiTokenOut(Schema):
    """A token of a program, without its secret text."""

    id: Id
    name: str = Field(examples=["nightly script on lab-3"])
    scope: str = Field(examples=["operate"])
    created: Time
    expires: Time | None
    last_used: Time | None
    ended: str = Field(description="expired or revoked; empty while it is valid.", examples=[""])


class CallerOut(Schema):
    """The user and scope of the calling token or session."""

    name: str = Field(description="Name of the account; empty for visitors.", examples=["ada"])
    role: str | None = Field(examples=["operator"])
    scope: str = Field(examples=["operate"])
    tokens: list[ApiTokenOut]


class AccountOut(RowOut):
    id: Id
    name: str = Field(validation_alias="username", examples=["ada"])
    role: str = Field(description="viewer, operator or admin.", examples=["operator"])
    active: bool = Field(
        validation_alias="is_active", description="Whether the account may log in.", examples=[True]
    )
    invited: bool = Field(description="Whether the invited person has not logged in yet.", examples=[False])
    fixed: bool = Field(description="Whether the role cannot be changed.", examples=[False])
    joined: Time = Field(validation_alias="date_joined")
    last_login: Time | None
    tokens: int = Field(description="Number of valid API tokens.", examples=[1])


class AccountInFull(AccountOut):
    """An account with the tokens of its programs."""

    link_until: Time | None = Field(description="Expiry of the newest log-in link.")
    token_list: list[ApiTokenOut]


class Invitation(Input):
    """Name and role of a new account."""

    name: str = Field(
        min_length=1, max_length=150, description="Name of the account, used to log in.", examples=["ada"]
    )
    role: RoleName = Field("operator", examples=["operator"])


class LinkOut(Schema):
    """A one-time log-in link; it is shown only in this answer."""

    account: AccountOut
    link: str = Field(examples=["https://pmweb.example.org/login/n0tAR3alOne/"])
    until: Time | None


class AccountChange(Input):
    """A new role or state; absent fields stay."""

    role: RoleName | None = Field(None, examples=["viewer"])
    active: bool | None = Field(
        None, description="false deactivates the account at once, with its links and tokens.", examples=[True]
    )


@account_router.get("/account", response=CallerOut)
def get_caller(request: HttpRequest) -> Any:
    """The caller's account, the scope of its token or session, and its API tokens.

    New tokens are made on the account's page only, so that a leaked token cannot make others.
    """
    user: Any = request.user
    has_account = user.is_authenticated
    tokens = ApiToken.objects.filter(user=user) if has_account else ApiToken.objects.none()
    return {
        "name": user.get_username() if has_account else "",
        "role": role_of(user) if has_account else None,
        "scope": request.auth.scope,  # type: ignore[attr-defined]  # ninja keeps there who was let in
        "tokens": _tokens(tokens),
    }


@account_router.delete("/account/tokens/{own_token_id}", response={204: None})
def revoke_own_token(request: HttpRequest, own_token_id: Id) -> Any:
    """Revoke one of the caller's own tokens; 404 for the tokens of other accounts."""
    user: Any = request.user
    row = get_object_or_404(ApiToken, pk=own_token_id, user=user if user.is_authenticated else None)
    api_tokens.revoke(ApiToken.objects.filter(pk=row.pk), by=user)
    return Status(204, None)


@account_router.get("/accounts", response=list[AccountOut], auth=admin_access)
def list_accounts(request: HttpRequest) -> Any:
    """All accounts, deactivated ones last."""
    return [_account(user) for user in accounts()]


@account_router.post("/accounts", response={201: LinkOut}, auth=confirmed_in_person)
def invite(request: HttpRequest, data: Invitation) -> Any:
    """Create an account and the one-time link for its first log-in.

    Needs a session begun or confirmed in the last 15 minutes, not an API token.
    """
    form = InviteForm({"username": data.name, "role": data.role})
    if not form.is_valid():
        flaws = [Flaw(str(problem), "body name") for problems in form.errors.values() for problem in problems]
        raise ProblemError(422, flaws[0].what, flaws=flaws)
    user, token = people.invite(form.cleaned_data["username"], Role(data.role), by=request.user)
    return Status(201, _link(request, user, token))


@account_router.get("/accounts/{account_id}", response=AccountInFull, auth=admin_access)
def get_account(request: HttpRequest, account_id: Id) -> Any:
    """An account with its role and state."""
    user = _row(account_id)
    return {
        **_account(user),
        "link_until": invited_until(user),
        "token_list": _tokens(ApiToken.objects.filter(user=user)),
    }


@account_router.patch("/accounts/{account_id}", response=AccountOut, auth=admin_access)
def change_account(request: HttpRequest, account_id: Id, data: AccountChange) -> Any:
    """Change the role of an account, effective at its next request; deactivate or reactivate it.

    If one change is refused, none is made. Tokens may only deactivate; other changes need a session begun or
    confirmed in the last 15 minutes.
    """
    if data.role is not None or data.active:
        confirmed_in_person(request)
    user = _row(account_id)
    try:
        with transaction.atomic():  # both or neither
            if data.role is not None:
                people.change_role(user, Role(data.role), by=request.user)
            if data.active is not None and data.active != user.is_active:
                change = people.reactivate if data.active else people.deactivate
                change(user, by=request.user)
    except AccountError as error:
        raise _refusal(error) from error
    return _account(_row(account_id))


@account_router.post("/accounts/{account_id}/links", response={201: LinkOut}, auth=confirmed_in_person)
def make_link(request: HttpRequest, account_id: Id) -> Any:
    """Create another log-in link, for a forgotten password or an unused invitation; earlier links end.

    Needs a session begun or confirmed in the last 15 minutes, not an API token.
    """
    user = _row(account_id)
    try:
        return Status(201, _link(request, user, people.new_link(user, by=request.user)))
    except AccountError as error:
        raise _refusal(error) from error


def _row(account_id: int) -> User:
    return get_object_or_404(accounts(), pk=account_id)


def _refusal(error: AccountError) -> ProblemError:
    return ProblemError(
        409, f"The account was not changed: {error}", where="path account_id", right="another account"
    )


def _link(request: HttpRequest, user: User, token: str) -> dict[str, Any]:
    link = request.build_absolute_uri(link_path(token))
    return {"account": _account(_row(user.pk)), "link": link, "until": invited_until(user)}


def _account(user: Any) -> dict[str, Any]:
    invited, fixed = people.is_invited(user), people.is_fixed(user)
    return fields_of(user, AccountOut, role=role_of(user), invited=invited, fixed=fixed)


def _tokens(rows: Any) -> list[dict[str, Any]]:
    return [fields_of(row, ApiTokenOut, ended=ended) for row, ended in api_tokens.with_status(rows)]


class BrowserSessionOut(Schema):
    """A session of a browser."""

    id: Id
    browser: str = Field(examples=["Firefox on Linux"])
    way: str = Field(description="Log-in method: password, link, or empty.", examples=["password"])
    created: Time = Field(description="Time of the log-in.")
    address: str = Field(description="Network address of the log-in.", examples=["192.0.2.7"])
    last_seen: Time = Field(description="Time of the last use, to the minute.")
    last_address: str = Field(description="Network address of the last request.", examples=["192.0.2.7"])


@session_router.get("/account/sessions", response=list[BrowserSessionOut], auth=operator_access)
def list_own_sessions(request: HttpRequest) -> Any:
    """The caller's browser sessions, the most recently used first."""
    return [
        fields_of(row, BrowserSessionOut, browser=row.browser_name)
        for row in sessions.sessions_of(account_of(request))
    ]


@session_router.delete("/account/sessions/{own_session_id}", response={204: None})
def end_own_session(request: HttpRequest, own_session_id: Id) -> Any:
    """End one of the caller's own browser sessions; 404 for those of other accounts."""
    user = account_of(request)
    sessions.end_session(get_object_or_404(sessions.sessions_of(user), pk=own_session_id), by=user)
    return Status(204, None)


@session_router.delete("/accounts/{account_id}/sessions", response={204: None}, auth=admin_access)
def end_sessions_of_account(request: HttpRequest, account_id: Id) -> Any:
    """End all browser sessions of an account. Its tokens, links and password stay valid."""
    sessions.log_out(get_object_or_404(User, pk=account_id), by=request.user)
    return Status(204, None)


class SharedLinkOut(Schema):
    """A link that shows one result to everyone who has it."""

    id: Id
    item: str = Field(description="Shown item: kind and id.", examples=["mapping:7"])
    name: Name
    title: str = Field(description="Title shown instead of the item's name.", examples=[""])
    user: str = Field(description="Account that created it.", examples=["ada"])
    created: Time
    expires: Time
    matter: str = Field(description="Why it shows nothing; empty while it works.", examples=[""])
    uses: int = Field(description="Number of times its page was opened.", examples=[12])
    last_used: Time | None = Field(description="Time of the last use, to the minute.")


class NewSharedLinkOut(SharedLinkOut):
    """A new shared link with its address, which is shown only in this answer."""

    url: str = Field(examples=["https://pmweb.example.org/shared/n0tAR3alOne/"])


@sharing_router.get("/shared-links", response=list[SharedLinkOut], auth=operator_access)
def list_shared_links(request: HttpRequest) -> Any:
    """All shared links, working ones first."""
    return [_link_json(link) for link in sharing.listed_links(SharedLink.objects.all())]


@sharing_router.post("/shared-links", response={201: NewSharedLinkOut}, auth=confirmed_operator)
def share_item(request: HttpRequest, data: ShareRequest) -> Any:
    """Create a link that shows one item to everyone who has it, until it expires."""
    user = account_of(request)
    try:
        row, token = sharing.share(user, data, by=user)
    except ValueError as error:
        raise ProblemError(403, str(error)) from error
    (link,) = sharing.listed_links(SharedLink.objects.filter(pk=row.pk))
    return Status(201, {**_link_json(link), "url": address_of(request, token)})


@sharing_router.delete("/shared-links/{shared_link_id}", response={204: None})
def revoke_shared_link(request: HttpRequest, shared_link_id: Id) -> Any:
    """Revoke a shared link; it shows nothing from now on."""
    sharing.revoke(get_object_or_404(SharedLink, pk=shared_link_id), by=account_of(request))
    return Status(204, None)


def _link_json(link: ListedLink) -> dict[str, Any]:
    user = link.row.user.get_username()
    return fields_of(link.row, SharedLinkOut, name=link.name, user=user, matter=link.matter)
