"""After `compile_all`, an inference finds every compiled loop."""

from __future__ import annotations

import sys
from typing import Any

from inference.core.compiling_ahead import compile_all
from inference.core.pmevo import infer
from tests.core.pmevo.small import Listener, problem, processor


def signatures() -> dict[str, Any]:
    """{compiled function of the core: the argument types that it has been compiled for}."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("inference.core."):
            for attribute, value in vars(module).items():
                if hasattr(value, "py_func") and value.__module__ == name:
                    found[f"{name}.{attribute}"] = list(value.signatures)
    return found


def test_an_inference_compiles_nothing_that_was_not_compiled_ahead() -> None:
    compile_all()
    before = signatures()
    assert any(before.values())
    infer(problem(), processor(), Listener(), 3)
    after = signatures()
    assert {name: after[name] for name in after if after[name] != before.get(name)} == {}
