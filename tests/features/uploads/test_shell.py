"""Imports in the shell say how far they are, and can be cancelled."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from inference.features.library.uploads.command import CANCELLED
from inference.formats import uops_info_xml
from inference.models import ISA, BasicBlockSet, PortMapping
from inference.web.data_command import ReadingProgress

pytestmark = pytest.mark.django_db
XML = Path(__file__).parents[2] / "formats" / "golden" / "uops-info-xml.xml"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is written at every chance, and files are read in small pieces."""
    monkeypatch.setattr("inference.web.data_command._PROGRESS_INTERVAL", -1.0)
    monkeypatch.setattr(uops_info_xml, "_CHUNK", 1000)
    monkeypatch.setattr("inference.formats.block_sets.CHUNK", 2)


def interrupted(_self: ReadingProgress, _done: int) -> None:
    raise KeyboardInterrupt


def test_xml_is_read_with_progress(default_x86: ISA, impatient: None) -> None:
    out, err = io.StringIO(), io.StringIO()
    call_command("import", str(XML), "--microarchitecture", "SKL", "--name", "mine", stdout=out, stderr=err)
    assert "port mapping 'mine'" in out.getvalue()
    lines = err.getvalue().splitlines()
    assert len(lines) > 3
    assert lines[-1].startswith("uops-info-xml.xml: 0 of 0 MiB read, 0 s left")


def test_blocks_are_read_with_progress(impatient: None, tmp_path: Path) -> None:
    path, err = tmp_path / "blocks.csv", io.StringIO()
    path.write_text("bb,tool\n" + "4801d8,1.0\n" * 9)
    call_command("import", str(path), stdout=io.StringIO(), stderr=err)
    assert BasicBlockSet.objects.get().size == 9
    assert "blocks.csv: 0 of 0 MiB read" in err.getvalue()


@pytest.mark.parametrize("is_xml", [True, False])
def test_ctrl_c_stores_nothing(
    default_x86: ISA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_xml: bool
) -> None:
    monkeypatch.setattr(ReadingProgress, "__call__", interrupted)
    path = tmp_path / "blocks.csv"
    path.write_text("bb,tool\n4801d8,1.0\n")
    with pytest.raises(CommandError, match="cancelled: nothing was imported") as cancelled:
        call_command(
            "import", str(XML if is_xml else path), "--microarchitecture", "SKL", stdout=io.StringIO()
        )
    assert cancelled.value.returncode == CANCELLED
    assert not PortMapping.objects.exists()
    assert not BasicBlockSet.objects.exists()


def test_a_quick_import_says_nothing_of_its_progress(tmp_path: Path) -> None:
    path, err = tmp_path / "blocks.csv", io.StringIO()
    path.write_text("bb,tool\n4801d8,1.0\n")
    call_command("import", str(path), stdout=io.StringIO(), stderr=err)
    assert err.getvalue() == ""
