"""Template tags and filters of all pages (a builtin library, see `settings.TEMPLATES`)."""

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

from inference.core.judging.accuracy import scores_judgement
from inference.core.mapping import Uops, ports_in
from inference.core.metrics import Scores
from inference.core.run_times import TimeRange
from inference.core.texts import count_of
from inference.figures import colours
from inference.formats import quoting
from inference.isa.targets import DEFAULT
from inference.models import ISA, Evaluation, ExperimentSet, PortMapping, ResourceMapping
from inference.predictors.protocol import RAW_TEXT
from inference.runs.kinds import label_of
from inference.storage.evaluations import judgement_of
from inference.storage.instruction_sets import code_isa
from inference.storage.names import machine_label
from inference.web.published_page import ProperName

register = template.Library()

NAVIGATION = (
    ("loop", "Explain"),
    ("isas", "Instructions"),
    ("machines", "Machines"),
    ("mappings", "Mappings"),
    ("campaigns", "Campaigns"),
    ("block-sets", "Blocks"),
    ("sets", "Experiments"),
    ("runs", "Runs"),
)
"""(URL name, label); the URL name is also the value of the block `nav_current`."""

OPERATORS_NAVIGATION = (("infer", "Infer"),)
"""Entries after `NAVIGATION` for users who may start runs."""

UNKNOWN = "–"
MINUS = "\N{MINUS SIGN}"
R_MAX = mark_safe("R<sub>max</sub>")
MAX_ALIGNED_PORTS = 16  # more ports would take the whole width of a table
COLOURS = len(colours.LIGHT)  # port colours repeat after these
_ACCESS = re.compile(r"^(?P<what>.*?)(?P<width>\[[^][]*\])?(?P<access>:[A-Za-z]+)?$")


@register.filter
def ticked(text: str) -> SafeString:
    """Return the text with the parts between backticks as code."""
    parts = text.split("`")
    return format_html_join(
        "",
        "{}",
        ((format_html("<code>{}</code>", part) if at % 2 else part,) for at, part in enumerate(parts)),
    )


register.filter("kind_label", label_of)
register.filter("machine", machine_label)
register.filter("shell_word", quoting.shell_word)


@register.simple_block_tag(takes_context=True)
def main_nav(context: template.Context, content: str) -> SafeString:
    """Return the top bar; the tag's content is the URL name of the current entry."""
    assert context.template is not None, "the top bar is part of a page"
    topbar = context.template.engine.get_template("partials/topbar.html")
    with context.push(items=_navigation(bool(context.get("may_operate"))), current=content.strip()):
        return topbar.render(context)


@lru_cache
def _navigation(may_operate: bool) -> list[dict[str, str]]:
    entries = NAVIGATION + OPERATORS_NAVIGATION if may_operate else NAVIGATION
    return [{"key": key, "url": reverse(key), "label": label} for key, label in entries]


@register.simple_tag
@lru_cache(maxsize=256)  # a page has dozens of icons
def icon(name: str) -> SafeString:
    """Return an icon of the sprite, hidden from screen readers: a text of the same meaning is beside it."""
    return format_html(
        '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><use href="{}#{}"></use></svg>',
        static("icons.svg"),
        name,
    )


@register.simple_tag
def block_url(code: bytes | str, isa: ISA | str | None) -> str:
    """Return the address of the explanation of a block, as bytes or digits; `isa`: None for the default."""
    digits = code if isinstance(code, str) else bytes(code).hex()
    return f"{reverse('loop')}?{urlencode({'isa': isa_of(isa), 'code': digits})}"


def isa_of(isa: ISA | str | None) -> str:
    """The name of the instruction set of machine code."""
    return isa or DEFAULT if isinstance(isa, str) else code_isa(isa)


@register.inclusion_tag("partials/sort_header.html", takes_context=True)
def sort_header(
    context: template.Context, key: str, label: str, css: str = "", *, unit: str = ""
) -> dict[str, object]:
    """Return a column head that sorts by `key`; a second click reverses the order.

    `unit` is added to the label. The context's `sort` is the current key, with a leading "-" for descending.
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
    value: Any = "",
    *,
    none: str | None = None,
    submits: bool = False,
    field_id: str = "",
) -> dict[str, object]:
    """Return a labelled select field.

    `options` are rows (id and name), (value, label) pairs, or values. `none` is the label of an empty option,
    None for no such option. With `submits`, a choice sends the form.
    """
    return {
        "name": name,
        "label": label,
        "options": [_option(option) for option in options],
        "chosen": getattr(value, "pk", value),
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
    """Return µops as `2× [0][1] + 1× [5]`, with port names on their colours.

    With `aligned` every port has a fixed position, so that a table's equal ports are below each other.
    """
    if aligned and len(ports) <= MAX_ALIGNED_PORTS:
        placed = [
            (count, [(index % COLOURS, name, mask >> index & 1) for index, name in enumerate(ports)])
            for mask, count in pairs
        ]
        return {"aligned": placed, "uops": placed}
    named = [(count, [(index % COLOURS, ports[index]) for index in ports_in(mask)]) for mask, count in pairs]
    return {"uops": named}


@register.inclusion_tag("partials/verdict.html")
def verdict(judged: object, noun: str = "experiments", *, brief: bool = True) -> dict[str, object]:
    """How good a number is, as a word with its reasons in its title; with `brief=False` as a sentence.

    Args:
        judged: A judgement, an evaluation or scores; nothing is shown for None and for scores of nothing.
        noun: The measured items, in the plural.
        brief: Show the word alone.
    """
    if isinstance(judged, dict):
        scores = {name: judged.get(name) for name in ("mape", "pearson", "kendall")}
        judged = Scores(judged.get("n") or 0, **scores)
    if isinstance(judged, Evaluation):
        judged = judgement_of(judged)
    elif isinstance(judged, Scores):
        judged = scores_judgement(judged, noun) if judged.n else None
    return {"judgement": judged, "brief": brief}


_INSTALLING = re.compile(  # bounded: a sentence of this program about a tool
    r"\b(?:(?:apt|pipx|pip) install|git clone|make) .+?(?=,? or |, |; |\)|$)"
)


@register.inclusion_tag("partials/missing.html")
def missing(reason: str, field: str) -> dict[str, object]:
    """Return why a tool is missing, with the command that installs it to copy; `field`: a unique id."""
    command = _INSTALLING.search(reason)
    return {"text": reason, "command": command[0] if command else "", "field": field}


@register.filter
def with_message(detail: str) -> SafeString | str:
    """Return why a tool failed; what the tool printed itself is folded behind the sentence."""
    sentence, separator, message = detail.partition(RAW_TEXT)
    folded = '{}<details class="more small"><summary>Its message</summary><code>{}</code></details>'
    return format_html(folded, sentence, message) if separator else detail


@register.filter
def portcolour(index: int) -> int:
    """Return the index of a port's colour in the palette."""
    return index % COLOURS


@register.filter
def number(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


@register.filter
def decimals(value: float | None, places: int = 2) -> str:
    """3.14159|decimals:3 → 3.142, -0.001 → 0.00; a dash for unknown and non-finite numbers."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:z,.{places}f}".replace("-", MINUS)


@register.filter
def load(cycles: float) -> str:
    """Cycles of a resource without idle zeros: 0.3333333 → 0.333, 2.0 → 2."""
    return f"{cycles:.0f}" if cycles >= 1000 else f"{cycles:.3g}"


@register.filter
def change(value: float | None, places: int = 1) -> str:
    """Return a signed percentage of a value in per cent: 3.21|change → +3.2 %, -3|change:0 → −3 %."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    rounded = round(value, places)
    sign = "+" if rounded > 0 else MINUS if rounded < 0 else ""
    return f"{sign}{abs(rounded):,.{places}f}\N{NO-BREAK SPACE}%"


@register.filter(is_safe=True)
def capfirst(text: object) -> str:
    """Return a text with a capital first letter; µ stays: its capital looks like M."""
    words = str(text)
    return words if words.startswith("µ") or isinstance(text, ProperName) else words[:1].upper() + words[1:]


@register.filter
def subscript(text: str) -> SafeString:
    """Return a text with its R_max as R with a subscript."""
    return format_html_join(R_MAX, "{}", ((part,) for part in str(text).split("R_max")))


@register.filter
def provenance(row: ExperimentSet | PortMapping | ResourceMapping) -> str:
    """Return origin and source of a set or mapping; only the source if that names the origin."""
    origin = row.get_origin_display()
    text = row.source if row.source.startswith(origin) else " · ".join(filter(None, (origin, row.source)))
    return text[:1].upper() + text[1:]


@register.filter
def percent(value: float | None) -> str:
    """9.5512 → 9.55 %; the value is in per cent."""
    return UNKNOWN if value is None else f"{value:.2f}\N{NO-BREAK SPACE}%"


@register.filter
def share(value: float | None, places: int = 1) -> str:
    """A fraction of 1 in per cent: 0.0955 → 9.6 %, 0.934|share:2 → 93.40 %."""
    return UNKNOWN if value is None else f"{100 * value:.{places}f}\N{NO-BREAK SPACE}%"


@register.filter
def size(count: int) -> str:
    """A number of bytes: 67108864 → 64 MiB, 1536 → 1.5 KiB, 300 → 300 bytes."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{round(count / unit, 1):g} {name}"
    return count_of(count, "byte")


_IN_SCRIPTS = {"<": "\\u003C", ">": "\\u003E", "&": "\\u0026"}


@register.filter(is_safe=True)
def json_script(value: object, element_id: str) -> SafeString:
    """Django's filter of this name without spaces, in a third of the time: charts have much data."""
    text = json.dumps(value, cls=DjangoJSONEncoder, separators=(",", ":"))
    for character, escape in _IN_SCRIPTS.items():
        text = text.replace(character, escape)
    script = '<script id="{}" type="application/json">{}</script>'
    return format_html(script, element_id, mark_safe(text))  # noqa: S308  no text can close the element


@register.filter
def duration(seconds: float | None) -> str:
    """75.2 → 1 min 15 s."""
    if seconds is None:
        return UNKNOWN
    total = round(seconds)
    if total < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60:02d} s"
    return f"{total // 3600} h {total % 3600 // 60:02d} min"


@register.filter
def about(seconds: float | None) -> str:
    """A duration that is estimated, as precise as an estimate is: 73 → 1 min 15 s, 1000 → 17 min."""
    if seconds is None:
        return UNKNOWN
    if seconds < 7.5:
        return "a few seconds"
    if 150 <= seconds < 3570:
        return f"{round(seconds / 60)} min"
    step = 5 if seconds < 60 else 15 if seconds < 150 else 300
    return duration(step * round(seconds / step))


@register.filter
def about_range(span: TimeRange) -> str:
    """The ends of an estimate: "8 to 14 min"; "" where they look alike."""
    lowest, highest = about(span.least), about(span.most)
    if lowest == highest:
        return ""
    number, _, unit = lowest.partition(" ")
    return f"{number if highest.endswith(f' {unit}') and highest.count(' ') == 1 else lowest} to {highest}"


@register.filter
def pace(per_second: float | None, unit: str = "") -> str:
    """A rate as "80 blocks per second" or "12 s per block"; without a unit "80/s" or "12 s each"."""
    if not per_second:
        return UNKNOWN
    if per_second < 1:
        return f"{duration(1 / per_second)} {f'per {unit}' if unit else 'each'}"
    rate = f"{float(f'{per_second:.3g}'):,g}"
    return f"{rate}{f' {unit}s per second' if unit else '/s'}"


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
        return f"{count_of(round(seconds / 86400), 'day')} ago"
    return f"{moment:%Y-%m-%d}"


@register.filter
@lru_cache(maxsize=20_000)  # pages show hundreds of schemes, and mostly the same ones
def scheme(text: str) -> SafeString:
    """Return `add GPR[64]:RW, GPR[64]:R` with mnemonic, operands, widths and accesses marked up."""
    mnemonic, _, operand_text = text.partition(" ")
    operands = format_html_join(", ", "{}", ((_operand(part),) for part in operand_text.split(", ") if part))
    return format_html('<code class="scheme"><b>{}</b> {}</code>', mnemonic, operands)


def _operand(text: str) -> SafeString:
    match = _ACCESS.match(text)
    parts = match.groupdict("") if match else {"what": text, "width": "", "access": ""}
    return format_html("{}<i>{}{}</i>", parts["what"], parts["width"], parts["access"])
