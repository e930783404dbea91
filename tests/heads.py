"""The head of an exported table: comments that say who made it, from what, and how to cite it."""

from __future__ import annotations

from inference.formats.provenance import CITATION, PRODUCT


def behind_head(text: str) -> str:
    """The table alone, after making sure that its head names the product and how to cite it."""
    lines = text.splitlines(keepends=True)
    head = [line for line in lines if line.startswith("#")]
    assert head[0] == f"# made by: {PRODUCT}\n"
    assert f"# cite: {CITATION}\n" in head
    assert head == lines[: len(head)], "a comment in the middle of a table"
    return "".join(lines[len(head) :])
