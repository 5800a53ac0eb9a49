"""A page for each public name of the engine: how it is called, what it is, its example."""

import inspect

import bnmf_core
from docs.making.docstrings import as_markdown, public_members, signature, summary
from docs.making.markdown import listed


def documents() -> dict[str, str]:
    """Path in the site → Markdown."""
    names = sorted(bnmf_core.__all__, key=str.lower)
    of = {name: getattr(bnmf_core, name) for name in names}
    functions = {name: thing for name, thing in of.items() if not inspect.isclass(thing)}
    classes = {name: thing for name, thing in of.items() if inspect.isclass(thing)}
    parts = [
        "# Public names",
        "`from bnmf_core import …`. Every example on these pages is run by the tests, and prints "
        "what stands there.",
    ]
    for title, some in (("Functions", functions), ("Classes", classes)):
        links = (f"[{name}]({name}.md): {summary(thing.__doc__)}" for name, thing in some.items())
        parts += [f"## {title}", listed(links)]
    return {"api/index.md": "\n\n".join(parts)} | {
        f"api/{name}.md": _page(name, thing) for name, thing in of.items()
    }


def _page(name: str, thing: type) -> str:
    parts = [f"# {name}", signature(name, thing), as_markdown(thing.__doc__)]
    if inspect.isclass(thing):
        for member, function, is_property in public_members(thing):
            parts.append(f"## {name}.{member}".replace("_", r"\_"))
            if not is_property:
                parts.append(signature(f"{name}.{member}", function))
            parts.append(as_markdown(function.__doc__, level=3))
    home = inspect.getmodule(thing)
    parts.append(f"In the code: `{home.__name__ if home else ''}`.")
    return "\n\n".join(parts)
