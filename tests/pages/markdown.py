"""Finds where a page hands text to Streamlit as Markdown that may come from a file.

Text is safe when it is written in the source, made safe by :data:`SAFE`, a number with a format,
or put together of such parts.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# Commands whose first words are Markdown.
COMMANDS = frozenset(
    """
    markdown caption info error warning success title header subheader toast badge button
    download_button form_submit_button link_button selectbox multiselect radio checkbox toggle
    slider select_slider number_input text_input text_area date_input time_input file_uploader
    pills segmented_control expander popover metric tabs spinner
    """.split()  # noqa: SIM905
)
# Words that stand elsewhere: their positions after the first, and their names.
FURTHER = {"metric": (1, 2), "progress": (1,)}
NAMED = frozenset({"body", "label", "text", "value", "delta", "help", "captions"})
# A link to a page has the page first, its words are named.
ONLY_NAMED = frozenset({"page_link", "progress"})
# Their options are Markdown, too; those of select boxes are not.
WITH_OPTIONS = frozenset({"radio", "pills", "segmented_control"})
MENUS = frozenset({"selectbox", "multiselect"})
SAFE = frozenset({"plain", "duration", "size", "moment", "shown"})
# Said by the developers in the list of pages.
TRUSTED = frozenset({"page.question"})
NUMBERS = tuple("dfgeEG%,")

Scope = ast.FunctionDef | ast.Module


def unsafe(path: Path) -> list[str]:
    """The places in a script where text that is not known to be safe is shown as Markdown."""
    module = ast.parse(path.read_text())
    return [
        f"{path.name}:{argument.lineno}: {ast.unparse(argument)}"
        for scope in _scopes(module)
        for call in _own(scope, ast.Call)
        for argument in _markdown(call)
        if not _Safety(module, scope).of(argument)
    ]


def escaped_menus(path: Path) -> list[str]:
    """The menus of a script whose options are escaped, though they are not read as Markdown."""
    return [
        f"{path.name}:{call.lineno}: {ast.unparse(word.value)}"
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if call.func.attr in MENUS
        for word in call.keywords
        if word.arg == "format_func" and re.search(r"\b(plain|shown)\b", ast.unparse(word.value))
    ]


def _scopes(module: ast.Module) -> Iterator[Scope]:
    yield module
    yield from (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef))


def _own(scope: Scope, kind: type) -> Iterator[ast.AST]:
    """Nodes of a kind in a scope, those of functions inside it left out."""
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, kind):
            yield node
        if not isinstance(node, ast.FunctionDef):
            waiting += ast.iter_child_nodes(node)


def _markdown(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call that Streamlit reads as Markdown."""
    found = [word.value for word in call.keywords if word.arg == "help"]
    names = {node.attr for node in ast.walk(call.func) if isinstance(node, ast.Attribute)}
    for name in names & (COMMANDS | ONLY_NAMED):
        if name not in ONLY_NAMED:
            found += call.args[:1]
        found += [call.args[i] for i in FURTHER.get(name, ()) if i < len(call.args)]
        if not names & {"text_input", "slider", "number_input", "checkbox", "toggle"}:
            found += [word.value for word in call.keywords if word.arg in NAMED - {"help"}]
        if name in WITH_OPTIONS:
            formats = [word.value for word in call.keywords if word.arg == "format_func"]
            found += formats or call.args[1:2]
    return found


class _Safety:
    """Whether expressions of one scope are safe to show as Markdown."""

    def __init__(self, module: ast.Module, scope: Scope) -> None:
        self.module, self.scope = module, scope
        self.asked: set[str] = set()

    def of(self, node: ast.expr) -> bool:  # noqa: PLR0911 (one line a kind)
        match node:
            case ast.Constant() | ast.FormattedValue(format_spec=ast.JoinedStr()):
                return isinstance(node, ast.Constant) or self._number(node)
            case ast.JoinedStr(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
                return all(map(self.of, parts))
            case ast.FormattedValue(value=value) | ast.Lambda(body=value):
                return self.of(value)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.of(left) and self.of(right)
            case ast.IfExp(body=one, orelse=other):
                return self.of(one) and self.of(other)
            case ast.BoolOp(values=values) | ast.Dict(values=values):
                return all(map(self.of, values))
            case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element):
                return self.of(element)
            case ast.Subscript(value=ast.Name() as table):
                return table.id.isupper() and self.of(table)
            case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[parts]):
                return self.of(parts)
            case ast.Call(func=ast.Name(id=name)):
                return name in SAFE or self._function(name)
            case ast.Name(id=name):
                return name in SAFE or self._variable(name)
        return ast.unparse(node) in TRUSTED

    def _number(self, node: ast.FormattedValue) -> bool:
        written = [part.value for part in node.format_spec.values if isinstance(part, ast.Constant)]
        return "".join(written).endswith(NUMBERS)

    def _variable(self, name: str) -> bool:
        """Every value that the variable ever takes, and all that is appended to it."""
        if name in self.asked:
            return True
        self.asked.add(name)
        values = self._values(self.scope, name) or self._values(self.module, name)
        return bool(values) and all(map(self.of, values))

    def _values(self, scope: Scope, name: str) -> list[ast.expr]:
        values = []
        for node in _own(scope, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Call):
            match node:
                case ast.Assign(targets=[ast.Name(id=target)], value=value):
                    values += [value] if target == name else []
                case ast.AugAssign(target=ast.Name(id=target), value=value):
                    values += [value] if target == name else []
                case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value):
                    values += [value] if target == name else []
                case ast.Call(func=ast.Attribute(value=ast.Name(id=target), attr="append")):
                    values += node.args if target == name else []
        return values

    def _function(self, name: str) -> bool:
        """A function of the same script: everything that it returns."""
        for scope in _scopes(self.module):
            if isinstance(scope, ast.FunctionDef) and scope.name == name:
                returned = [node.value for node in _own(scope, ast.Return) if node.value]
                return bool(returned) and all(map(_Safety(self.module, scope).of, returned))
        return False
