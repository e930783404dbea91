"""`manage.py api-token`: tokens by which programs act for a user."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError

from inference.web.data_command import DataCommand
from pmweb.accounts import api_tokens
from pmweb.accounts.people import ADMINISTRATOR, active_user
from pmweb.models import ApiToken, Scope


class Command(DataCommand):
    help = "Create, list and revoke the tokens by which programs use the HTTP API for a user."

    def add_arguments(self, parser: ArgumentParser) -> None:
        ways = parser.add_subparsers(dest="way", required=True)
        make = ways.add_parser("make", help="create a token and print it, once")
        make.add_argument("name", metavar="NAME", help="purpose of the token")
        make.add_argument("--user", default=ADMINISTRATOR, help=f"whom it acts for ({ADMINISTRATOR})")
        make.add_argument(
            "--scope", choices=Scope.values, default=Scope.READ.value, help="permissions (read)"
        )
        make.add_argument("--days", type=int, default=90, metavar="N", help="lifetime; 0: no expiry (90)")
        ways.add_parser("list", help="all tokens").add_argument("--json", action="store_true")
        ways.add_parser("revoke", help="make it invalid").add_argument(
            "id", type=int, metavar="ID", help="its number in the list"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        {"make": self._make, "list": self._list, "revoke": self._revoke}[options["way"]](options)

    def _make(self, options: dict[str, Any]) -> None:
        user = active_user(options["user"])
        if options["days"] < 0:
            raise CommandError(f"--days is {options['days']}; it must be at least 0")
        lifetime = timedelta(days=options["days"]) if options["days"] else None
        try:
            _, plain = api_tokens.issue(user, options["name"][:100], Scope(options["scope"]), lifetime)
        except ValueError as error:
            raise CommandError(f"{error}.") from error
        self.stdout.write(plain)

    def _list(self, options: dict[str, Any]) -> None:
        for token, matter in api_tokens.with_status(ApiToken.objects.select_related("user")):
            facts = {
                "id": token.pk,
                "user": token.user.get_username(),
                "name": token.name,
                "scope": token.scope,
                "state": matter or "valid",
                "expires": token.expires and token.expires.isoformat(timespec="seconds"),
                "last_used": token.last_used and token.last_used.isoformat(timespec="seconds"),
            }
            words = "{id}: {name}, {user}, {scope}, {state}, until {expires}, last used {last_used}"
            texts = {
                key: value or "never" if key == "last_used" else value or "no end"
                for key, value in facts.items()
            }
            self.stdout.write(json.dumps(facts) if options["json"] else words.format(**texts))

    def _revoke(self, options: dict[str, Any]) -> None:
        if not ApiToken.objects.filter(pk=options["id"]).exists():
            raise CommandError(f"there is no token {options['id']}: `manage.py api-token list`")
        api_tokens.revoke(ApiToken.objects.filter(pk=options["id"]))
