"""Imports point one way, and the engine knows nothing of the user interface."""

import ast
from pathlib import Path

import pytest

ENGINE = Path(__file__).resolve().parents[1] / "bnmf_core"

# From the bottom up; a module may import from its own layer and from lower ones.
LAYERS = [
    ["version", "nouns.errors", "nouns.settings", "nouns.names"],
    ["numerics"],
    ["nouns"],
    ["store"],
    ["data"],
    ["solvers"],
    ["models"],
    ["variational"],
    ["samplers", "explorers"],
    ["registry"],
    ["posterior"],
    ["compare"],
    ["analysis"],
    ["runs"],
    ["figures", "cli"],
    ["__main__"],
]


def layer(module: str) -> int:
    found = [
        (len(prefix), number)
        for number, prefixes in enumerate(LAYERS)
        for prefix in prefixes
        if module == prefix or module.startswith(prefix + ".")
    ]
    assert found, f"{module} has no layer"
    return max(found)[1]


MODULES = sorted(p for p in ENGINE.rglob("*.py") if p.parent != ENGINE or p.stem != "__init__")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ENGINE)))
def test_a_module_imports_only_from_its_layer_and_below(path):
    own = ".".join(path.relative_to(ENGINE).with_suffix("").parts).removesuffix(".__init__")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            assert not name.startswith(("streamlit", "pages", "studies")), f"{own} imports {name}"
            if name.startswith("bnmf_core."):
                imported = name.removeprefix("bnmf_core.")
                assert layer(imported) <= layer(own), f"{own} imports {imported}"
