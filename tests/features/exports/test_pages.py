"""What a mapping's page and an experiment's page let one take away."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from django.test import Client

from inference.core.mapping import PortMapping as Mapping
from inference.formats.provenance import PRODUCT
from inference.models import ExperimentSet, PortMapping
from inference.storage.exporting import MAPPING_EXPORTS
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from tests.rows.library import ADD, IMUL


def test_the_menu_offers_every_format_and_each_downloads(visitor: Client, mapping: PortMapping) -> None:
    page = visitor.get(f"/mappings/{mapping.pk}/").content.decode()
    for key, export in MAPPING_EXPORTS.items():
        address = f"/mappings/{mapping.pk}/export/?format={key}"
        assert f'href="{address}"' in page
        answer = visitor.get(address)
        assert answer.status_code == 200, key
        assert answer["Content-Disposition"] == f'attachment; filename="three-ports.{export.extension}"'
        assert answer["Content-Type"] == f"{export.content_type}; charset=utf-8"
        text = answer.content.decode()
        assert ADD in text
        assert PRODUCT in text


def test_what_a_format_has_no_words_for_is_not_offered(visitor: Client, db: None) -> None:
    isa = new_isa("toy", ["add R, R"], "by hand")
    value = Mapping(ports=("0",), usage={"add R, R": ((1, 1),)})
    row = store_mapping("toy", isa, value, origin=PortMapping.Origin.IMPORT)
    page = visitor.get(f"/mappings/{row.pk}/").content.decode()
    assert "format=uops-info" in page
    assert "format=osaca" not in page
    assert "OSACA" not in visitor.get(f"/mappings/{row.pk}/export/?format=osaca").content.decode()


def test_an_impossible_export_says_why_and_leads_back(visitor: Client, mapping: PortMapping) -> None:
    value = Mapping(ports=tuple(f"port {k}" for k in range(20)), usage={ADD: ((1 << 19, 1),)})
    row = store_mapping("twenty", mapping.isa, value, origin=PortMapping.Origin.IMPORT)
    answer = visitor.get(f"/mappings/{row.pk}/export/?format=uops-info", follow=True)
    assert answer.redirect_chain == [(f"/mappings/{row.pk}/", 302)]
    assert "20 ports cannot be written" in answer.content.decode()


def test_exports_tell_what_the_sets_of_its_own_machine_measured(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
) -> None:
    table = f"/mappings/{mapping.pk}/export/?format=csv"
    assert f'"{ADD}","1×[p0,p1,p5]",1,,' in visitor.get(table).content.decode()
    machine = mapping.isa.machines.create(name="its machine", kind="published")
    PortMapping.objects.update(machine=machine)
    ExperimentSet.objects.update(machine=machine)
    assert f'"{ADD}","1×[p0,p1,p5]",1,,0.25,' in visitor.get(table).content.decode()


def test_an_experiment_is_to_be_had_for_llvm_exegesis(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
) -> None:
    row = mapping.isa.experiments.get(length=3, terms__scheme__text=IMUL)
    page = visitor.get(f"/experiments/{row.pk}/").content.decode()
    address = f"/isas/{mapping.isa_id}/snippet/?e={quote(f'2*{ADD}; 1*{IMUL}', safe='').replace('%20', '+')}"
    assert "for llvm-exegesis" in page
    text = visitor.get(address).content.decode()
    assert "# measured: 1.02 cycles (settled) in “small”" in text
    assert "# predicted: 1 cycles by “three ports”" in text
    assert "# LLVM-EXEGESIS-DEFREG RAX" in text
    assert "imul %" in text


@pytest.mark.parametrize(
    ("e", "told"), [("", "empty term"), ("nonsense", "has no scheme"), (f"1*{ADD};;1*x", "empty")]
)
def test_no_experiment_no_snippet(visitor: Client, mapping: PortMapping, e: str, told: str) -> None:
    answer = visitor.get(f"/isas/{mapping.isa_id}/snippet/", {"e": e})
    assert answer.status_code == 400
    assert told in answer.content.decode()
