"""Every page of the site as Markdown: what is written by hand, and what the program says of itself.

The navigation is what index pages list: a heading of the first page and the links below it become
a part of the menu, those of other index pages stand under their own page. So a page is in the menu
when somebody can find it by reading.
"""

import re
import shutil
from pathlib import Path, PurePosixPath

from docs.making import atlas, catalogue, commands, licences, public_names, screens
from docs.making.markdown import listed

DOCS = Path(__file__).resolve().parents[1]
# What is no page, and what is made of parts.
NO_PAGES = ("making", "pages")
# What pages show or link to beside other pages.
FILES = (".png", ".svg", ".csv", ".ipynb")
HEADING = re.compile(r"^## (.+)$")
ENTRY = re.compile(r"^[-*] \[[^\]]+\]\(([^)#:]+\.md)\)", re.MULTILINE)
TITLE = re.compile(r"^#+ (.+)$", re.MULTILINE)


def handwritten() -> dict[str, str]:
    """Path in docs/ → Markdown, of the pages that are written or made by a study."""
    files = (file.relative_to(DOCS) for file in sorted(DOCS.rglob("*.md")))
    return {
        file.as_posix(): _titled((DOCS / file).read_text("utf-8"))
        for file in files
        if file.parts[0] not in NO_PAGES
    }


def pages() -> dict[str, str]:
    """Path in the site → Markdown, of all pages."""
    found = handwritten()
    for made in (atlas, catalogue, screens, commands, public_names, licences):
        found |= made.documents()
    found["studies.md"] = _studies(found)
    return found


def menu(path: str, text: str) -> dict[str, list[str]]:
    """Heading → paths of the pages that an index page lists below it, from the site's root."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"(?m)^(?=## )", text):
        heading = HEADING.match(part.split("\n", 1)[0])
        links = [_resolved(path, link) for link in ENTRY.findall(part)]
        if links:
            found[heading[1] if heading else ""] = links
    return found


def is_index(path: str) -> bool:
    """Whether what the page lists is the navigation."""
    return PurePosixPath(path).name == "index.md" or path == "studies.md"


def with_menu(path: str, text: str) -> str:
    """The page with directives that tell the site generator what it lists."""
    if not is_index(path):
        return text
    trees = []
    for heading, links in menu(path, text).items():
        caption = f":caption: {heading}\n" if path == "index.md" else ""
        inside = "\n".join(f"/{link.removesuffix('.md')}" for link in dict.fromkeys(links))
        trees.append(f"```{{toctree}}\n:hidden:\n{caption}\n{inside}\n```")
    return "\n\n".join([text, *trees])


def stage(folder: Path) -> None:
    """Write all pages, pictures and tables into an empty folder, for the site generator."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in pages().items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(with_menu(path, text), "utf-8")
    for file in sorted(DOCS.rglob("*")):
        if file.suffix in FILES:
            target = folder / file.relative_to(DOCS)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def _titled(text: str) -> str:
    """The page with a title: where a study's begins with a lower heading, that one."""
    return text if text.startswith("# ") else re.sub(r"\A#+ ", "# ", text)


def _studies(found: dict[str, str]) -> str:
    names = [path for path in found if path.endswith("-study.md")]
    links = []
    for path in names:
        title = TITLE.search(found[path])
        assert title is not None, path
        links.append(f"[{title[1]}]({path})")
    return "\n\n".join(
        [
            "# Studies",
            "The experiments of the papers, made again on this engine and put beside the published "
            "numbers, counts, published data, and common practice: what comes out, and why. "
            "`python -m studies NAME` makes one again; the numbers come with the program.",
            listed(links),
        ]
    )


def _resolved(path: str, link: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(path).parent / link).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
