"""Where results of one machine contradict on a scheme, it says so wherever its µops are shown."""

from __future__ import annotations

import json
import re
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from benchmarks._chaos.invariants import check_conflicts
from benchmarks._chaos.outcome import outcome
from inference.core.mapping import PortMapping as Mapping
from inference.core.pmevo import FrontPoint
from inference.models import (
    ISA,
    Characterisation,
    InstructionScheme,
    Machine,
    PortMapping,
    Run,
    SchemeConflict,
    StoredCoreModel,
)
from inference.storage.exporting import CORE_MODEL_EXPORTS, MAPPING_EXPORTS
from inference.storage.judging import grounds_of
from inference.storage.mappings import load_mapping
from inference.storage.results import JudgedPoint, compared_results, pick, store_front, store_result
from tests.doors import printed
from tests.rows.lab import FACTS

TEMPLATES = settings.BASE_DIR / "templates"
ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"
SAYS = "PMEvo: 1×[1]; explained: 3 µops; not settled"
SAYS_TOO = "explained: 3×[1]; PMEvo: 1 µop; not settled"


@pytest.fixture
def machine(isa: ISA) -> Machine:
    return Machine.objects.create(name="lab", isa=isa, kind=Machine.Kind.AGENT, cpu="Zen 5", facts=FACTS)


def mapping_with(imul: int) -> Mapping:
    return Mapping(("0", "1"), {ADD: ((3, 1),), IMUL: ((2, imul),)})


def result(machine: Machine, name: str, source: str, imul: int) -> PortMapping:
    """A mapping of the machine, compared with its others as a run does it."""
    value = mapping_with(imul)
    compared = compared_results(machine, value)
    return store_result(name, machine.isa, value, compared, source=source, machine=machine)


@pytest.fixture
def results(machine: Machine) -> tuple[PortMapping, PortMapping]:
    first = result(machine, "ports", "PMEvo", 1)
    second = result(machine, "uops", "Explainable inference", 3)
    for text in (ADD, IMUL):
        scheme = InstructionScheme.objects.get(isa=machine.isa, text=text)
        Characterisation.objects.create(
            mapping=second, scheme=scheme, outcome="characterised", stage="characterise"
        )
    return first, second


def test_both_results_keep_what_the_other_says(results: tuple[PortMapping, PortMapping]) -> None:
    first, second = results
    assert grounds_of(first).conflict_words(IMUL) == [SAYS]
    assert grounds_of(second).conflict_words(IMUL) == [SAYS_TOO]
    assert grounds_of(first).conflict_words(ADD) == []
    assert grounds_of(first).scheme_grounds(IMUL).contradicted_by == ("uops",)
    assert (grounds_of(first).results, grounds_of(second).results) == (2, 2)
    second.delete()
    assert grounds_of(first).conflict_words(IMUL) == []
    assert not SchemeConflict.objects.exists()


def test_a_result_is_held_against_those_of_its_own_machine_alone(
    machine: Machine, results: tuple[PortMapping, PortMapping]
) -> None:
    other = Machine.objects.create(name="other", isa=machine.isa, kind=Machine.Kind.AGENT)
    value = load_mapping(results[1])
    assert compared_results(other, value) == compared_results(None, value) == []


def test_results_that_were_compared_at_the_same_time_contradict_each_other(machine: Machine) -> None:
    values = {"PMEvo": mapping_with(1), "Explainable inference": mapping_with(3)}
    compared = {source: compared_results(machine, value) for source, value in values.items()}
    first, second = (
        store_result(source, machine.isa, value, compared[source], source=source, machine=machine)
        for source, value in values.items()
    )
    assert grounds_of(first).conflict_words(IMUL) == [SAYS]
    assert grounds_of(second).conflict_words(IMUL) == [SAYS_TOO]


def test_a_result_that_was_deleted_meanwhile_contradicts_nothing(machine: Machine) -> None:
    first = result(machine, "ports", "PMEvo", 1)
    compared = compared_results(machine, mapping_with(3))
    first.delete()
    second = store_result("uops", machine.isa, mapping_with(3), compared, machine=machine)
    assert len(compared) == 1
    assert grounds_of(second).conflict_words(IMUL) == []


def test_a_point_that_is_picked_from_a_front_is_a_result_like_any_other(
    machine: Machine, results: tuple[PortMapping, PortMapping]
) -> None:
    point = JudgedPoint(FrontPoint(0.1, 3, 2, mapping_with(2)), None)
    store_front(results[0], [point], load_mapping(results[0]), None)
    picked, _ = pick(results[0].front.get())
    assert grounds_of(picked).scheme_grounds(IMUL).contradicted_by == ("ports", "uops")
    assert [grounds_of(row).scheme_grounds(IMUL).contradicted_by for row in results] == [
        ("uops", picked.name),
        ("ports", picked.name),
    ]


def test_the_chaos_runner_compares_both_sides_apart_from_what_came_of_a_run(machine: Machine) -> None:
    first, second = result(machine, "ports", "PMEvo", 1), result(machine, "uops", "explained", 3)
    for row in (first, second):
        row.run = Run.objects.create(name=row.name, kind="infer", state=Run.State.DONE)
        row.save(update_fields=["run"])
    with_both = outcome(first.run)
    assert check_conflicts(first.run) == check_conflicts(second.run) == []
    SchemeConflict.objects.filter(mapping=first).delete()
    assert [broken.run for row in (first, second) for broken in check_conflicts(row.run)] == ["ports"]
    second.delete()
    assert outcome(first.run) == with_both


def test_a_mapping_of_a_run_is_stored_by_one_function_alone() -> None:
    """`store_result` compares it with the others; who stored one elsewhere would leave that out."""
    storing = [
        path.relative_to(settings.BASE_DIR).as_posix()
        for package in ("inference", "anica_app", "pmweb")
        for path in (settings.BASE_DIR / package).rglob("*.py")
        if re.search(r"origin=[\w.]*Origin\.RUN\b.*", text := path.read_text()) and "store_mapping(" in text
    ]
    assert storing == ["inference/storage/results.py"]


def doors(first: PortMapping, second: PortMapping, imul: int, api: str) -> dict[str, tuple[str, str]]:
    """{what: (address, what it has to say)} of pages and answers that show the scheme's µops."""
    mapping = reverse("mapping", args=[first.pk])
    explained = reverse("mapping", args=[second.pk])
    isa = first.isa_id
    core = StoredCoreModel.objects.create(name="core", isa=first.isa, machine=first.machine, mapping=first)
    asked = {"e": IMUL, "isa": isa, "mapping": first.pk}
    return {
        "graph": (f"{mapping}?tab=graph", json.dumps(SAYS)[1:-1]),
        "legend of the graph": (
            f"{mapping}?tab=graph",
            "for 1 scheme, another result of the machine contradicts this one<",
        ),
        "kinds of instructions": (reverse("core-model", args=[core.pk]), "1 not settled</span>"),
        "kinds of instructions as a table": (
            f"{reverse('core-model-export', args=[core.pk])}?format=kinds-csv",
            "not settled",
        ),
        "doubts": (f"{mapping}?tab=doubts&with=none", SAYS),
        "doubts beside the other": (f"{mapping}?tab=doubts", "other µops in uops"),
        "API: doubts": (f"{api}/mappings/{first.pk}/doubts?other=none", SAYS),
        "scheme page": (reverse("scheme", args=[imul]), SAYS),
        "mapping's schemes": (f"{mapping}?tab=schemes", SAYS),
        "mapping's verdicts": (f"{explained}?tab=explained", SAYS_TOO),
        "witnesses": (reverse("scheme-proof", args=[second.pk, imul]), SAYS_TOO),
        "witnesses of another": (reverse("scheme-proof", args=[first.pk, imul]), SAYS),
        "instruction card": (reverse("instruction", args=[first.isa.name, "imul"]), "Not settled: "),
        "experiment": (
            f"{reverse('experiments')}?{urlencode(asked)}",
            SAYS,
        ),
        "loop": (f"{mapping}?{urlencode({'tab': 'loop', 'code': 'imul rax, rbx'})}", SAYS),
        "API: scheme": (f"{api}/schemes/{imul}", SAYS),
        "API: mapping": (f"{api}/mappings/{first.pk}/usage", SAYS),
        "API: verdicts": (f"{api}/mappings/{second.pk}/verdicts", SAYS_TOO),
        "API: verdict": (f"{api}/mappings/{second.pk}/verdicts/{imul}", SAYS_TOO),
        "API: instruction": (f"{api}/isas/{isa}/instructions/imul", "; not settled"),
    }


def test_pages_and_answers_say_so(
    client: Client, administrator: User, results: tuple[PortMapping, PortMapping]
) -> None:
    client.force_login(administrator)
    first, second = results
    imul = InstructionScheme.objects.get(isa=first.isa, text=IMUL).pk
    for door, (address, said) in doors(first, second, imul, "/api/v1").items():
        answer = client.get(address)
        assert answer.status_code == 200, door
        text = answer.content.decode()
        shown = json.dumps(answer.json(), ensure_ascii=False) if "API" in door else text
        assert said in shown, door
        assert 'class="badge word-strong"' not in text, door


SILENT = {
    # Tables of two mappings side by side, or of doubts, which name the other mapping themselves.
    "inference/engine/view_table.html",
    # What a running or finished search says of blocking instructions and classes of schemes.
    "inference/inferring/explain/blocking.html",
    "inference/inferring/evolution/classes.html",
    # The steps behind the claim of `claim.html`, on the same page.
    "inference/explained/proof/step.html",
    "inference/explained/proof/beside.html",
    "inference/explained/proof/page.html",
    # A file before it is stored; µops that would close a gap.
    "inference/uploads/preview.html",
    "inference/experiments/gap.html",
}
"""Templates that draw µops of no stored mapping's scheme, or say who contradicts in their own way."""


def test_every_template_that_draws_uops_says_what_contradicts_them() -> None:
    drawing = {
        path.relative_to(TEMPLATES).as_posix(): text
        for path in sorted(TEMPLATES.rglob("*.html"))
        if re.search(r"{% (?:uops|uop_lanes) ", text := path.read_text())
    }
    saying = {name for name, text in drawing.items() if "conflict" in text}
    assert len(drawing) > len(SILENT)
    assert not drawing.keys() - saying - SILENT
    assert drawing.keys() >= SILENT, "not needed any more"


@pytest.mark.parametrize("form", list(MAPPING_EXPORTS))
def test_exports_say_so(form: str, results: tuple[PortMapping, PortMapping]) -> None:
    text = MAPPING_EXPORTS[form].write(results[0])
    assert "explained: 3 µops; not settled" in text
    assert "1×[1]" in text


CORE_MODEL_EXPORTS_WITHOUT = {
    "json": "the parts themselves, which import again; the mapping's own exports say so",
    "diagram-svg": "a box per port with what most of a kind run; the table of kinds beside it says so",
    "llvm-patch": "changes sources of LLVM that are not on every computer",
    "exegesis": "latencies, and no µops",
}


@pytest.mark.parametrize("form", sorted(CORE_MODEL_EXPORTS.keys() - CORE_MODEL_EXPORTS_WITHOUT.keys()))
def test_exports_of_a_core_model_say_so(form: str, results: tuple[PortMapping, PortMapping]) -> None:
    first = results[0]
    core = StoredCoreModel.objects.create(name="core", isa=first.isa, machine=first.machine, mapping=first)
    assert "not settled" in CORE_MODEL_EXPORTS[form].write(core)


def test_the_shell_says_so(results: tuple[PortMapping, PortMapping]) -> None:
    def shell(*arguments: str) -> str:
        return printed(*arguments)

    assert SAYS_TOO in shell("doubts", "uops", "--against", "none")
    assert SAYS_TOO in shell("explain", "uops")
    assert SAYS_TOO in shell("explain", "uops", "--json")
    assert SAYS_TOO in shell("explain", "uops", "--scheme", IMUL)
    assert "; not settled" in shell("instruction", "imul")
    assert "; not settled" in shell("instruction", "imul", "--json")
