"""No page offers what the visitor may not use: every link and every form of every template is looked at.

A link or a form that needs more than reading must stand where its visitors may use it: in a condition of the
template (`{% if may_operate %}`), in a page that only they see, or in a part that only such places include.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.template import engines
from django.template.base import Node, TextNode
from django.template.defaulttags import IfNode, URLNode
from django.template.loader_tags import IncludeNode

from pmweb.accounts.roles import AccessLevel
from pmweb.permissions.table import TABLE

ROOT = Path(settings.BASE_DIR) / "templates"
FORM = re.compile(r'<form[^>]*method="post"(?![^>]*action="$)|<button[^>]* form="')
"""A form, but not where it goes to an address of the template: that is looked at as a link is."""
CONDITIONS = {
    "may_operate": AccessLevel.OPERATOR,
    "may_administer": AccessLevel.ADMIN,
    "user.is_authenticated": AccessLevel.MEMBER,
}
OPERATORS_PAGES = {
    "inference/core_model/new.html",
    "inference/core_model/ports.html",
    "inference/core_model/upload.html",
    "inference/block_sets/ask.html",
    "inference/column_accuracy/gate.html",
    "anica/coverage/new.html",
    "inference/block_files/upload.html",
    "anica/campaigns/new.html",
    "anica/matrices/new.html",
    "inference/engine/new.html",
    "anica/discoveries/ask.html",
    "anica/discoveries/ask_form.html",
    "inference/block_files/import.html",
    "inference/block_files/loops/listing.html",
    "inference/block_files/loops/program.html",
    "inference/block_files/loops/samples.html",
    "inference/findings/model_new.html",
    "inference/web/delete.html",
    "inference/web/edit.html",
    "inference/inferring/page.html",
    "inference/schemes/isa_load.html",
    "inference/machines/add.html",
    "inference/machines/connect.html",
    "inference/know/form.html",
    "inference/latencies/measure.html",
    "inference/measure/form.html",
    "inference/measure/page.html",
    "inference/resources/convert.html",
    "inference/sets/merge.html",
    "inference/uploads/upload.html",
    "inference/uploads/preview.html",
    "inference/uploads/reading.html",
    "inference/uploads/run.html",
    "pmweb/shares.html",
}
OWN_PAGES = {
    "pmweb/about.html",
    "pmweb/account.html",
    "pmweb/confirm.html",
    "pmweb/confirmed.html",
    "pmweb/password.html",
    "pmweb/session_table.html",
    "pmweb/sessions.html",
}
ADMINISTRATORS_PAGES = {
    "inference/predictors/add.html",
    "pmweb/account_invite.html",
    "pmweb/account_link.html",
    "pmweb/account_of.html",
    "pmweb/accounts.html",
    "pmweb/audit.html",
    "pmweb/storage.html",
}
ANYBODYS_FORMS = {"pmweb/login.html", "pmweb/login_link.html", "inference/loop/timeline.html"}


@dataclass(frozen=True)
class Offer:
    """Something in a template, and the level of those who are shown it as far as the template itself says."""

    template: str
    what: str
    needs: AccessLevel
    shown_to: AccessLevel


def templates() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.rglob("*.html"))


def nodes(node: Node, level: AccessLevel) -> Iterator[tuple[Node, AccessLevel]]:
    """The node and all below it, with the level that the conditions around each ask for."""
    yield node, level
    if isinstance(node, IfNode):
        for condition, inside in node.conditions_nodelists:
            deeper = max([level, *(_asks(condition))])
            for each in inside:
                yield from nodes(each, deeper)
        return
    for attribute in node.child_nodelists:
        for each in getattr(node, attribute, None) or ():
            yield from nodes(each, level)


def _asks(condition) -> list[AccessLevel]:
    """What a condition asks for: of several joined by `and`, any."""
    if condition is None:
        return []
    if getattr(condition, "id", "") == "and":
        return _asks(condition.first) + _asks(condition.second)
    return [CONDITIONS[text] for text in [str(getattr(condition, "text", ""))] if text in CONDITIONS]


def offers_and_includes() -> tuple[list[Offer], dict[str, list[tuple[str, AccessLevel]]]]:
    found: list[Offer] = []
    included: dict[str, list[tuple[str, AccessLevel]]] = {}
    for name in templates():
        template = engines["django"].get_template(name).template
        for top in template.nodelist:
            for node, level in nodes(top, AccessLevel.READER):
                if isinstance(node, URLNode) and (rule := TABLE.get(str(node.view_name.var))):
                    needed = rule.change if rule.read is None else rule.read
                    found.append(Offer(name, f"url {node.view_name.var}", needed, level))
                elif isinstance(node, TextNode) and FORM.search(node.s):
                    found.append(Offer(name, "a form", AccessLevel.OPERATOR, level))
                elif isinstance(node, IncludeNode):
                    part = str(node.template.var)
                    included.setdefault(part, []).append((name, level))
    return found, included


def level_of_template(name: str, included: dict[str, list[tuple[str, AccessLevel]]]) -> AccessLevel:
    """The lowest level of those who get to see it."""
    if name in ADMINISTRATORS_PAGES:
        return AccessLevel.ADMIN
    if name in OPERATORS_PAGES:
        return AccessLevel.OPERATOR
    if name in OWN_PAGES:
        return AccessLevel.MEMBER
    places = included.get(name, [])
    return min(
        (max(level, level_of_template(where, included)) for where, level in places),
        default=AccessLevel.READER,
    )


def test_no_template_offers_what_its_visitors_may_not_use():
    found, included = offers_and_includes()
    wrong = [
        f"{offer.template}: {offer.what} needs {offer.needs.name}"
        for offer in found
        if max(offer.shown_to, level_of_template(offer.template, included)) < offer.needs
        and not (offer.what == "a form" and offer.template in OWN_PAGES | ANYBODYS_FORMS)
    ]
    assert not wrong, "\n".join(wrong)
    assert len(found) > 100
