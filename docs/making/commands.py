"""A page for each command of the command line, from its parser."""

import argparse

from bnmf_core.cli.main import parser
from docs.making.markdown import code, escaped, listed, table


def subcommands() -> dict[str, tuple[str, argparse.ArgumentParser]]:
    """Name → what it does in a line, and its parser."""
    whole = parser()
    (chosen,) = (a for a in whole._actions if isinstance(a, argparse._SubParsersAction))
    said = {one.dest: one.help or "" for one in chosen._choices_actions}
    return {name: (said[name], one) for name, one in chosen.choices.items()}


def documents() -> dict[str, str]:
    """Path in the site → Markdown."""
    found = subcommands()
    index = [
        "# Commands",
        "What `bnmf` can be asked for. Every command takes `--json` for programs and `--store` for "
        "another folder of runs; the [guide](../guide/command-line.md) shows how they go together.",
        listed(f"[bnmf {name}]({name}.md): {escaped(said)}" for name, (said, _) in found.items()),
    ]
    pages = {f"commands/{name}.md": _page(name, one) for name, (_, one) in found.items()}
    return {"commands/index.md": "\n\n".join(index)} | pages


def _page(name: str, command: argparse.ArgumentParser) -> str:
    usage = f"bnmf {name} [OPTIONS] {_places(command)}"
    parts = [f"# bnmf {name}", f"{escaped(_sentence(command.description))}", code(usage, "text")]
    for group in command._action_groups:
        rows = [
            (_name(action), escaped(_help(action)))
            for action in group._group_actions
            if action.help is not argparse.SUPPRESS
        ]
        if rows:
            title = (
                "arguments" if group.title == "positional arguments" else group.title or "options"
            )
            parts += [f"## {escaped(_sentence(title).removesuffix('.'))}"]
            parts += [table(["", "what it is"], rows)]
    return "\n\n".join(parts)


def _places(command: argparse.ArgumentParser) -> str:
    """Its arguments without a name, in their order."""
    names = [a for a in command._actions if not a.option_strings]
    several = {"+": " …", "*": " …"}
    return " ".join(f"{a.metavar or a.dest}{several.get(str(a.nargs), '')}" for a in names).upper()


def _name(action: argparse.Action) -> str:
    value = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
    )
    if not action.option_strings:
        return f"`{value or action.dest}`"
    if action.nargs == 0:
        value = ""
    elif not value:
        value = action.dest.upper()
    return f"`{' '.join([', '.join(action.option_strings), str(value)]).strip()}`"


def _help(action: argparse.Action) -> str:
    return (action.help or "") % {**vars(action), "prog": "bnmf"}


def _sentence(words: str | None) -> str:
    words = words or ""
    return f"{words[:1].upper()}{words[1:]}".rstrip(".") + "."
