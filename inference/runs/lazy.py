"""What a feature is registered for, imported when it is called: most processes never need most of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.utils.module_loading import import_string


def lazy(package: str, name: str) -> Callable[..., Any]:
    """The function or class of a package, by its module and its name there: `lazy(__name__, "pages.tab")`."""
    return partial(_call, f"{package}.{name}")


def _call(path: str, *args: Any, **named: Any) -> Any:
    return import_string(path)(*args, **named)
