"""Small files of measurements as text, and a vocabulary of two schemes to read them with."""

import json
from pathlib import Path

from inference.core.experiment import Unit
from inference.formats.parsing import AnyNames, Parsed, parse

GOLDEN = Path(__file__).parent / "golden"


class TwoSchemes:
    """A vocabulary of two schemes, the second known by another name as well."""

    known = {"add R, R": "add R, R", "mul R, R": "mul R, R", "MUL_R_R": "mul R, R"}

    def resolve(self, name: str) -> str | None:
        return self.known.get(name)

    def nearest(self, name: str, n: int = 1) -> list[str]:
        return ["add R, R"] if name.startswith("ad") else []


def csv(text: str, unit: Unit = Unit.CYCLES) -> Parsed:
    return parse(text.encode(), "upload.csv", AnyNames(), unit)


def pmevo(*experiments: object) -> Parsed:
    content = json.dumps({"kind": "ExperimentList", "exps": list(experiments)}).encode()
    return parse(content, "upload.json", AnyNames())


def only_problem(parsed: Parsed) -> str:
    assert parsed.problem_count == 1, parsed.lines()
    assert parsed.measured == ()
    assert parsed.mapping is None
    return parsed.lines()[0]
