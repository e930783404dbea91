"""Files that say something about another one: lists of scheme names, and of rejected schemes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from inference.formats import rejects_json
from inference.formats.errors import ExchangeError
from inference.formats.palmed_json import NAME_LIST, NameList, read_names
from inference.formats.problems import Problems
from inference.formats.rejects_json import Rejects, read_rejects
from inference.formats.source import Signature, Source, read_source

Value = TypeVar("Value")


def name_list_of(content: bytes, file_name: str) -> NameList:
    """The names in a file that translates Palmed's instructions; raises `ExchangeError` for others."""
    expected = "this is no list of names", 'an object {"our scheme": ["Palmed\'s instruction"]} is expected'
    return _side_file(content, file_name, NAME_LIST, read_names, expected)


def rejects_of(content: bytes, file_name: str) -> Rejects:
    """The schemes that a run of the published explainable algorithm rejected; raises `ExchangeError`."""
    expected = "this is no list of rejected schemes", 'a list [["scheme", "why"], …] is expected'
    return _side_file(content, file_name, rejects_json.SIGNATURE, read_rejects, expected)


def _side_file(
    content: bytes,
    file_name: str,
    signature: Signature,
    read_it: Callable[[Source], Value],
    expected: tuple[str, str],
) -> Value:
    """What a file says that comes beside another one."""
    problems = Problems()
    source = read_source(content, file_name, problems)
    if source is not None and signature.is_of(source):
        value = read_it(source)
        if not problems:
            return value
    elif not problems:
        problems.add(*expected)
    raise ExchangeError("\n".join(problem.line(file_name) for problem in problems.listed))
