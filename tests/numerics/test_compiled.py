"""Compiled code gives the same bits where it is compiled and where it comes from the disk."""

import ast
from pathlib import Path

import pytest

import bnmf_core

ENGINE = Path(bnmf_core.__file__).parent


def decorated(tree):
    """Compiled functions of a file: name → (its node, its decorator's options)."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("njit"):
                    options = {word.arg: ast.unparse(word.value) for word in mark.keywords}
                    found[node.name] = node, options
    return found


FILES = [path for path in sorted(ENGINE.rglob("*.py")) if "njit(" in path.read_text()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_reordered_arithmetic_is_compiled_into_its_caller(path):
    """There are else two versions of it, rounded differently: its own, and one in its caller.

    The process that compiles them runs one, and those that load the caller from the disk the other.
    """
    compiled = decorated(ast.parse(path.read_text()))
    called = {
        inner.func.id
        for name, (node, _) in compiled.items()
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name)
        if inner.func.id in compiled and inner.func.id != name
    }
    for name in called:
        options = compiled[name][1]
        if "fastmath" in options:
            inlined = options.get("forceinline") == "True" or options.get("inline") == "'always'"
            assert inlined, f"{name} needs forceinline=True"
