"""Published results of explainable inference: the mapping, what its runs rejected, their experiments."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from inference.core.experiment import Experiment, Measured
from inference.core.explain import NotCharacterised, SchemeFate, WitnessOutcome
from inference.formats.import_formats import rejects_of
from inference.formats.imported_explanation import NO_PORT_USAGE, blocking_classes, measured_floods
from inference.formats.parsing import NO_SCHEME, AnyNames, Parsed, parse
from inference.formats.problems import ExchangeError
from inference.formats.rejects_json import rejection_of
from inference.isa.targets import X86
from inference.models import ISA, ExperimentSet, PortMapping
from inference.storage.characterisations import KEY, ExplainedMapping, load_characterisation
from inference.storage.importing import MEASURED_IN, Preview, commit, preview
from inference.storage.instruction_sets import load_supplied, new_isa, vocabulary
from inference.storage.mappings import load_mapping
from inference.storage.rows import store_measurements

GOLDEN = Path(__file__).parent / "golden"
MAPPING = (GOLDEN / "explained-mapping.json").read_bytes()
REJECTS = (GOLDEN / "explained-rejects.json").read_bytes()
PUBLISHED = settings.SHARED / "data" / "zenplus" / "explainable"

ADD = "add GPR[64]:RW, GPR[64]:R"
BSF = "bsf GPR[64]:RW, GPR[64]:R"
IMUL = "imul GPR[64]:RW, GPR[64]:R"
NEG = "neg GPR[64]:RW"
STORE = "mov MEM[64]:W, GPR[64]:R"
HADD = "vphaddd XMM:W, XMM:R, XMM:R"


@pytest.fixture
def isa(db: None) -> ISA:
    return new_isa(X86, [ADD, BSF, IMUL, NEG, STORE, HADD], "by hand")


@pytest.fixture
def evidence(isa: ISA) -> ExperimentSet:
    """A flood beside `neg`, and an experiment that is none."""
    row = ExperimentSet.objects.create(name="measured", isa=isa, origin="upload")
    measured = [
        Measured(Experiment.of({ADD: 10, NEG: 1}), 5.52),
        Measured(Experiment.of({ADD: 10}), 5.0),
        Measured(Experiment.of({ADD: 1, IMUL: 1}), 1.0),
    ]
    store_measurements(row, measured)
    return row


def with_all(evidence: tuple[ExperimentSet, ...] = ()) -> Preview:
    return preview(MAPPING, "zen.json", rejects=[rejects_of(REJECTS, "rejects.json")], evidence=evidence)


def changed(**changes: Any) -> Parsed:
    return parse(json.dumps({**json.loads(MAPPING), **changes}).encode(), "upload.json", AnyNames())


def row(**changes: Any) -> Parsed:
    entry = {"portusage": [[[0], 1]], "itp": 1.0, "numuops": 1, **changes}
    return changed(data={"a": entry, "b": {"portusage": [[[1], 1]]}})


def test_rows_without_port_usage_are_verdicts_and_no_part_of_the_mapping(isa: ISA) -> None:
    seen = preview(MAPPING, "zen.json")
    assert (seen.parsed.format.key, seen.parsed.lines(), seen.own_name) == (
        "explained-mapping",
        [],
        "AMD Zen+",
    )
    assert seen.parsed.mapping.r_max == 5.0
    assert seen.parsed.mapping.usage[STORE] == ((0b11, 1), (0b100, 1))
    assert BSF not in seen.parsed.mapping.usage
    assert seen.explanation.outcomes == {SchemeFate.CHARACTERISED: 5, SchemeFate.EXCLUDED: 1}


def test_every_row_gets_its_characterisation_with_its_numbers(isa: ISA) -> None:
    made = commit(preview(MAPPING, "zen.json"), "zen").row
    assert isinstance(made, PortMapping)
    values = {
        each.scheme.text: load_characterisation(each, ())
        for each in made.characterisations.select_related("scheme")
    }
    assert values.keys() == {ADD, BSF, IMUL, NEG, STORE, HADD}
    assert (values[NEG].cycles, values[NEG].counted, values[NEG].doubts) == (0.51, 1.0, ())
    assert values[BSF].outcome is SchemeFate.EXCLUDED
    assert (values[BSF].reason, values[BSF].text) == (NotCharacterised.NONE, NO_PORT_USAGE)
    assert values[HADD].doubts == ("6 µops are said to use ports, 4 were counted",)
    assert load_mapping(made).usage.keys() == values.keys() - {BSF}


def test_the_report_is_one_that_the_pages_read(isa: ISA) -> None:
    made = commit(preview(MAPPING, "zen.json"), "zen").row
    explained = ExplainedMapping.of(made.report)
    assert explained.funnel["asked"] == 6
    assert explained.funnel["remaining"] == 5
    classes = {each.mask: each for each in explained.classes}
    assert classes[0b01 << 1].blocker == IMUL
    assert (classes[0b11].blocker, classes[0b11].members) == (ADD, (ADD, NEG))
    store = classes[0b100]
    assert (store.blocker, store.improper, store.beside) == (STORE, True, ((0b11, 1),))
    assert any("No scheme blocks 1 of the 4 port sets" in text for text in explained.warnings)
    assert made.report["left_out"] == {}


def test_what_runs_rejected_gives_reasons_witnesses_and_doubts(isa: ISA) -> None:
    values = {each.scheme: each for each in with_all().explanation.characterisations}
    assert values[BSF].reason is NotCharacterised.NOT_INTEGER
    assert values[BSF].text == f"1.40 µops beside 2 × {ADD}, no whole number"
    (witness,) = values[BSF].witnesses
    assert (witness.blocker, witness.copies, witness.mask, witness.seen) == (ADD, 2, 0b11, WitnessOutcome.ODD)
    assert (witness.base_cycles, witness.cycles, witness.surplus) == (1.0, 1.7, 1.4)
    assert values[BSF].facts[0].experiment == Experiment.of({ADD: 2, BSF: 1})
    assert values[HADD].outcome is SchemeFate.CHARACTERISED
    assert values[HADD].runs == ("rejected: 6 µops were found, 4 counted",)
    assert "1 of 1 runs rejected it" in values[HADD].doubts[1]
    assert values[ADD].runs == ("not rejected",)


COUNTED = "fewer uops were characterized for a than were originally observed (3):\n  2"
TOO_FAST = "experiment ['a'] took fewer cycles than expected"


@pytest.mark.parametrize(
    ("why", "reason", "text"),
    [
        (COUNTED, NotCharacterised.MISSING, "2 µops were found, 3 counted"),
        (
            "surplus uops do not add up",
            NotCharacterised.NEGATIVE,
            "fewer µops on a port set than had been found on subsets",
        ),
        (TOO_FAST, NotCharacterised.FAST, TOO_FAST),
        ("never heard\nof", NotCharacterised.NONE, "never heard"),
        (
            "a number of surplus uops (0.5):\n ['x', 'y', 'a']",
            NotCharacterised.NONE,
            "0.50 µops, no whole number",
        ),
    ],
)
def test_the_programs_sentences_are_understood(why: str, reason: NotCharacterised, text: str) -> None:
    assert rejection_of("a", why, {"x": "x", "y": "y"}).reason is reason
    assert rejection_of("a", why, {"x": "x", "y": "y"}).text == text


def test_floods_among_the_evidence_are_witnesses_and_the_sets_are_linked(evidence: ExperimentSet) -> None:
    seen = with_all((evidence,))
    values = {each.scheme: each for each in seen.explanation.characterisations}
    (witness,) = values[NEG].witnesses
    assert (witness.blocker, witness.copies, witness.seen, witness.uops) == (ADD, 10, WitnessOutcome.USES, 1)
    assert witness.surplus == pytest.approx(1.04)
    made = commit(seen, "zen").row
    assert made.report[MEASURED_IN] == [evidence.pk]


def test_evidence_must_be_of_the_same_instruction_set(isa: ISA) -> None:
    foreign = ExperimentSet.objects.create(name="arm", isa=new_isa("arm", ["a"], ""), origin="upload")
    with pytest.raises(ExchangeError, match="'arm' has measurements of arm"):
        with_all((foreign,))


def test_the_scheme_in_most_experiments_blocks_for_its_class() -> None:
    mapping = changed().mapping
    plain = {each.mask: each.blocker for each in blocking_classes(mapping)}
    often = {each.mask: each.blocker for each in blocking_classes(mapping, {"add RW:GPR:64, R:GPR:64": 3})}
    assert plain[0b11] == "neg RW:GPR:64"
    assert often[0b11] == "add RW:GPR:64, R:GPR:64"


def test_short_experiments_are_no_floods() -> None:
    classes = {each.blocker: each for each in blocking_classes(changed().mapping)}
    few = Measured(Experiment.of({"neg RW:GPR:64": 2, "imul RW:GPR:64, R:GPR:64": 1}), 1.5)
    assert measured_floods([few], classes) == {}


def test_a_mapping_of_one_run_and_its_rejects_become_verdicts_too(isa: ISA) -> None:
    mapping = {"kind": "Mapping3", "assignment": {ADD: [[0, 1]], BSF: []}}
    seen = preview(
        json.dumps(mapping).encode(), "m.json", rejects=[rejects_of(REJECTS, "rejects.json")], isa=isa
    )
    assert seen.parsed.mapping.usage == {ADD: ((0b11, 1),), BSF: ()}  # nobody rejected a scheme of this name
    rejected = [{BSF: "surplus uops do not add up"}]
    seen = preview(json.dumps(mapping).encode(), "m.json", rejects=rejected)
    assert seen.parsed.mapping.usage == {ADD: ((0b11, 1),)}
    assert seen.explanation.outcomes == {SchemeFate.CHARACTERISED: 1, SchemeFate.EXCLUDED: 1}


def test_rejects_belong_to_a_port_mapping(isa: ISA) -> None:
    with pytest.raises(ExchangeError, match="has no verdicts on schemes"):
        preview(f'experiment,cycles\n"{ADD}",1\n'.encode(), "a.csv", rejects=[{ADD: "why"}])
    with pytest.raises(ExchangeError, match=r"^r\.json: this is no list of rejected schemes"):
        rejects_of(MAPPING, "r.json")


def test_schemes_that_the_instruction_set_lacks_are_left_out_and_named(db: None) -> None:
    new_isa(X86, [ADD, NEG], "by hand")
    seen = preview(MAPPING, "zen.json")
    assert seen.acceptable
    assert seen.parsed.left_out["bsf RW:GPR:64, R:GPR:64"].startswith(NO_SCHEME)
    assert len(seen.parsed.left_out) == 4
    assert commit(seen, "zen").row.report["left_out"] == seen.parsed.left_out


@pytest.mark.parametrize(
    ("parsed", "problem"),
    [
        (changed(peakipc=0), "column peakipc: 0.0 cannot be a rate"),
        (changed(ports=[]), "column ports: 0 ports"),
        (changed(data={}), "column data: the table is empty"),
        (row(portusage=[[[0]]]), "row 1, column data.portusage: a list is not a kind of µop"),
        (row(portusage=[[[9], 1]]), "row 1, column data.portusage: there is no port '9'"),
        (row(itp=-1), "row 1, column data.itp: -1.0 cannot be an amount"),
        (row(numuops="2"), "row 1, column data.numuops: '2' is not a number"),
    ],
)
def test_what_is_wrong_is_told(parsed: Parsed, problem: str) -> None:
    assert parsed.mapping is None
    assert parsed.lines()[0].startswith(f"upload.json, {problem}")


BARE = b"""{"kind": "ExperimentList",
 "exps": [{"kind": "Experiment", "iseq": ["a", "True"], "result":
   {"cycles": 1.0, "num_uops": 2, "num_uops_increased_by": True, "rt": None, "aborted": False}}]}"""


def test_bare_words_of_python_are_read_outside_of_texts_and_uops_are_kept() -> None:
    parsed = parse(BARE, "experiments.json", AnyNames())
    assert parsed.lines() == []
    assert parsed.measured[0].experiment == Experiment.of(["a", "True"])
    assert parsed.measured[0].counters == {"uops": 2.0}


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (BARE.replace(b"None", b"Nope"), "not valid JSON: Expecting value (line 3, column 72)"),
        (BARE.replace(b"None", b"Trueish"), "not valid JSON: Expecting value (line 3, column 72)"),
        (BARE.replace(b"}]}", b"}]"), "not valid JSON: Expecting ',' delimiter (line 3, column "),
        (BARE.replace(b'"a", "True"', b'"a", "True'), "not valid JSON: "),
    ],
)
def test_other_invalid_json_is_refused_with_its_place(broken: bytes, told: str) -> None:
    (problem,) = parse(broken, "e.json", AnyNames()).problems
    assert problem.message.startswith(told)


@pytest.mark.parametrize("value", ["many", -1, float("nan")])
def test_a_number_of_uops_that_is_none_is_refused(value: object) -> None:
    document = {
        "kind": "ExperimentList",
        "exps": [{"iseq": ["a"], "result": {"cycles": 1, "num_uops": value}}],
    }
    (line,) = parse(json.dumps(document).encode(), "e.json", AnyNames()).lines()
    assert "row 1, column result.num_uops" in line


@pytest.mark.shared
def test_the_published_results_are_all_there(db: None) -> None:
    load_supplied(X86)
    results = PUBLISHED / "results"
    sets = []
    lists = []
    for run in (1, 2, 3):
        folder = results / "individual_results" / f"run0{run}"
        seen = preview((folder / "experiments.json").read_bytes(), "experiments.json")
        sets.append(commit(seen, f"run {run}").row)
        lists.append(rejects_of((folder / "rejects.json").read_bytes(), "rejects.json"))
    assert [each.measurements.count() for each in sets] == [58, 55, 59]
    assert sets[0].measurements.first().counters == {"uops": 2.0}

    content = (results / "port_mapping.json").read_bytes()
    seen = preview(content, "port_mapping.json", rejects=lists, evidence=sets)
    assert seen.parsed.left_out == {}
    made = commit(seen, "zen+").row
    assert made.isa.name == X86
    outcomes = Counter(made.characterisations.values_list("outcome", flat=True))
    assert outcomes == {"characterised": 1700, "excluded": 119}
    reasons = Counter(made.characterisations.exclude(reason="").values_list("reason", flat=True))
    assert reasons == {
        NotCharacterised.NOT_INTEGER: 53,
        NotCharacterised.NEGATIVE: 44,
        NotCharacterised.MORE_UOPS: 20,
        NotCharacterised.MISSING: 2,
    }
    told = json.loads(content)["data"]
    assert len(load_mapping(made).usage) == sum(bool(each["portusage"]) for each in told.values())
    explained = ExplainedMapping.of(made.report)
    assert KEY in made.report
    # The published Table 6.1, found again from the experiments that it took.
    preferred = (PUBLISHED / "config" / "preferred_blocking_insns_zenp.txt").read_text().split("\n")
    assert len(explained.classes) == len(list(filter(None, preferred)))
    names = vocabulary(made.isa)
    assert {each.blocker for each in explained.classes} == {
        names.resolve(name) for name in filter(None, preferred)
    }


@pytest.mark.shared
def test_the_three_published_models_of_zen_plus_have_common_schemes(db: None) -> None:
    load_supplied(X86)
    folder = settings.SHARED / "data" / "zenplus"
    theirs = preview((PUBLISHED / "results" / "port_mapping.json").read_bytes(), "a.json").parsed.mapping
    pmevo = preview((folder / "pmevo" / "inferred_mapping.json").read_bytes(), "b.json").parsed.mapping
    assert (len(pmevo.usage), len(theirs.usage.keys() & pmevo.usage.keys())) == (609, 577)
