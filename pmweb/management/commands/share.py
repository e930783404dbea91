"""`manage.py share`: links that show one result to people without an account."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.urls import reverse
from pydantic import ValidationError

from inference.features.publishing.site.request import item_named
from inference.formats.problems import ExchangeError
from inference.web.data_command import DataCommand
from inference.web.published_page import PublishedKind
from inference.web.validation import error_message, expected_value
from pmweb import sharing
from pmweb.accounts.people import ADMINISTRATOR, active_user
from pmweb.launcher.instance import site_address
from pmweb.models import SharedLink
from pmweb.sharing import DEFAULT_DAYS, MAX_DAYS, ShareRequest


class Command(DataCommand):
    help = "Create, list and revoke links that show one result to everyone who has them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        ways = parser.add_subparsers(dest="way", required=True)
        make = ways.add_parser("make", help="create a link and print it, once")
        make.add_argument("kind", choices=[kind.value for kind in PublishedKind])
        make.add_argument(
            "name", metavar="NAME", help="name of a mapping, core model, comparison run or campaign"
        )
        make.add_argument("--days", type=int, default=DEFAULT_DAYS, help=f"1 to {MAX_DAYS} ({DEFAULT_DAYS})")
        make.add_argument("--title", default="", help="shown instead of the result's name")
        make.add_argument("--text", default="", help="shown below the title")
        make.add_argument("--user", default=ADMINISTRATOR, help=f"owner of the link ({ADMINISTRATOR})")
        ways.add_parser("list", help="all links").add_argument("--json", action="store_true")
        ways.add_parser("revoke", help="revoke a link").add_argument(
            "id", type=int, metavar="ID", help="its number in the list"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        {"make": self._make, "list": self._list, "revoke": self._revoke}[options["way"]](options)

    def _make(self, options: dict[str, Any]) -> None:
        user = active_user(options["user"])
        try:
            item = item_named(PublishedKind(options["kind"]), options["name"])
            parameters = {name: options[name] for name in ("days", "title", "text")}
            _, token = sharing.share(user, ShareRequest.model_validate({"items": [str(item)], **parameters}))
        except ValidationError as error:
            first = error.errors()[0]
            message = f"--{first['loc'][0]}: {error_message(first)}; right would be {expected_value(first)}"
            raise CommandError(message) from error
        except (ExchangeError, ValueError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(site_address() + reverse("shared", "pmweb.sharing", [token]))

    def _list(self, options: dict[str, Any]) -> None:
        for link in sharing.listed_links(SharedLink.objects.all()):
            facts = {
                "id": link.row.pk,
                "item": link.row.item,
                "name": link.name,
                "user": link.row.user.get_username(),
                "state": link.matter or "valid",
                "expires": link.row.expires.isoformat(timespec="seconds"),
                "uses": link.row.uses,
            }
            words = "{id}: {item}, {name}, by {user}, {state}, until {expires}, opened {uses} times"
            self.stdout.write(json.dumps(facts) if options["json"] else words.format(**facts))

    def _revoke(self, options: dict[str, Any]) -> None:
        row = SharedLink.objects.filter(pk=options["id"]).first()
        if row is None:
            raise CommandError(f"there is no shared link {options['id']}: `manage.py share list`")
        sharing.revoke(row)
