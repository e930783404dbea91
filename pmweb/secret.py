"""The secret key: generated once per installation, readable by its owner alone, never in the repository."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from inference.runs.data_directory import claim
from inference.runs.errors import NotPrivateError


def load_secret_key(home: Path) -> str:
    """The key in `home/secret-key`, made on first use; safe when two processes start at once.

    Raises ImproperlyConfigured where the directory cannot be used.
    """
    try:
        return _read_or_make(home)
    except NotPrivateError as error:
        raise ImproperlyConfigured(str(error)) from error
    except OSError as error:
        raise ImproperlyConfigured(
            f"the data directory {home} cannot be used ({error.strerror}); "
            "let PMWEB_HOME name a directory that you can write to"
        ) from error


def _read_or_make(home: Path) -> str:
    path = home / "secret-key"
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        claim(home)
    draft = home / f"secret-key.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as handle:
        handle.write(secrets.token_urlsafe(50))
        handle.flush()
        os.fsync(descriptor)  # what has the name is a whole key, also after a power failure
    try:
        os.link(draft, path)  # fails if the other process was first: then its key counts
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text().strip()
