"""`manage.py changepassword`: Django's command, which also ends sessions, links and tokens."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.contrib.auth.models import User
from django.core.management.base import CommandParser

from pmweb.accounts import api_tokens, audit, people, sessions
from pmweb.accounts.audit import Action


class Command(changepassword.Command):
    """Asks for a password twice, sets it, and ends all sessions of the user."""

    help = "Set the password of an account and end its sessions."

    def add_arguments(self, parser: CommandParser) -> None:
        """Django's arguments, and the credentials to revoke."""
        super().add_arguments(parser)
        parser.add_argument("--end-links", action="store_true", help="delete unused log-in links, too")
        parser.add_argument("--end-tokens", action="store_true", help="revoke API tokens, too")

    def handle(self, *args: Any, **options: Any) -> str | None:
        """Set the password and end sessions. Raises `CommandError`."""
        output = super().handle(*args, **options)
        user = User.objects.get_by_natural_key(options["username"])
        audit.record(None, Action.ACCOUNTS, user, detail="password set in the shell")
        sessions.log_out(user)
        if options["end_links"]:
            people.end_links(user)
        if options["end_tokens"]:
            api_tokens.revoke_all_of(user)
        return output
