"""The schemes that blocks consist of, why others do not, and their features (Tables 8.1 and 8.5)."""

from __future__ import annotations

from functools import cache

import pytest

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.settings import DomainSettings, SpaceSettings
from anica_app.core.domain.space import SchemeSpace, reasons
from anica_app.core.errors import AnicaError
from inference.core.errors import InvalidInputError
from inference.isa import targets
from inference.isa.blocks import block_of_text
from inference.isa.targets import sampling_groups
from inference.isa.x86 import schemes
from tests.anica.core.small import small_domain
from tests.isa.toy.target import TARGET as TOY

USUAL = SpaceSettings()


@cache
def with_legacy_sse() -> BlockDomain:
    return BlockDomain.of(DomainSettings(), SpaceSettings(groups="legacy-sse"))


def test_every_scheme_is_in_the_space_or_has_a_reason_not_to_be() -> None:
    why = reasons(USUAL)
    space = SchemeSpace.of()
    assert set(why) == {scheme.text for scheme in schemes()}
    assert set(space.texts) == {text for text, reason in why.items() if not reason}
    assert 2_500 < len(space) < 3_500  # the papers work with 2,940


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("ret", "changes the control flow"),
        ("wrmsr", "needs kernel rights"),
        ("addps XMM:RW, XMM:R", "legacy SSE"),
        ("paddd MM:RW, MM:R", "MMX"),
        ("rep movsb MEM[8,rdi]:RW, MEM[8,rsi]:R", "repeats itself"),
        ("vaddps ZMM:W, ZMM:R, ZMM:R", "AVX-512"),
        ("std", "may turn the direction"),
        ("leave", "overwrites rbp"),
        ("cpuid", "talks to the operating system"),
        ("mov GPR[8a]:W, IMM[8]:R", "one half of the registers"),
        ("vcmpps XMM:W, XMM:R, XMM:R, 0x0", "a predicate of its own"),
        ("mov al:W, MOFFS[8]:R", "accesses a fixed absolute address"),
    ],
)
def test_the_reason_says_what_speaks_against_a_scheme(text: str, beginning: str) -> None:
    assert reasons(USUAL)[text].startswith(beginning)


@pytest.mark.parametrize(
    "text",
    [
        "add GPR[64]:RW, GPR[64]:R",
        "lock add MEM[64]:RW, GPR[64]:R",
        "cmpsq MEM[64,rsi]:R, MEM[64,rdi]:R",
        "shld GPR[64]:RW, GPR[64]:R, cl:R",
        "shl GPR[32]:RW, 0x0",
        "mul GPR[64]:R",
        "push GPR[64]:R",
        "vfmadd213pd YMM:RW, YMM:R, MEM[256]:R",
        "div GPR[64]:R",
    ],
)
def test_what_blocks_are_usually_made_of_is_there(text: str) -> None:
    assert not reasons(USUAL)[text]


def test_groups_are_added_when_asked_for_and_stay_out_otherwise() -> None:
    members = SchemeSpace.of().operands.block_schemes().values()
    some = [member for member in members if member.scheme.encoding != "EVEX"][::3] + list(members)[::40]
    gained: dict[str, set[str]] = {group: set() for group in sampling_groups()}
    for member in some:
        if not member.obstacle(frozenset()):
            continue
        groups = [group for group in sampling_groups() if not member.obstacle(frozenset({group}))]
        assert len(groups) <= 1, member.scheme.text
        for group in groups:
            gained[group].add(member.scheme.text)
    assert all(gained.values()), gained


def test_extensions_limit_the_schemes() -> None:
    space = SchemeSpace.of(SpaceSettings(extensions="BASE X64 AVX2"))
    assert {scheme.extension for scheme in space.schemes} == {"BASE", "X64", "AVX2"}
    why = reasons(SpaceSettings(extensions="BASE X64 AVX2"))
    assert why["vaddps XMM:W, XMM:R, XMM:R"] == "needs AVX, which is not among the extensions asked for"


def test_a_space_can_be_restricted_to_what_tools_support() -> None:
    space = SchemeSpace.of(among=["nop", "mul GPR[64]:R", "ret"])
    assert sorted(space.texts) == ["mul GPR[64]:R", "nop"]
    assert space.restricted(["nop"]).texts == ("nop",)
    with pytest.raises(AnicaError, match="exclude fewer"):
        space.restricted([])
    with pytest.raises(AnicaError, match="there is no scheme 'frob'"):
        SchemeSpace.listed(["frob"])


def test_features_are_those_of_the_published_examples() -> None:
    texts = ["vaddpd XMM:W, XMM:R, XMM:R", "lock sub MEM[32]:RW, IMM[32]:R"]
    domain = BlockDomain(SchemeSpace.listed(texts, {texts[0]: 1}))
    first, second = (dict(zip(domain.vocabulary.names, row, strict=True)) for row in domain.table.rows)
    flags = {"af:W", "cf:W", "of:W", "pf:W", "sf:W", "zf:W"}
    assert first == {
        "mnemonic": "vaddpd", "category": "arithmetic", "extension": "AVX", "isa-set": "AVX", "lock": "no",
        "rep": "no", "memory": frozenset(), "operands": {"XMM:W", "XMM:R"}, "uops": 1,
    }  # fmt: skip
    assert second == {
        "mnemonic": "sub", "category": "arithmetic", "extension": "BASE", "isa-set": "INTEL386",
        "lock": "yes", "rep": "no", "memory": {"R", "W", "size:32"}, "uops": None,
        "operands": {"MEM[32]:RW", "IMM[32]:R", *flags},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("instructions", "text"),
    [
        ([{"operands": ["df:R"]}], "cmpsq"),
        ([{"operands": ["cl:R"], "isa-set": ["INTEL386", "X64"]}], "shld r11, rdx, cl"),
        ([{"mnemonic": {"base": "haddpd", "edits": 3}, "extension": "SSE3"}], "hsubpd xmm15, xmm12"),
        ([{"mnemonic": {"base": "bsf", "edits": 1}, "operands": ["GPR[64]:RW"]}], "bsr rcx, r11"),
        (
            [
                {"mnemonic": {"base": "add", "edits": 2}, "operands": ["GPR[64]:RW"], "memory": "none"},
                {"mnemonic": {"base": "and", "edits": 3}, "operands": ["GPR[64]:RW"], "memory": ["R"]},
            ],
            "add r8, 0x2a\nadc r8, qword ptr [r14]",
        ),
        ([{"mnemonic": {"base": "shl", "edits": 2}, "operands": ["0x0"]}], "shr eax, 0"),
    ],
)
def test_the_published_discoveries_represent_their_example_blocks(
    instructions: list[dict[str, object]], text: str
) -> None:
    domain = with_legacy_sse()
    block = domain.block_of_code(block_of_text(text).code)
    assert block is not None
    assert domain.contains(domain.read({"instructions": instructions}), block)


def test_a_foreign_block_is_refused_in_words() -> None:
    domain = small_domain()
    assert domain.obstacle(block_of_text("nop").code) == ""
    assert domain.block_of_code(b"\xc3") is None
    assert domain.obstacle(b"\x90\xc3") == (
        "instruction 2, ret, is of a scheme left out here: changes the control flow"
    )
    assert "sub GPR[64]:RW, GPR[64]:R" in domain.obstacle(block_of_text("sub rax, rbx").code)
    assert "are no instruction" in domain.obstacle(b"\xff\xff")
    assert domain.block_of_code(b"\xff\xff") is None
    assert domain.block_of_code(b"") is None


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: DomainSettings(features="mnemonic colour"), "not 'colour'"),
        (lambda: DomainSettings(features=" "), "at least one"),
        (lambda: DomainSettings(edit_distance=-1), "edit_distance"),
        (lambda: DomainSettings(log_bound=99), "log_bound"),
        (lambda: SpaceSettings(groups="fun"), "not 'fun'"),
        (lambda: DomainSettings.parse({"edits": "3"}), "edit_distance"),
    ],
)
def test_settings_out_of_their_domain_are_refused(make, wanted: str) -> None:
    with pytest.raises(InvalidInputError, match=wanted):
        make()


def test_only_the_features_asked_for_are_spoken_of() -> None:
    settings = DomainSettings(features="memory mnemonic uops", edit_distance=1)
    domain = BlockDomain(SchemeSpace.listed(["nop"]), settings)
    assert domain.vocabulary.names == ("mnemonic", "memory")  # no number of µops is known


def test_a_list_of_extensions_has_an_end_and_a_word_is_told_in_part() -> None:
    with pytest.raises(InvalidInputError, match="400 characters at most"):
        SpaceSettings(extensions="AVX2 " * 100)
    with pytest.raises(InvalidInputError) as refused:
        SpaceSettings(groups="x" * 5000)
    assert len(str(refused.value)) < 300


def test_groups_of_another_instruction_set_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(targets.FOLDERS, TOY.name, lambda: TOY)
    with pytest.raises(AnicaError, match=f"groups of schemes for {TOY.name} are none, not x87"):
        SchemeSpace.of(SpaceSettings(groups="x87"), isa=TOY.name)


def test_an_instruction_without_constraints_is_any_of_the_space() -> None:
    domain = small_domain()
    (free,) = domain.unconstrained(1).instructions
    assert domain.table.meaning(free) == 2 ** len(domain.space) - 1
