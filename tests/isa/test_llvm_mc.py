"""llvm-mc is given text that others have written: what it takes is limited, and it opens no file for them."""

from __future__ import annotations

import os
import threading

import pytest

from inference.containment import host
from inference.isa import llvm_mc
from inference.isa.llvm_mc import AssemblerError, assemble
from tests.isa.aarch64_program import needs_llvm_mc

pytestmark = needs_llvm_mc


@pytest.mark.parametrize("directive", [".incbin", ".include"])
def test_no_file_is_taken_in(tmp_path, directive):
    if not host().landlock:
        pytest.skip("this kernel has no Landlock")
    secret = tmp_path / "secret"
    secret.write_text("nop\n")
    made = assemble([f'{directive} "{secret}"'], "x86_64", "")
    assert made.code == b""
    assert "Could not find inc" in made.refused[0]


def test_a_pipe_to_wait_at_is_not_opened(tmp_path):
    if not host().landlock:
        pytest.skip("this kernel has no Landlock")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    opened = threading.Event()

    def listen() -> None:
        with pipe.open("w"):
            opened.set()

    threading.Thread(target=listen, daemon=True).start()
    assert assemble([f'.incbin "{pipe}"'], "x86_64", "").refused
    assert not opened.is_set()
    with pipe.open():  # let the thread end
        pass


@pytest.mark.parametrize("bomb", [".rept 2000000000\nnop\n.endr", ".fill 2000000000, 1, 0"])
def test_text_that_grows_without_end_is_ended(monkeypatch, bomb):
    monkeypatch.setattr(llvm_mc, "LIMITS", llvm_mc.Limits(seconds=60, memory=256, output=1, open_files=32))
    with pytest.raises(AssemblerError, match=r"out of memory|printed too much|not done in its time"):
        assemble([bomb], "x86_64", "")


def test_more_text_than_one_call_takes_is_refused_before_it(monkeypatch):
    monkeypatch.setattr(llvm_mc, "MAX_TEXT", 100)
    assert assemble(["nop"] * 20, "x86_64", "").code
    with pytest.raises(AssemblerError, match=r"101 bytes are too many for one call of llvm-mc: 100 at most"):
        assemble(["nop" + " " * 97], "x86_64", "")
