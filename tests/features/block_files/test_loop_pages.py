"""From an uploaded program to a set of its loops, through the pages."""

from __future__ import annotations

import html
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from inference.isa.blocks import ranked_pieces, read
from inference.models import BasicBlockSet, Run, Upload
from tests.features.block_files.test_loops import LOOP, OTHER, PROGRAM
from tests.work import read_uploads, work_off

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


def sent(visitor: Client, content: bytes, name: str) -> str:
    """Upload a file; the address of its preview."""
    answer = visitor.post(reverse("upload"), {"files": SimpleUploadedFile(name, content)}, follow=True)
    assert answer.status_code == 200
    read_uploads()
    seen = visitor.get(answer.redirect_chain[-1][0], follow=True)
    return str(seen.redirect_chain[-1][0])


def test_a_program_is_searched_by_a_run_and_the_ticked_loops_become_a_set(visitor: Client) -> None:
    address = sent(visitor, PROGRAM, "work.o")
    page = visitor.get(address).content.decode()
    assert "x86-64 object file" in page
    assert "None: every loop weighs 1" in page.replace("none:", "None:")
    found = visitor.post(address, {"press": "look", "functions": "wo*", "samples": "", "weighing": "samples"})
    run = Run.objects.get(kind="loops")
    assert found.url == f"{address}?run={run.pk}"
    assert 'data-poll="1"' in visitor.get(found.url).content.decode()
    work_off(run)
    page = visitor.get(found.url).content.decode()
    assert "2 loops" in page
    assert "0x10" in page
    assert "imul" in page
    keys = [one["key"] for one in run.result["loops"]]
    refused = visitor.post(found.url, {"press": "import", "name": "mine", "which": "ticked"})
    assert refused.status_code == 400
    assert "Tick at least one loop" in refused.content.decode()
    visitor.post(found.url, {"press": "import", "name": "mine", "which": "ticked", "loop": keys[1:]})
    done = work_off(Run.objects.get(kind="import-anica"))
    assert done.state == "done", done.error
    made = BasicBlockSet.objects.get(name="mine")
    assert [bytes(row.code) for row in made.blocks.all()] == [OTHER[:-1]]
    page = visitor.get(reverse("block-set", args=[made.pk])).content.decode()
    assert "work.o, work, 0x10" in page
    told = visitor.get(reverse("block-set", args=[made.pk]) + "?tab=columns").content.decode()
    assert "1 loop in 1 function," in told


def test_what_is_no_program_for_here_is_told_on_its_page(visitor: Client) -> None:
    foreign = bytearray(PROGRAM)
    foreign[18] = 8  # EM_MIPS
    page = visitor.get(sent(visitor, bytes(foreign), "arm.o")).content.decode()
    assert "This is a MIPS R3000 file; an object file" in page
    page = visitor.get(sent(visitor, b"PERFILE2" + bytes(100), "perf.data")).content.decode()
    assert "This is a recording of perf" in page


def test_samples_wait_for_their_program_and_are_offered_there(visitor: Client) -> None:
    text = b"            401000 work+0x3 (/tmp/work)\n" * 3
    page = visitor.get(sent(visitor, text, "perf.txt")).content.decode()
    assert "Choose the program" in page
    samples = Upload.objects.get()
    address = sent(visitor, PROGRAM, "work")
    assert f'<option value="{samples.pk}" selected>perf.txt</option>' in visitor.get(address).content.decode()
    assert (
        reverse("anica-loops", args=[Upload.objects.latest("pk").pk])
        in visitor.get(reverse("anica-loops", args=[samples.pk])).content.decode()
    )


def test_a_search_that_failed_says_why(visitor: Client) -> None:
    address = sent(visitor, PROGRAM, "work.o")
    visitor.post(address, {"press": "look", "functions": "other", "weighing": "samples"})
    work_off(Run.objects.get(kind="loops"))
    assert "no function &#x27;other&#x27;" in visitor.get(address).content.decode()


def test_pasted_text_goes_the_way_of_an_upload(visitor: Client) -> None:
    assert (
        "paste the output of a profiler"
        in visitor.post(reverse("block-set-paste"), {"text": " "}).content.decode()
    )
    refused = visitor.post(reverse("block-set-paste"), {"text": "dear diary"})
    assert refused.status_code == 400
    assert "dear diary" in refused.content.decode()
    answer = visitor.post(
        reverse("block-set-paste"), {"text": f"{LOOP.hex()}\r\n{OTHER.hex()}\r\n"}, follow=True
    )
    read_uploads()
    assert "Blocks" in visitor.get(answer.redirect_chain[-1][0], follow=True).content.decode()
    assert bytes(Upload.objects.get().content) == f"{LOOP.hex()}\n{OTHER.hex()}\n".encode()


def test_the_numbers_of_a_titled_column_are_pointed_at_and_left_alone(visitor: Client) -> None:
    address = sent(visitor, b"bb,hsw\n4801d8,126.00\n4829d8,100.00\n0fafc3,300.00\n", "hsw.csv")
    page = visitor.get(address).content.decode()
    assert "The numbers look like cycles of a hundred executions" in page
    assert "as they are: cycles per execution" in page


LISTINGS = Path(__file__).resolve().parents[2] / "isa" / "golden_listings"


@pytest.mark.parametrize("name", ["perf-att.txt", "objdump-att-source.txt", "objdump-intel-source.txt"])
def test_a_listing_shows_its_loops_and_each_opens_with_what_the_listing_says_of_it(
    visitor: Client, name: str
) -> None:
    content = (LISTINGS / name).read_bytes()
    page = visitor.get(sent(visitor, content, name)).content.decode()
    expected = [piece for piece in ranked_pieces(read(content.decode(), 99)) if piece.block.kind == "loop"]
    assert f"{len([p for p in expected if p.count is None or p.count])} loops" in page
    assert ("the hottest first" in page) == (name == "perf-att.txt")
    addresses = [html.unescape(address) for address in re.findall(r'href="(/loop/\?[^"]*)"', page)]
    opened = [parse_qs(urlsplit(address).query)["code"][0] for address in addresses]
    for code, piece in zip(opened, expected, strict=False):
        first = ranked_pieces(read(code, 99))[0]
        assert first.block == piece.block
        assert [line.samples for line in first.lines] == [line.samples for line in piece.lines]
        sources = [(line.source and line.source.text) for line in piece.lines]
        assert [(line.source and line.source.text) for line in first.lines] == sources


def test_a_listing_that_cannot_be_read_says_so_on_its_page(visitor: Client) -> None:
    text = b"Disassembly of section .text:\n  401120: 48 01   add %rbx,%rax\n"
    page = visitor.get(sent(visitor, text, "cut.txt")).content.decode()
    assert "are not one instruction of x86-64" in page
