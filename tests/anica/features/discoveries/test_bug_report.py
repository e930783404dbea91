"""What goes to a tool's bug tracker: command lines, a Compiler Explorer session, the report."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import pytest

from anica_app.features.discoveries.bug_report import BugReport, markdown, version_of
from anica_app.features.discoveries.report_parts import (
    exegesis_snippet,
    issue_searches,
    mca_test,
    short_form,
    title_of,
)
from anica_app.features.discoveries.tool_commands import commands_for, core_of, link, osaca_name, state
from anica_app.models import Campaign, CampaignPredictor, Discovery
from inference.formats.provenance import PRODUCT
from inference.models import Predictor
from inference.predictors.protocol import Answer, Failure

GOLDEN = Path(__file__).with_name("golden_bug_report.md")
BLOCK = bytes.fromhex("4801d8480fafcb")
"""add rax, rbx; imul rcx, rbx"""


def row(name: str, kind: str, **options: object) -> Predictor:
    return Predictor(name=name, kind=kind, options=options, identity={"kind": kind, "version": f"{kind} 1.2"})


def test_each_tool_of_a_campaign_gets_its_own_command_and_the_usual_ones_follow():
    here = row(
        "llvm-mca 19 · znver2 -noalias=false", "llvm-mca", release="19", cpu="znver2", flags="-noalias=false"
    )
    own, osaca = commands_for([here], BLOCK)
    assert own.own
    first, *block, end = own.text.splitlines()
    assert first == ("llvm-mca-19 -mtriple=x86_64 -mcpu=znver2 -iterations=100 -noalias=false <<'EOF'")
    assert (block, end) == (["addq %rbx, %rax", "imulq %rbx, %rcx"], "EOF")
    assert (osaca.own, osaca.title) == (False, "OSACA · znver2")
    assert osaca.text.startswith("osaca --arch ZEN2 --ignore-unknown - <<'EOF'\n")


def test_names_of_imported_tools_say_what_to_call():
    rows = [row("llvm-mca.13.hsw", "imported"), row("uica.hsw", "imported"), row("ithemal.hsw", "imported")]
    mca, uica, osaca = commands_for(rows, BLOCK)
    assert mca.text.startswith("llvm-mca-13 -mtriple=x86_64 -mcpu=haswell ")
    assert (
        uica.text
        == r"printf '\110\001\330\110\017\257\313' > block.bin && uiCA.py block.bin -raw -arch HSW -TPonly"
    )
    assert osaca.text.startswith("osaca --arch HSW ")
    assert core_of(rows) == "haswell"
    assert core_of([row("nanobench.Zen+", "imported"), row("osaca.zen+", "imported")]) == "znver1"


def test_a_predictor_of_this_site_is_asked_by_its_command():
    own, *_ = commands_for([row("my 'own' mapping", "mapping", mapping="m")], BLOCK)
    assert own.text == (
        "echo 4801d8480fafcb | manage.py predict - --predictor 'my '\"'\"'own'\"'\"' mapping'"
    )


def test_uica_is_left_out_where_it_has_no_model():
    titles = [one.title for one in commands_for([row("osaca", "osaca", arch="ZEN3")], BLOCK)]
    assert titles == ["osaca", "llvm-mca · znver3"]
    assert osaca_name("znver5") == ""


def test_the_octal_digits_are_the_block():
    command = commands_for([], BLOCK)[-1].text
    printed = subprocess.run(
        ["/bin/sh", "-c", command.partition(" >")[0]], capture_output=True, check=True, timeout=60
    )
    assert printed.stdout == BLOCK


@pytest.mark.skipif(shutil.which("llvm-mca") is None, reason="there is no llvm-mca here")
def test_the_command_for_llvm_mca_works_as_it_is():
    command = commands_for([], BLOCK)[0].text
    told = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 0, told.stderr
    assert "Total Cycles:" in told.stdout


def test_a_session_for_compiler_explorer_travels_in_its_address():
    session = state(BLOCK, "haswell", "a campaign\nsaid so")
    source = session["sessions"][0]["source"]
    assert source == "# a campaign\n# said so\naddq %rbx, %rax\nimulq %rbx, %rcx\n"
    options = {one["id"]: one["options"] for one in session["sessions"][0]["compilers"]}
    assert options["osacatrunk"] == "--arch HSW --ignore-unknown"
    site, _, text = link(session).rpartition("/")
    assert site == "https://godbolt.org/clientstate"
    assert json.loads(base64.b64decode(unquote(text))) == session
    assert [one["id"] for one in state(BLOCK, "znver5")["sessions"][0]["compilers"]] == ["llvm-mcatrunk"]


SCAN_OF_MEMORY = bytes.fromhex("410fbc06")
"""bsf eax, [r14]"""


def release(number: int, cpu: str = "haswell") -> Predictor:
    return row(f"llvm-mca {number} · {cpu}", "llvm-mca", release=str(number), cpu=cpu)


@pytest.mark.parametrize(
    ("cycles", "others", "title"),
    [
        ((1.0, 8.0), [], "llvm-mca 22 predicts 8 cycles for `bsf r32, m32` on haswell (14: 1)"),
        ((8.0, 1.0), [], "llvm-mca 22 predicts 1 cycle for `bsf r32, m32` on haswell (14: 8)"),
        (
            (8.0, 1.0),
            [1.0],
            "llvm-mca 14 predicts 8 cycles for `bsf r32, m32` on haswell (22: 1; measured: 1)",
        ),
        ((3.5, None), [], "llvm-mca 22 crashes on `bsf r32, m32` on haswell (14: 3.5)"),
    ],
)
def test_a_title_says_who_is_wrong_by_how_much(cycles, others, title):
    own = [
        (release(number), Answer(failure=Failure.CRASH) if one is None else Answer(cycles=one))
        for number, one in zip((14, 22), cycles, strict=True)
    ]
    measured = [(row("lab", "machine"), Answer(cycles=one)) for one in others]
    assert title_of(SCAN_OF_MEMORY, own, measured) == title


@pytest.mark.parametrize(
    ("code", "short"),
    [
        ("c46201539d80010000", "vpdpwssds xmm, xmm, m128"),  # {vex3}, as the listing has it
        ("66352a01", "xor r16, imm"),
        ("f0480108", "lock add m64, r64"),
        ("80dcbc", "sbb r8, imm"),
    ],
)
def test_a_title_names_instructions_and_kinds_of_operands_alone(code, short):
    assert short_form(bytes.fromhex(code)) == short


def test_the_version_of_a_machine_is_its_processor():
    lab = row("lab", "machine")
    lab.identity = {"measured": {"cpu": "a processor"}}
    assert version_of(lab) == "a processor"


def test_another_tool_is_called_by_its_name():
    own = [
        (release(22, "znver2"), Answer(cycles=1.0)),
        (row("OSACA 0.7", "osaca", arch="ZEN2"), Answer(cycles=4.25)),
    ]
    assert (
        title_of(SCAN_OF_MEMORY, own)
        == "OSACA predicts 4.25 cycles for `bsf r32, m32` on znver2 (llvm-mca 22: 1)"
    )


def test_known_issues_are_looked_for_where_each_tool_has_its_own():
    searches = issue_searches(
        bytes.fromhex("480fbcc3f3480fb8c0"), [release(14), release(22), row("OSACA", "osaca")]
    )
    assert [one.url for one in searches] == [
        "https://github.com/llvm/llvm-project/issues?q=is%3Aissue+llvm-mca+bsf+popcnt",
        "https://github.com/RRZE-HPC/OSACA/issues?q=is%3Aissue+bsf+popcnt",
    ]


def test_a_test_file_and_a_snippet_hold_the_block():
    assert mca_test(SCAN_OF_MEMORY, "haswell").endswith("< %s | FileCheck %s\n\nbsfl (%r14), %eax\n")
    snippet = exegesis_snippet(SCAN_OF_MEMORY, [(release(22), Answer(cycles=8.0))])
    assert "# llvm-mca 22 · haswell predicts 8 cycles" in snippet
    assert "# LLVM-EXEGESIS-MEM-MAP memory 1048576\n" in snippet
    assert "# LLVM-EXEGESIS-DEFREG R14 104000\n" in snippet
    assert snippet.endswith("bsf (%r14), %eax\n")


@pytest.mark.django_db
def test_the_report_reads_as_it_should():
    tools = [row("llvm-mca 13 · haswell", "llvm-mca", release="13"), row("llvm-mca 22 · haswell", "llvm-mca")]
    for number, one in enumerate(tools):
        one.key = f"{number:064}"
        one.save()
    campaign = Campaign.objects.create(
        name="releases",
        origin="run",
        config={"seed": 7, "interest": {"metric": "relative", "threshold": 0.5}},
    )
    campaign.created = datetime(2026, 1, 2, tzinfo=UTC)
    for position, one in enumerate(tools):
        CampaignPredictor.objects.create(campaign=campaign, position=position, predictor=one)
    abstract = {
        "instructions": [{"mnemonic": {"base": "add", "edits": 0}}, {}],
        "aliasing": [["1.register.1", "2.register.1", "different"]],
    }
    discovery = Discovery.objects.create(campaign=campaign, number=3, length=2, code=BLOCK, abstract=abstract)
    crashed = Answer(failure=Failure.CRASH, detail="Stack dump: `0.`")
    report = BugReport(
        discovery,
        tools,
        BLOCK,
        [
            (tools[0], Answer(cycles=3.0)),
            (tools[1], crashed),
            (row("lab | 3", "machine"), Answer(cycles=1.02)),
        ],
        (100, 98),
        [(BLOCK[:3], (Answer(cycles=1.0), crashed))],
        "https://site.example/discoveries/3/",
        family="add, imul: throughput",
        cause=["The difference vanishes behind instructions that write rax anew: 1.00 | 1.00 cycles"],
    )
    text = markdown(report).replace(PRODUCT, "pmweb")
    assert text == GOLDEN.read_text(), f"write this into {GOLDEN.name} if it is meant:\n{text}"
