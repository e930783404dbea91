"""A campaign over an instruction set that no file of the program has heard of: the toy of `tests.isa`."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.wording import block_wording
from anica_app.core.errors import AnicaError
from anica_app.core.search.campaign_search import CampaignSearch
from anica_app.core.search.interestingness import Disagreement, InterestSettings
from anica_app.core.search.search_tasks import SearchContext
from anica_app.core.search.settings import SearchSettings, Termination
from inference.isa import targets
from inference.predictors.panel import Panel
from inference.predictors.protocol import Answer
from tests.anica.core.search.toy import MemoryStore, Quiet
from tests.isa.toy.blocks import OPERATIONS
from tests.isa.toy.target import TARGET as TOY

INC, NEG = OPERATIONS["inc"], OPERATIONS["neg"]


class ToyPredictor:
    """A cycle per instruction, and `extra` where a register is both incremented and negated."""

    def __init__(self, extra: float) -> None:
        self.name = f"toy with {extra}"
        self.identity = {"kind": "toy", "name": self.name}
        self._extra = extra

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        return [Answer(cycles=len(code) / 2 + self._extra * is_planted(code)) for code in blocks]

    def close(self) -> None:
        """Nothing is open."""


def is_planted(code: bytes) -> bool:
    instructions = set(zip(code[::2], code[1::2], strict=True))
    return any({(INC, register), (NEG, register)} <= instructions for register in code[1::2])


def test_a_campaign_finds_what_is_planted_in_another_instruction_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(targets.FOLDERS, TOY.name, lambda: TOY)
    domain = BlockDomain.of(isa=TOY.name)
    campaign = CampaignSearch(
        SearchContext(domain, SearchSettings(batch=40), 1),
        Panel([ToyPredictor(0.0), ToyPredictor(20.0)]),
        Disagreement(InterestSettings()),
        Termination(barren=120),
        Quiet(),
        MemoryStore(),
    )
    (discovery,) = campaign.search().unsubsumed
    assert block_wording(domain.document(discovery.abstract)).line == (
        "mnemonic within 2 edits of inc | mnemonic within 2 edits of neg; "
        "instruction 2 reads a register that instruction 1 writes"
    )
    blocks = [domain.sample(discovery.abstract, Random(seed)) for seed in range(40)]
    assert any(blocks)
    assert all(block is None or is_planted(block.code) for block in blocks)


def test_an_instruction_set_without_operands_has_no_campaigns() -> None:
    with pytest.raises(AnicaError, match="blocks of a set from a file cannot be abstracted yet"):
        BlockDomain.of(isa="a set from a file")
