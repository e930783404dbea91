"""Template tags and filters that every page may use (a template builtin, see settings.TEMPLATES)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from django import template
from django.core.serializers.json import DjangoJSONEncoder
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString, mark_safe

from inference.core.mapping import Uops, ports_in
from inference.figures import colours
from inference.formats import quoting
from inference.isa.targets import DEFAULT
from inference.models import ISA, ExperimentSet, PortMapping, ResourceMapping
from inference.runs.kinds import label_of
from inference.storage.instruction_sets import code_isa

register = template.Library()

NAVIGATION = (
    ("runs", "Runs"),
    ("mappings", "Port mappings"),
    ("campaigns", "Campaigns"),
    ("block-sets", "Blocks"),
    ("sets", "Experiment sets"),
    ("machines", "Machines"),
    ("isas", "ISAs"),
)
"""(URL name, which is also the value of the `nav_current` block; label)"""

OPERATORS_NAVIGATION = (("infer", "Infer"),)
"""What comes before them for those who may start something."""

UNKNOWN = "–"
MINUS = "\N{MINUS SIGN}"
R_MAX = mark_safe("R<sub>max</sub>")
MOST_ALIGNED = 16  # ports: more would leave a table no room for anything else
COLOURS = len(colours.LIGHT)  # the palette starts again after them
_ACCESS = re.compile(r"^(?P<what>.*?)(?P<width>\[[^][]*\])?(?P<access>:[A-Za-z]+)?$")


@register.filter
def kind_label(kind: str) -> str:
    """Return what runs of a kind are called."""
    return label_of(kind)


@register.simple_block_tag(takes_context=True)
def main_nav(context: template.Context, content: str) -> SafeString:
    """Return the top bar; the content of the tag names the page family that is open."""
    assert context.template is not None, "the top bar is part of a page"
    topbar = context.template.engine.get_template("partials/topbar.html")
    with context.push(items=_navigation(bool(context.get("may_operate"))), current=content.strip()):
        return topbar.render(context)


@lru_cache
def _navigation(may_operate: bool) -> list[dict[str, str]]:
    shown = OPERATORS_NAVIGATION + NAVIGATION if may_operate else NAVIGATION
    return [{"key": key, "url": reverse(key), "label": label} for key, label in shown]


@register.simple_tag
@lru_cache(maxsize=256)  # a page has dozens
def icon(name: str) -> SafeString:
    """Return an icon of the sprite, hidden from screen readers: the text beside it says the same."""
    return format_html(
        '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><use href="{}#{}"></use></svg>',
        static("icons.svg"),
        name,
    )


@register.simple_tag
def block_url(code: bytes | str, isa: ISA | str | None) -> str:
    """Return the address of a block's page; `code`: its machine code or the digits of that.

    `isa`: the instruction set, or its row, which is None where none is loaded.
    """
    digits = code if isinstance(code, str) else bytes(code).hex()
    return f"{reverse('blocks')}?{urlencode({'isa': isa_of(isa), 'code': digits})}"


def isa_of(isa: ISA | str | None) -> str:
    """The instruction set of machine code, by its name or by a row."""
    return isa or DEFAULT if isinstance(isa, str) else code_isa(isa)


@register.inclusion_tag("partials/sort_header.html", takes_context=True)
def sort_header(
    context: template.Context, key: str, label: str, css: str = "", *, unit: str = ""
) -> dict[str, object]:
    """Return a column head that sorts by `key`; a second press turns the order round.

    `unit`: of the numbers below it, behind a label that comes from elsewhere. Reads `sort` from the page's
    context: the key in use, with a leading "-" for descending.
    """
    current = str(context.get("sort", ""))
    ascending = current == key
    return {
        "request": context["request"],
        "label": f"{label}, {unit}" if unit else label,
        "css": css,
        "target": f"-{key}" if ascending else key,
        "order": "ascending" if ascending else "descending" if current == f"-{key}" else "",
    }


@register.inclusion_tag("partials/choice.html")
def choice(
    name: str,
    label: str,
    options: Iterable[Any],
    chosen: Any = "",
    *,
    none: str | None = None,
    submits: bool = False,
    field_id: str = "",
) -> dict[str, object]:
    """Return a labelled field in which one of the `options` is chosen.

    `options`: rows, whose numbers and names these are; values with their labels; or values alone. `none`:
    what stands for no choice, where there may be none. `submits`: a choice sends the form.
    """
    return {
        "name": name,
        "label": label,
        "options": [_option(option) for option in options],
        "chosen": getattr(chosen, "pk", chosen),
        "none": none,
        "submits": submits,
        "field_id": field_id or name,
    }


def _option(option: Any) -> tuple[object, object]:
    if hasattr(option, "pk"):
        return option.pk, option.name
    return option if isinstance(option, tuple) else (option, option)


@register.inclusion_tag("partials/uops.html")
def uops(pairs: Uops, ports: Sequence[str], *, aligned: bool = False) -> dict[str, object]:
    """Return µops as `2× [0][1] + 1× [5]`, each port's name on its colour.

    `aligned`: each port has its place, so that in a table equal ports stand below each other.
    """
    if aligned and len(ports) <= MOST_ALIGNED:
        placed = [
            (count, [(index % COLOURS, name, mask >> index & 1) for index, name in enumerate(ports)])
            for mask, count in pairs
        ]
        return {"aligned": placed, "uops": placed}
    named = [(count, [(index % COLOURS, ports[index]) for index in ports_in(mask)]) for mask, count in pairs]
    return {"uops": named}


@register.inclusion_tag("partials/uop_lanes.html")
def uop_lanes(pairs: Uops, ports: Sequence[str]) -> dict[str, object]:
    """Return µops as lines in which every port has its place, whether it is used or not."""
    lanes = [
        (count, [(index % COLOURS, name, bool(mask >> index & 1)) for index, name in enumerate(ports)])
        for mask, count in pairs
    ]
    return {"lanes": lanes, "wide": any(len(name) > 2 for name in ports)}


@register.filter
def shell_word(text: str) -> str:
    """Return a text as one word of a command line that people copy from the page."""
    return quoting.shell_word(text)


@register.filter
def portcolour(index: int) -> int:
    """Return the number of a port's colour: the palette starts again after its last."""
    return index % COLOURS


@register.filter
def number(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


@register.filter
def decimals(value: float | None, places: int = 2) -> str:
    """3.14159|decimals:3 → 3.142; unknown and non-finite numbers are a dash."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:,.{places}f}".replace("-", MINUS)


@register.filter
def load(cycles: float) -> str:
    """Cycles of a resource without idle zeros: 0.3333333 → 0.333, 2.0 → 2."""
    return f"{cycles:.0f}" if cycles >= 1000 else f"{cycles:.3g}"


@register.filter
def change(value: float | None, places: int = 1) -> str:
    """Return a signed share: 3.21|change → +3.2 %, -3|change:0 → −3 %, the value being per cent already."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    shown = round(value, places)
    sign = "+" if shown > 0 else MINUS if shown < 0 else ""
    return f"{sign}{abs(shown):,.{places}f}\N{NO-BREAK SPACE}%"


@register.filter
def subscript(text: str) -> SafeString:
    """Return a text with its R_max as R with a subscript."""
    return format_html_join(R_MAX, "{}", ((part,) for part in str(text).split("R_max")))


@register.filter
def provenance(row: ExperimentSet | PortMapping | ResourceMapping) -> str:
    """Return where a set or mapping comes from: its origin and its source, or the latter if it says both."""
    origin = row.get_origin_display()
    told = row.source if row.source.startswith(origin) else " · ".join(filter(None, (origin, row.source)))
    return told[:1].upper() + told[1:]


@register.filter
def percent(value: float | None) -> str:
    """9.5512 → 9.55 %, the value being per cent already."""
    return UNKNOWN if value is None else f"{value:.2f}\N{NO-BREAK SPACE}%"


@register.filter
def share(value: float | None) -> str:
    """0.0955 → 9.6 %, the value being a part of 1."""
    return UNKNOWN if value is None else f"{100 * value:.1f}\N{NO-BREAK SPACE}%"


@register.filter
def size(count: int) -> str:
    """A number of bytes: 67108864 → 64 MiB, 1536 → 1.5 KiB, 300 → 300 bytes."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{round(count / unit, 1):g} {name}"
    return f"{count} byte{'' if count == 1 else 's'}"


_IN_SCRIPTS = {"<": "\\u003C", ">": "\\u003E", "&": "\\u0026"}


@register.filter(is_safe=True)
def json_script(value: object, element_id: str) -> SafeString:
    """Django's filter of this name, in a third of the time and without spaces: pictures are large."""
    text = json.dumps(value, cls=DjangoJSONEncoder, separators=(",", ":"))
    for sign, instead in _IN_SCRIPTS.items():
        text = text.replace(sign, instead)
    script = '<script id="{}" type="application/json">{}</script>'
    return format_html(script, element_id, mark_safe(text))  # noqa: S308  nothing ends the script


@register.filter
def duration(seconds: float | None) -> str:
    """75.2 → 1 min 15 s."""
    if seconds is None:
        return UNKNOWN
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


@register.filter
def pace(per_second: float | None, unit: str = "") -> str:
    """As people say it: "80 blocks per second", "12 s per block"; without a unit "80/s", "12 s each"."""
    if not per_second:
        return UNKNOWN
    if per_second < 1:
        return f"{duration(1 / per_second)} {f'per {unit}' if unit else 'each'}"
    shown = f"{float(f'{per_second:.3g}'):,g}"
    return f"{shown}{f' {unit}s per second' if unit else '/s'}"


@register.filter
def ago(moment: datetime | None) -> SafeString | str:
    """Return a moment as a `<time>` element that reads "3 min ago" and carries the full date."""
    if moment is None:
        return UNKNOWN
    local = timezone.localtime(moment)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        f"{local:%Y-%m-%d %H:%M:%S %Z}",
        _distance((timezone.now() - moment).total_seconds(), local),
    )


def _distance(seconds: float, moment: datetime) -> str:
    if seconds < 45:
        return "just now"
    if seconds < 3600:
        return f"{max(1, round(seconds / 60))} min ago"
    if seconds < 86400:
        return f"{round(seconds / 3600)} h ago"
    if seconds < 14 * 86400:
        days = round(seconds / 86400)
        return f"{days} day{'' if days == 1 else 's'} ago"
    return f"{moment:%Y-%m-%d}"


@register.filter
@lru_cache(maxsize=20_000)  # a page shows hundreds, and the next page the same
def scheme(text: str) -> SafeString:
    """Return `add GPR[64]:RW, GPR[64]:R` with mnemonic, operands, widths and accesses told apart."""
    mnemonic, _, rest = text.partition(" ")
    operands = format_html_join(", ", "{}", ((_operand(part),) for part in rest.split(", ") if part))
    return format_html('<code class="scheme"><b>{}</b> {}</code>', mnemonic, operands)


def _operand(text: str) -> SafeString:
    found = _ACCESS.match(text)
    parts = found.groupdict("") if found else {"what": text, "width": "", "access": ""}
    return format_html("{}<i>{}{}</i>", parts["what"], parts["width"], parts["access"])
