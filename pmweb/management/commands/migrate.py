"""`manage.py migrate`: Django's command, which also creates the data directory."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as Migrate
from django.db import connections

from inference.runs.data_directory import make_private
from inference.runs.errors import NotPrivateError
from pmweb.launcher.prepare import create_tables

_PARTLY = ("app_label", "migration_name", "fake", "plan", "check_unapplied", "prune")
"""Options with which only some migrations are applied, or none."""


class Command(Migrate):
    """Creates the tables of an empty database directly, without applying migrations one by one."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Create the directory before Django's checks look for the database."""
        try:
            make_private(settings.HOME)
        except NotPrivateError as error:
            raise CommandError(f"{error}.") from error
        except OSError as error:
            raise CommandError(
                f"the data directory {settings.HOME} cannot be used ({error.strerror}); "
                "let PMWEB_HOME name a directory that you can write to"
            ) from error
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        """Apply missing migrations; in an empty database create the final tables."""
        alias = options["database"]
        is_empty = not connections[alias].introspection.table_names()
        if is_empty and not any(options[option] for option in _PARTLY):
            with create_tables(alias):
                pass
        super().handle(*args, **options)
