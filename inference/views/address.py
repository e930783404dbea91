"""What a page reads from its address."""

from __future__ import annotations

from django.core.exceptions import BadRequest
from django.http import HttpRequest


def whole_number(request: HttpRequest, name: str, default: int | None = None) -> int | None:
    """Return the whole number under `name`, or the default; anything else is a bad request."""
    text = request.GET.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise BadRequest(f"{name} must be a whole number, not {text[:40]!r}")
    return int(text)


def one_of(request: HttpRequest, name: str, allowed: tuple[str, ...], default: str = "") -> str:
    """Return the value under `name` if it is one of `allowed`, `default` where there is none."""
    text = request.GET.get(name, "")
    if not text:
        return default
    if text not in allowed:
        raise BadRequest(f"{name} must be one of {', '.join(filter(None, allowed))}, not {text[:40]!r}")
    return text
