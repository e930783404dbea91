"""`manage.py migrate`: Django's, in a data directory that is made where it is missing."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as Migrate

from inference.runs.data_directory import claim
from inference.runs.errors import NotPrivateError
from pmweb import new_database

_PARTLY = ("app_label", "migration_name", "fake", "plan", "check_unapplied", "prune")
"""Options with which not all migrations are carried out."""


class Command(Migrate):
    """Prepare the database; see the module."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Make the directory before anything, checks included, looks for the database there."""
        try:
            claim(settings.HOME)
        except NotPrivateError as error:
            raise CommandError(f"{error}.") from error
        except OSError as error:
            raise CommandError(
                f"the data directory {settings.HOME} cannot be used ({error.strerror}); "
                "let PMWEB_HOME name a directory that you can write to"
            ) from error
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        """Apply what is lacking; in an empty database all at once."""
        if not any(options[one] for one in _PARTLY) and new_database.is_empty(options["database"]):
            new_database.create_all(options["database"])
        super().handle(*args, **options)
