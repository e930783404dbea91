"""Commands as the person at the terminal can type them."""

from __future__ import annotations

import shlex
import sys

from django.conf import settings

MANAGE = settings.BASE_DIR / "manage.py"


def typed(*arguments: str) -> str:
    """A `manage.py` command under this very Python, with full paths.

    Those hold in every directory: after `make -C` the user's is not that of the program.
    """
    return shlex.join([sys.executable, str(MANAGE), *arguments])
