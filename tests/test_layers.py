"""Imports point one way, and the engine knows nothing of the user interface."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from bnmf_core.likelihoods import MODELS

ENGINE = Path(__file__).resolve().parents[1] / "bnmf_core"

# From the bottom up; a module may import from its own layer and from lower ones.
LAYERS = [
    ["version", "lazy", "core.errors", "core.settings", "core.names", "core.plain"],
    ["numerics"],
    ["core"],
    ["jobs"],
    ["store"],
    ["data"],
    ["blocks"],
    ["solvers"],
    ["passes"],
    ["likelihoods"],
    ["samplers", "explorers"],
    ["registry"],
    ["posterior"],
    ["compare"],
    ["evidence"],
    ["analysis"],
    ["findings"],
    ["runs"],
    ["figures"],
    ["boolean", "rrt"],
    ["share"],
    ["notebook"],
    ["cli"],
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


def imports(path: Path) -> Iterator[str]:
    """Every name that a module imports, with the module it comes from."""
    yield from imports_of(ast.parse(path.read_text()))


def imports_of(tree: ast.Module) -> Iterator[str]:
    """The same of a parsed module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


MODULES = sorted(p for p in ENGINE.rglob("*.py") if p.parent != ENGINE or p.stem != "__init__")
PLUG_INS = [manifest.parent.name for manifest in ENGINE.glob("*/plugin.toml")]
STUDIES = sorted((ENGINE.parent / "studies").rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ENGINE)))
def test_a_module_imports_only_from_its_layer_and_below(path):
    own = ".".join(path.relative_to(ENGINE).with_suffix("").parts).removesuffix(".__init__")
    for name in imports(path):
        assert not name.startswith(("streamlit", "pages", "studies")), f"{own} imports {name}"
        if name.startswith("bnmf_core."):
            imported = name.removeprefix("bnmf_core.")
            assert layer(imported) <= layer(own), f"{own} imports {imported}"


@pytest.mark.parametrize("path", STUDIES, ids=lambda p: str(p.relative_to(ENGINE.parent)))
def test_a_study_knows_the_engine_and_no_page(path):
    for name in imports(path):
        assert not name.startswith(("streamlit", "pages", "bnmf_core.figures")), name
        # Only what is told of a study draws and prints; what measures it needs no benchmark.
        if name.startswith("benchmarks"):
            assert path.stem == "report" or path.parent.name == "drawing", name


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ENGINE)))
def test_plug_ins_come_through_the_registries_alone(path):
    """As a third party's do; only the list of public names in ``bnmf_core`` names them."""
    own = path.relative_to(ENGINE).parts[0]
    for name in imports(path):
        for plug_in in PLUG_INS:
            assert own == plug_in or not name.startswith(f"bnmf_core.{plug_in}."), name


def test_no_module_needs_itself_by_way_of_others():
    """Not even within a folder; imports that only the type checker reads do not count."""
    needs: dict[str, set[str]] = {}
    for path in MODULES:
        tree = ast.parse(path.read_text())
        tree.body = [node for node in tree.body if not isinstance(node, ast.If)]
        own = ".".join(path.relative_to(ENGINE.parent).with_suffix("").parts)
        needs[own] = {part for name in imports_of(tree) for part in (name, name.rpartition(".")[0])}
    ours = {own: (needed & set(needs)) - {own} for own, needed in needs.items()}
    assert set(TopologicalSorter(ours).static_order()) == set(ours)  # raises at a cycle


def test_no_module_but_likelihoods_and_plug_ins_knows_one_likelihood():
    """They ask the registry, so that the next one is one file and a line there."""
    named = {
        (str(path.relative_to(ENGINE)), name)
        for path in MODULES
        for name in imports(path)
        if name.startswith("bnmf_core.likelihoods.")
        if not name.endswith((".MODELS", ".composed", ".priors", ".entrywise"))
        if path.parent.name != "likelihoods"
    }
    assert not named
    # "gaussian" is also what transforms may be learned on, "uniform" a way to draw.
    keys = set(MODELS) - {"gaussian", "uniform", "boolean"}
    for path in MODULES:
        if path.parent.name not in ("likelihoods", "boolean"):
            text = {node.value for node in ast.walk(ast.parse(path.read_text())) if is_text(node)}
            assert not text & keys, f"{path} names {text & keys}"


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
