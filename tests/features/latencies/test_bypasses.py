"""Latencies that depend on their neighbours, on pages, for programs, in the shell, and in core models."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.core_model import CodeShape, predict_core
from inference.core.mapping import PortMapping as Mapping
from inference.features.learning.core_model.storing import store_document, store_parts
from inference.formats.core_model_json import core_model_json, read_core_model
from inference.formats.quoting import json_text
from inference.isa.blocks import accesses_of, read_blocks
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import LatencySet
from inference.storage.core_models import core_model_of
from inference.storage.instruction_sets import store_isa
from inference.storage.latencies import store_latencies
from tests.core.core_model.test_bypasses import CODES, SCHEMES, inferred, plain, zen5
from tests.doors import printed
from tests.rows.library import visitor
from tests.simulated import simulated_machine

__all__ = ["visitor"]

ADD, MULTIPLY, ONE_CYCLE = (f"v{name} XMM:W, XMM:R, XMM:R" for name in ("addps", "mulps", "paddd"))


@pytest.fixture
def measured(db: None) -> LatencySet:
    schemes = [scheme[0] for text in SCHEMES if (scheme := scheme_and_form(text)) is not None]
    isa = store_isa("x86-64", schemes, "a test")
    machine = simulated_machine(isa, Mapping(("0",), dict.fromkeys(SCHEMES, ((1, 1),))))
    store_latencies("plain", machine, inferred(plain), {})
    return store_latencies("with bypasses", machine, inferred(zen5), {})


def test_the_page_has_the_kinds_beside_each_other(visitor: Client, measured: LatencySet) -> None:
    page = visitor.get(reverse("latency-bypasses", args=[measured.pk]))
    kinds = page.context["kinds"]
    assert len(kinds) >= 2
    assert ADD in page.text
    told = visitor.get(f"/api/v1/latencies/{measured.pk}/bypasses").json()
    assert [kind["schemes"] for kind in told] == [kind.schemes for kind in kinds]
    assert all(len(kind["beside"]) == len(told) for kind in told)
    other = LatencySet.objects.get(name="plain")
    assert "No latency depends" in visitor.get(reverse("latency-bypasses", args=[other.pk])).text
    assert visitor.get(f"/api/v1/latencies/{other.pk}/bypasses").json() == []


def test_a_scheme_says_what_it_takes_where(visitor: Client, measured: LatencySet) -> None:
    row = measured.schemes.get(scheme__text=ONE_CYCLE)
    assert (row.least, row.most) == pytest.approx((1.0, 2.0))
    words = "2.00 while others are queued; kind"
    assert words in visitor.get(reverse("latency-scheme", args=[measured.pk, row.scheme_id])).text
    assert words in printed("latencies", "--show", measured.name, "--scheme", ONE_CYCLE)


def test_a_stored_model_and_its_file_predict_alike(measured: LatencySet) -> None:
    stored = core_model_of(store_parts("of parts", None, measured, None))
    document = json_text(core_model_json(stored, name="again", isa="x86-64"))
    imported = core_model_of(store_document(read_core_model(document), ""))
    for code, cycles in CODES.items():
        (block,) = read_blocks(code, 1)
        shape = CodeShape(len(block.code), loop=False)
        first, second = (predict_core(accesses_of(block), shape, one).cycles for one in (stored, imported))
        assert first == second
        assert "nop" in code or first == pytest.approx(cycles, rel=0.03)
