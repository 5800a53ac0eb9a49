"""A page for each page of the app, and the glossary."""

from pathlib import Path

from docs.making.markdown import escaped, listed, slug, table
from pages.frame import declared
from pages.glossary_parts.terms import terms

WRITTEN = Path(__file__).resolve().parents[1] / "pages"
ALONE = "Start"


def documents() -> dict[str, str]:
    """Path in the site → Markdown."""
    found = {"pages/index.md": _index(), "glossary.md": _glossary()}
    return found | {f"pages/{page.key}.md": _screen(page) for page in declared.PAGES}


def written(page: declared.Page) -> str:
    """What is written by hand about a page: a heading, which is its title, and how to read it."""
    file = WRITTEN / f"{page.key}.md"
    return file.read_text("utf-8") if file.exists() else f"# {page.title}\n"


def _index() -> str:
    parts = [
        "# How to read each page",
        "The pages of the app in the order of its menus, each with the question that it answers. "
        "Every chart has a sentence below it that says how to read it, and a menu with its table, "
        "downloads and where its numbers come from.",
    ]
    for section, pages in declared.sections().items():
        parts.append(f"## {section or ALONE}")
        parts.append(listed(f"[{p.title}]({p.key}.md): {_question(p)}" for p in pages))
    return "\n\n".join(parts)


def _screen(page: declared.Page) -> str:
    heading, _, rest = written(page).partition("\n")
    found = (entry for entry in terms() if entry.page == page.key)
    parts = [heading, f"*{_question(page)}*", rest.strip()]
    if words := [f"[{escaped(t.name)}](../glossary.md#{slug(t.name)})" for t in found]:
        parts += ["## Words on this page", listed(words)]
    where = f"`/{page.address}`" if page.address else "where everybody arrives"
    menu = f"in the menu *{page.section}*, " if page.section else ""
    parts.append(f"In the app: {menu}{where}.")
    return "\n\n".join(part for part in parts if part)


def _question(page: declared.Page) -> str:
    return page.question.replace("**", "")


def _glossary() -> str:
    parts = ["# Glossary", "What the words on screen mean, and where each is seen."]
    for term in terms():
        where = f"[{escaped(declared.page(term.page).title)}](pages/{term.page}.md)"
        facts = [("Seen on", where)] + [("Source", escaped(term.source))] * bool(term.source)
        parts += [f"## {escaped(term.name)}", escaped(term.about), table(["", ""], facts)]
    return "\n\n".join(parts)
