"""The template tags for a page's help and the product's line (a template builtin, see settings.TEMPLATES)."""

from __future__ import annotations

from typing import Any

from django import template
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from inference.formats.provenance import CITATION, PRODUCT
from pmweb.help.texts import page_helps

register = template.Library()


@register.simple_tag
def product_line() -> SafeString:
    """Name and version of the product, with how to cite it for files that scripts make."""
    return format_html(
        '<span data-product="{0}" data-citation="{1}" title="{1}">{0}</span>', PRODUCT, CITATION
    )


@register.inclusion_tag("partials/page_help.html", takes_context=True)
def page_help(context: template.Context) -> dict[str, Any]:
    """What the page of this request is and what its visitor can do there; nothing where it has no help."""
    request: HttpRequest | None = context.get("request")
    match = None if request is None else request.resolver_match
    texts = None if match is None else page_helps().get(match.url_name or "")
    if texts is None:
        return {}
    can = texts.can + (texts.operators if context.get("may_operate") else [])
    return {"what": texts.what, "can": can, "may_read": context.get("may_read")}
