"""A basic block for Compiler Explorer: its analysis language with llvm-mca and OSACA beside each other.

The state is what its API calls a client state. It can be sent in an address, so nothing is stored there; the
site is only visited when a user follows the link.
"""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

from anica_app.features.discoveries.tool_commands import osaca_name
from inference.core.protocols import Json
from inference.formats.quoting import assembly_comment
from inference.isa.blocks import att_of_bytes

SITE = "https://godbolt.org"
_LLVM_MCA, _OSACA = "llvm-mcatrunk", "osacatrunk"


def state(code: bytes, core: str, comment: str = "") -> Json:
    """A session with the block in AT&T syntax below the comment, for a core as LLVM names it.

    Raises `BlockError` for code that is no block.
    """
    head = [assembly_comment(line) for line in comment.splitlines()]
    compilers = [{"id": _LLVM_MCA, "options": f"-mtriple=x86_64 -mcpu={core} -iterations=100"}]
    if arch := osaca_name(core):
        compilers.append({"id": _OSACA, "options": f"--arch {arch} --ignore-unknown"})
    return {
        "sessions": [
            {
                "id": 1,
                "language": "analysis",
                "source": "\n".join([*head, *att_of_bytes(code)]) + "\n",
                "compilers": compilers,
            }
        ]
    }


def link(given: Json) -> str:
    """The address that opens a state."""
    text = base64.b64encode(json.dumps(given, separators=(",", ":")).encode()).decode()
    return f"{SITE}/clientstate/{quote(text, safe='')}"
