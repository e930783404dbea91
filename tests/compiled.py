"""Small programs for tests: compiled where a compiler is installed, or put together byte by byte."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = """
__attribute__((noinline)) double dot(const double *a, const double *b, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}
__attribute__((noinline)) int count(const char *p) {
    int n = 0;
    while (*p) { if (*p == ' ') n++; p++; }
    return n;
}
int main(void) {
    static double v[64];
    return (int)dot(v, v, 64) + count("a b c");
}
"""


def compiled(directory: Path, *options: str, source: str = SOURCE, name: str = "a.out") -> Path:
    """The program that gcc makes, with -c an object file; skips the test where gcc makes none."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    written, made = directory / "source.c", directory / name
    written.write_text(source)
    done = subprocess.run(
        [compiler, "-O2", *options, str(written), "-o", str(made)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"gcc compiles nothing for x86-64 here: {done.stderr[:200]}")
    return made


def tool(name: str) -> str:
    """The path of a program; skips the test where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found
