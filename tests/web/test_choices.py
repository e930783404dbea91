"""Fields in which one of several rows or values is chosen are written by one tag."""

from __future__ import annotations

import re
from pathlib import Path

from django.conf import settings

CHOICE_BY_HAND = re.compile(
    r'<div class="field">\s*<label for="([\w-]+)">[^<{]*</label>\s*'
    r'<select id="\1" name="[\w-]+"(?: data-submits)?>(?:<option value="">[^<{]*</option>)?'
    r'\{% for (\w+)(?:, (\w+))? in [\w.]+ %\}<option value="\{\{ \2(?:\.pk)? \}\}"'
    r"(?:\{% if \2(?:\.pk)? == [\w.]+ %\} selected\{% endif %\})?>\{\{ (?:\2(?:\.name)?|\3) \}\}</option>"
    r"\{% endfor %\}</select>\s*</div>"
)
NOT_YET = {"evaluations"}
"""Pages of the comparison engine's features, which are rebuilt."""


def test_no_template_writes_a_choice_by_hand() -> None:
    templates = Path(settings.BASE_DIR) / "templates"
    by_hand = {
        str(file.relative_to(templates))
        for file in templates.rglob("*.html")
        if file.parent.name not in NOT_YET and CHOICE_BY_HAND.search(file.read_text())
    }
    assert by_hand == set()
