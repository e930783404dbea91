"""`manage.py account`: accounts, roles and sessions."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from inference.web.data_command import DataCommand
from pmweb.accounts import api_tokens, people, sessions
from pmweb.accounts.forms import InviteForm
from pmweb.accounts.roles import role_of
from pmweb.launcher.instance import site_address
from pmweb.models import Role


class Command(DataCommand):
    help = "List and invite accounts, change roles, deactivate accounts, end sessions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        ways = parser.add_subparsers(dest="way", required=True)
        ways.add_parser("list", help="all accounts")
        invite = ways.add_parser("invite", help="create an account and print its log-in link, once")
        role = ways.add_parser("role", help="change a role")
        deactivate = ways.add_parser("deactivate", help="deactivate at once, with links and API tokens")
        reactivate = ways.add_parser("reactivate", help="reactivate a deactivated account")
        sessions_parser = ways.add_parser("sessions", help="list the sessions of an account")
        log_out = ways.add_parser("log-out", help="end all sessions of an account; its user can log in again")
        log_out.add_argument("--links", action="store_true", help="delete unused log-in links, too")
        log_out.add_argument("--tokens", action="store_true", help="revoke API tokens, too")
        for subparser in (invite, role, deactivate, reactivate, sessions_parser, log_out):
            subparser.add_argument("name", metavar="NAME")
        for subparser in (invite, role):
            subparser.add_argument(
                "--role", choices=Role.values, required=subparser is role, default=Role.OPERATOR.value
            )

    def handle(self, *_args: Any, **options: Any) -> None:
        way, name = options["way"], options.get("name", "")
        if way == "list":
            self._list()
            return
        if way == "invite":
            self._invite(name, Role(options["role"]))
            return
        user = User.objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"there is no account {name!r}: `manage.py account list`")
        match way:
            case "role":
                people.change_role(user, Role(options["role"]))
            case "deactivate":
                people.deactivate(user)
            case "reactivate":
                people.reactivate(user)
            case "sessions":
                self._sessions(user)
            case "log-out":
                self._log_out(user, links=options["links"], tokens=options["tokens"])

    def _list(self) -> None:
        for user in User.objects.select_related("account").order_by("username"):
            state = "active" if user.is_active else "deactivated"
            state = "invited" if people.is_invited(user) else state
            self.stdout.write(f"{user.get_username()}: {role_of(user).label}, {state}")

    def _sessions(self, user: User) -> None:
        for row in sessions.sessions_of(user):
            since, last_use = (f"{at:%Y-%m-%d %H:%M} UTC" for at in (row.created, row.last_seen))
            self.stdout.write(
                f"{row.browser_name}, from {row.address or 'unknown'}, since {since}, last seen {last_use} "
                f"at {row.last_address or 'unknown'}"
            )

    def _log_out(self, user: User, *, links: bool, tokens: bool) -> None:
        ended = [f"sessions: {sessions.log_out(user)}"]
        ended += [f"links: {people.end_links(user)}"] if links else []
        ended += [f"tokens: {api_tokens.revoke_all_of(user)}"] if tokens else []
        self.stdout.write(f"{user.get_username()}: ended {', '.join(ended)}")

    def _invite(self, name: str, role: Role) -> None:
        form = InviteForm({"username": name, "role": role.value})
        if not form.is_valid():
            raise CommandError(" ".join(map(str, form.errors["username"])))
        _, token = people.invite(form.cleaned_data["username"], role)
        self.stdout.write(site_address() + people.link_path(token))
