"""Strong words stand in one function: no page, answer, export or document says them by itself.

`proven`, `unique`, "explains everything", ticks and the like claim more of a result than a search can know.
All texts that people read are walked: templates, strings of the program, docstrings that become the API's
reference, scripts, styles and documents. What is allowed is listed with its reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
STRONG = re.compile(
    r"(?<!-)\b(?:prove[ns]?|proved|proofs?|proving|unique(?:ly)?|verified|certain(?:ty)?|certainly)\b(?!-)"
    r"|\bexplains? (?:everything|all)\b|^checked$|✓|✔",
    re.IGNORECASE,
)
LIKELY = re.compile(STRONG.pattern.replace("^checked$", r"checked|explain|\\[uUN]"), re.IGNORECASE)
"""What a source has that may have such a word among its strings, joined and with escapes read."""
ALLOWED: dict[str, tuple[str, ...]] = {
    # The function itself, and the values that stand for what a search saw before it is asked.
    "inference/core/judging/claims.py": ("proven", "unique", "checked"),
    "inference/core/cegar/problem.py": ("unique",),
    # Not about a core: which discoveries cover most blocks is computed, and the solver says if more could.
    "anica_app/features/campaigns/pages.py": ("proven",),
    "anica_app/features/campaigns/parts_api.py": ("proven",),
    "anica_app/features/coverage/job.py": ("proven",),
    "templates/anica/campaigns/compare.html": ("Unique",),  # discoveries that no other campaign includes
    "docs/core-model.md": ("certain",),  # addresses that overlap whatever registers hold
    "docs/faults.md": ("proven",),  # tests of the program
    "docs/operating.md": ("proof",),  # in a list of what pruning leaves
    "inference/isa/code/source.py": ("✓",),  # taken out of pasted text
    # Names within the program: keys of JSON, columns, templates, addresses.
    "inference/features/library/instruction/query.py": ("certainty",),
    "inference/features/library/mappings/schemes_tab.py": ("checked",),
    "inference/features/learning/explained/pages.py": ("proof",),
    "inference/features/learning/explained/proof_pages.py": ("proof",),
    # The words as they are explained, and the list of values in a reference.
    "docs/exploring.md": ("proven", "Proven", "unique"),
    "docs/shell.md": ("unique",),
    # Ticks for what was done or seen, not for what a result is worth.
    "templates/inference/front_end/front_end.html": ("✓",),
    "templates/inference/runs/steps.html": ("✓",),
    "templates/anica/discoveries/step.html": ("✓",),
    "templates/anica/discoveries/tree.html": ("✓",),
    "docs/discoveries.md": ("✓",),
    "static/js/run.js": ("✓",),
    "static/js/generalisation-drawing.js": ("✓",),
    "static/css/components.css": ("✓",),  # done, settled, saved; and `word-strong` of partials/word.html
    "static/css/loop-answer.css": ("✓",),  # `grounds.word` of a scheme
    "static/css/machines.css": ("✓",),
    "static/css/instruction.css": ("✓",),  # of the words that the function gave
}
TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
COMMENT = re.compile(r"\{% comment %\}.*?\{% endcomment %\}", re.DOTALL)
SHOWN = re.compile(r'>([^<]*)<|(?:title|aria-label|placeholder|alt|caption)="([^"]*)"')


def texts_of_program(path: Path) -> Iterator[str]:
    """Strings, and docstrings where they become the reference of the API."""
    source = path.read_text()
    if not LIKELY.search(source):
        return
    tree = ast.parse(source)
    silent = (
        set()
        if path.name.endswith("api.py")
        else {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.value


def texts_of_template(path: Path) -> Iterator[str]:
    """What stands between tags and in attributes that are read out, and captions that templates hand on."""
    text = COMMENT.sub("", path.read_text())
    yield from re.findall(r'caption="([^"]*)"', text)
    for pair in SHOWN.findall(TAG.sub(" ", text)):
        yield from (part.strip() for part in pair)


def texts_of_lines(path: Path) -> Iterator[str]:
    """Of a document without code and addresses, of a script or style as it is."""
    text = path.read_text()
    yield from (re.sub(r"\]\([^)]*\)", "]", text) if path.suffix == ".md" else text).splitlines()


def sources() -> Iterator[tuple[Path, Iterator[str]]]:
    for room in ("inference", "anica_app", "pmweb"):
        for path in sorted((ROOT / room).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path, texts_of_program(path)
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield path, texts_of_template(path)
    for pattern in ("static/js/*.js", "static/css/*.css", "docs/*.md", "README.md"):
        for path in sorted(ROOT.glob(pattern)):
            yield path, texts_of_lines(path)


@cache
def strong_words() -> list[tuple[str, str, str]]:
    """(file, word, text) of every strong word."""
    return [
        (path.relative_to(ROOT).as_posix(), match.group(), text.strip()[:160])
        for path, texts in sources()
        for text in texts
        for match in STRONG.finditer(text)
    ]


def test_strong_words_stand_in_one_function() -> None:
    found = [said for said in strong_words() if said[1] not in ALLOWED.get(said[0], ())]
    assert not found, "\n".join(f"{name}: {word!r} in {text!r}" for name, word, text in found)


def test_each_exception_is_needed() -> None:
    used = {(name, word) for name, word, _ in strong_words()}
    listed = {(name, word) for name, words in ALLOWED.items() for word in words}
    assert not listed - used, f"not needed any more: {sorted(listed - used)}"


@pytest.mark.parametrize(
    "text", ["This mapping is proven.", "Unique: no other", "It explains everything", "✓ fits", "checked"]
)
def test_the_walk_finds_such_a_word(text: str) -> None:
    assert STRONG.search(text)


@pytest.mark.parametrize("text", ["with its provenance", "is checked by a run", "scheme-proof"])
def test_the_walk_passes_over_others(text: str) -> None:
    assert not STRONG.search(text)
