"""Small executables that behave as the tools do, as far as is documented of them.

Each gives 1.5 cycles for a block, and fails for four blocks in the four ways.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

GOOD, CRASHING, HANGING, UNKNOWN, GARBAGE = (
    bytes.fromhex(code) for code in ("4801d8", "4831db", "4829d8", "4821d8", "4809d8")
)
"""Blocks by which a fake knows what to do: add, xor, sub, and, or."""

_NAMES = {"CRASHING": CRASHING, "HANGING": HANGING, "UNKNOWN": UNKNOWN, "GARBAGE": GARBAGE}


def script(path: Path, body: str) -> str:
    """An executable shell script; its path."""
    return _executable(path, f"#!/bin/sh\n{body}\n")


def python(path: Path, body: str) -> str:
    """An executable Python script that starts quickly; its path. `@CRASHING@` … stand for digits."""
    for name, code in _NAMES.items():
        body = body.replace(f"@{name}@", code.hex())
    return _executable(path, f"#!{sys.executable} -IS\n{body}\n")


def tool(path: Path, said: str, unknown: str) -> str:
    """A program that finds the bytes of a block in the file of that name, and prints what it thinks."""
    body = f"""
for file; do case "$file" in block*) break;; esac; done
case "$(od -An -tx1 -v "$file" | tr -d ' \\n')" in
  *{CRASHING.hex()}*) echo "internal error" >&2; kill -SEGV $$;;
  *{HANGING.hex()}*) sleep 600;;
  *{UNKNOWN.hex()}*) printf '%s\\n' {shlex.quote(unknown)}; exit;;
  *{GARBAGE.hex()}*) echo "nothing to be said"; exit;;
esac
printf '%s\\n' {shlex.quote(said)}
"""
    return script(path, body)


def asked(path: Path) -> str:
    """A program that answers lines of digits."""
    return python(
        path,
        """
import os, signal, sys, time
for line in sys.stdin:
    code = line.strip()
    if code == "@CRASHING@": os.kill(os.getpid(), signal.SIGSEGV)
    if code == "@HANGING@": time.sleep(600)
    if code == "@UNKNOWN@": print("unknown: and", flush=True)
    elif code == "@GARBAGE@": print("nothing to be said", flush=True)
    else: print("cycles 150", flush=True)
""",
    )


def llvm(home: Path) -> str:
    """llvm-mca and llvm-mc in one: the text of a block is a no-op with its digits; the path of the former."""
    body = r"""
import os, re, signal, sys, time
arguments = " ".join(sys.argv)
text = "" if "--version" in arguments else sys.stdin.read()
if "--version" in arguments:
    print("LLVM version 99.1.0")
elif "--disassemble" in arguments:
    for number, digits in enumerate(re.findall(r"\[(.*?)\]", text)):
        print("\tnop", re.sub("0x| ", "", digits))
        print(f"\tprefetchnta\t{number or str()}(%rax,%rax)")
elif text == "nop\n":
    print("Total Cycles: 3")
else:
    if "@CRASHING@" in text: os.kill(os.getpid(), signal.SIGSEGV)
    if "@HANGING@" in text: time.sleep(600)
    iterations = int(re.search(r"-iterations=(\d+)", arguments).group(1))
    for name, lines in re.findall(r"BEGIN (\w+)\n(.*?)# LLVM-MCA-END", text, re.S):
        count = len(lines.splitlines()) * iterations
        if "@UNKNOWN@" in lines:
            print("found an unsupported instruction", file=sys.stderr)
            print("note: instruction:", lines.splitlines()[0], file=sys.stderr)
            continue
        cycles = "many" if "@GARBAGE@" in lines else 3 + count * 3 // 2
        print(f"\n[0] Code Region - {name}\n\nIterations: {iterations}\nInstructions: {count}")
        print(f"Total Cycles: {cycles}")
"""
    python(home / "llvm-mc", body)
    return python(home / "llvm-mca", body)


def osaca(path: Path) -> str:
    """A Python that has OSACA: it answers for its version, and for the worker's script."""
    return python(
        path,
        """
import json, os, signal, sys, time
if "-c" in sys.argv:
    print("0.9.9")
    sys.exit()
for line in sys.stdin:
    text = json.loads(line) if line.strip() else ""
    if "xor" in text: os.kill(os.getpid(), signal.SIGSEGV)
    if "sub" in text: time.sleep(600)
    answer = {"pressure": 1.0, "carried": 1.5, "late": False, "unknown": []}
    if not text: answer = {"version": "0.9.9"}
    if "and" in text: answer["unknown"] = [text.strip()]
    if "or" in text: answer = {"cycles": "many"}
    print(json.dumps(answer), flush=True)
""",
    )


def uica(home: Path) -> dict[str, str]:
    """uiCA's files, and a Python that answers as the worker's script does; options that name both."""
    files = home / "uiCA"
    for name in ("uiCA.py", "facile.py", "xed.so", "instrData/HSW_data.py", "instrData/SKL_data.py"):
        (files / name).parent.mkdir(parents=True, exist_ok=True)
        (files / name).write_text(f"# {name}")
    interpreter = python(
        home / "python",
        """
import json, os, signal, sys, time
for line in sys.stdin:
    code = line.strip()
    if code == "@CRASHING@": os.kill(os.getpid(), signal.SIGSEGV)
    if code == "@HANGING@": time.sleep(600)
    answer = {"cycles": 1.5, "unknown": []}
    if not code: answer = {"architectures": ["HSW", "SKL"]}
    if code == "@UNKNOWN@": answer["unknown"] = ["and rax, rbx"]
    if code == "@GARBAGE@": answer = {"cycles": "many", "unknown": []}
    print(json.dumps(answer), flush=True)
""",
    )
    return {"program": str(files), "python": interpreter}


def _executable(path: Path, content: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)
    return str(path)
