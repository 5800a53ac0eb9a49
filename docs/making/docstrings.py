"""Docstrings as Markdown: sentences, sections with what they hold, examples."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator

from docs.making.markdown import code, prose

UNDERLINE = "---"
# Longer signatures stand on a line per argument.
ONE_LINE = 80


def as_markdown(docstring: str | None, level: int = 2) -> str:
    """A docstring with its sections as headings of this level."""
    return "\n\n".join(_blocks(inspect.cleandoc(docstring or ""), level))


def summary(docstring: str | None) -> str:
    """Its first paragraph, as Markdown."""
    return prose(" ".join(inspect.cleandoc(docstring or "").split("\n\n")[0].split()))


def signature(name: str, thing: Callable[..., object]) -> str:
    """How it is called, as its source has it: a block of code."""
    source = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    if isinstance(source, ast.ClassDef):
        arguments = _of_class(source)
        returned = ""
    else:
        assert isinstance(source, ast.FunctionDef)
        arguments = [a for a in _arguments(source.args) if a.split(":")[0] not in ("self", "cls")]
        returned = f" -> {ast.unparse(source.returns)}" if source.returns is not None else ""
    line = f"{name}({', '.join(arguments)}){returned}"
    if len(line) > ONE_LINE:
        inside = "".join(f"    {argument},\n" for argument in arguments)
        line = f"{name}(\n{inside}){returned}"
    return code(line, "python")


def public_members(thing: type) -> Iterator[tuple[str, Callable[..., object], bool]]:
    """Name, function and whether it is a property of every public method with a docstring."""
    for name, member in vars(thing).items():
        if name.startswith("_"):
            continue
        is_property = not (inspect.isfunction(member) or isinstance(member, classmethod))
        function = getattr(member, "fget", None) or getattr(member, "func", None) or member
        function = getattr(function, "__func__", function)
        if inspect.isfunction(function) and function.__doc__:
            yield name, function, is_property


def _of_class(source: ast.ClassDef) -> list[str]:
    for node in source.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return [a for a in _arguments(node.args) if a.split(":")[0] != "self"]
    fields = (node for node in source.body if isinstance(node, ast.AnnAssign))
    return [ast.unparse(node) for node in fields if not isinstance(node.target, ast.Attribute)]


def _arguments(arguments: ast.arguments) -> list[str]:
    """Each argument with its type and its default."""
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(placed) - len(arguments.defaults)) + list(arguments.defaults)
    found = [_argument(*both) for both in zip(placed, defaults, strict=True)]
    if arguments.vararg is not None:
        found.append(f"*{_argument(arguments.vararg, None)}")
    elif arguments.kwonlyargs:
        found.append("*")
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return found + [_argument(*both) for both in named]


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    told = ast.unparse(argument)
    if default is None:
        return told
    return f"{told} = {ast.unparse(default)}" if argument.annotation else f"{told}={default}"


def _blocks(text: str, level: int) -> Iterator[str]:
    lines = text.split("\n")
    starts = [
        i
        for i in range(len(lines) - 1)
        if lines[i].strip() and lines[i + 1].startswith(UNDERLINE) and not lines[i].startswith(" ")
    ]
    ends = [*starts, len(lines)]
    yield from _paragraphs(lines[: ends[0]])
    for start, end in zip(starts, ends[1:], strict=True):
        title, inside = lines[start].strip(), lines[start + 2 : end]
        yield f"{'#' * level} {title}"
        yield from _examples(inside) if title == "Examples" else _entries(inside)


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Paragraphs of prose; what is indented is a formula or a picture in characters."""
    for paragraph in "\n".join(lines).split("\n\n"):
        if paragraph.startswith("    "):
            yield code(textwrap.dedent(paragraph), "text")
        elif paragraph.strip():
            yield prose(paragraph.strip())


def _entries(lines: list[str]) -> Iterator[str]:
    """What a section lists: an entry begins at the margin, and goes on indented."""
    entries: list[str] = []
    for line in filter(str.strip, lines):
        if line.startswith(" ") and entries:
            # A name alone, as of an error, and what is said of it.
            named = re.fullmatch(r"[\w, ]+", entries[-1])
            entries[-1] += (": " if named else " ") + line.strip()
        else:
            entries.append(line.strip())
    yield "\n".join(f"- {prose(entry)}" for entry in entries)


def _examples(lines: list[str]) -> Iterator[str]:
    yield code(textwrap.dedent("\n".join(lines)).strip(), "pycon")
