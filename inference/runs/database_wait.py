"""A worker that is started before the database is prepared waits for it: hosts start in any order."""

from __future__ import annotations

import logging
import time

from django.db import OperationalError, connection

from inference.models.schema import schema
from inference.runs.errors import NewerDatabaseError

logger = logging.getLogger(__name__)

_LOOK_EVERY = 2.0


def wait_for_database() -> None:
    """Returns when the database has the tables that this program works with; says once why it waits.

    Raises `NewerDatabaseError`.
    """
    told = ""
    while reason := _hindrance():
        if reason != told:
            logger.warning("waiting: %s", reason)
            told = reason
        time.sleep(_LOOK_EVERY)
    connection.close()


def _hindrance() -> str:
    try:
        found = schema()
    except OperationalError as error:
        connection.close()
        return f"the database does not answer: {error}"
    if found.unknown:
        raise NewerDatabaseError(
            f"the database was made by a newer version of pmweb (unknown here: {', '.join(found.unknown)}): "
            "get that version on this computer too"
        )
    return (
        "the database is not prepared: `manage.py up` or `manage.py serve` does that" if found.lacks else ""
    )
