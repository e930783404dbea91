"""How soon the page *Explain a loop* answers after the last key, in Chromium.

A key changes a loop of 20 instructions, on a site at rest without a profiled CPU, so that the recorded one
answers. `answer`: milliseconds until verdict, tables and graph are there; `timeline`: until it is drawn as
well. Both are 95th percentiles, beside the limits, and include the page's own wait for another key. Wall
time, because that is what the user waits: meant for a quiet machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from time import monotonic

from playwright.sync_api import Page

from benchmarks import Result
from benchmarks._measured import percentile
from benchmarks._site_pages import administrators_page
from benchmarks._sites import temporary_database
from inference.core.simulation.steady_state import compile_simulation
from pmweb.accounts.people import ensure_administrator

ANSWER_MILLISECONDS, TIMELINE_MILLISECONDS = 300.0, 500.0
_KEYS, _QUICK_KEYS = 60, 5
_WARM_UP_KEYS = 3  # not counted: the first answers load code
_PAUSE_MILLISECONDS = 300  # between a drawn answer and the next key
_ANSWER_SECONDS = 30.0  # after which an answer counts as missing
_HEIGHT = 4000
"""Pixels of a window with the whole page: a timeline is drawn when it comes into sight."""

_STEP = """\
    mov r8, qword ptr [rsi+{0}]
    imul r8, rdx
    add {1}, r8
    vaddsd xmm{2}, xmm{2}, qword ptr [rsi+{0}]
"""
CODE = (
    ".L2:\n"
    + "".join(_STEP.format(8 * n, register, n) for n, register in enumerate(("rax", "rcx", "r9", "r10")))
    + "    add rsi, 32\n    add r11, 1\n    cmp rsi, rdi\n    jne .L2    # "
)

_WATCH = """() => {
  const times = window.benchmark = { key: 0, answered: 0, drawn: 0 };
  const press = () => Object.assign(times, { key: performance.now(), answered: 0, drawn: 0 });
  document.addEventListener("keydown", press, true);
  const drawn = () => {
    const frame = document.querySelector(".timeline-frame");
    if (frame && !frame.hasAttribute("data-pending")) times.drawn = performance.now();
    else requestAnimationFrame(drawn);
  };
  document.addEventListener("loop-answered", () => {
    times.answered = performance.now();
    requestAnimationFrame(drawn);
  });
}"""


def run(quick: bool) -> Iterator[Result]:
    """Both cases; `quick` presses a few keys."""
    with temporary_database() as home:
        ensure_administrator()
        compile_simulation()
        with administrators_page(home) as page:
            times = _times(page, _QUICK_KEYS if quick else _KEYS)
    for case, limit, values in (
        ("answer", ANSWER_MILLISECONDS, [answered for answered, _ in times]),
        ("timeline", TIMELINE_MILLISECONDS, [timeline for _, timeline in times]),
    ):
        more = {"p50": round(statistics.median(values)), "worst": round(max(values)), "keys": len(values)}
        yield Result(case, round(percentile(values, 0.95)), "ms", limit, more)


def _times(page: Page, keys: int) -> list[tuple[float, float]]:
    """Milliseconds after each key until the answer and the timeline are there."""
    page.set_viewport_size({"width": 1360, "height": _HEIGHT})
    page.goto("/loop/")
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(CODE)
    page.wait_for_timeout(2000)
    page.keyboard.press("Control+End")
    page.evaluate(_WATCH)
    times = [_time_of_key(page, str(number % 10)) for number in range(_WARM_UP_KEYS + keys)]
    return times[_WARM_UP_KEYS:]


def _time_of_key(page: Page, key: str) -> tuple[float, float]:
    """Milliseconds from a key to the answer, and to the drawn timeline."""
    page.keyboard.press(key)
    deadline = monotonic() + _ANSWER_SECONDS
    while not (times := page.evaluate("window.benchmark"))["drawn"]:
        if monotonic() > deadline:
            raise TimeoutError(f"no timeline within {_ANSWER_SECONDS:g} s after a key: {times}")
        page.wait_for_timeout(50)
    page.wait_for_timeout(_PAUSE_MILLISECONDS)
    return times["answered"] - times["key"], times["drawn"] - times["key"]
