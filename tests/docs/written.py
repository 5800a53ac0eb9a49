"""What the tests of the documentation take apart: blocks of code, links, headings, bold words."""

import re
from collections.abc import Iterator
from pathlib import Path

from docs.making.markdown import slug
from docs.making.screens import WRITTEN
from docs.making.sources import DOCS, handwritten

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```([\w{}]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\\.)*\]\(([^)\s]+)\)")
BOLD = re.compile(r"\*\*([^*]+)\*\*")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def by_hand() -> dict[str, str]:
    """Path in docs/ → Markdown, of the pages that people write; no studies, which are made."""
    pages = {path: text for path, text in handwritten().items() if not path.endswith("-study.md")}
    parts = {f"pages/{file.name}": file.read_text("utf-8") for file in sorted(WRITTEN.glob("*.md"))}
    return pages | parts


def blocks(text: str) -> list[tuple[str, str]]:
    """Language and content of every block of code, in order."""
    return BLOCK.findall(text)


def without_code(text: str) -> str:
    """The text without blocks and pieces of code."""
    return re.sub(r"`[^`\n]+`", "", BLOCK.sub("", text))


def links(text: str) -> list[str]:
    """Targets of all links and pictures."""
    return LINK.findall(without_code(text))


def anchors(text: str) -> set[str]:
    """What a link into the page may name."""
    plain = (re.sub(r"[`\\]", "", title) for title in HEADING.findall(BLOCK.sub("", text)))
    return {slug(title) for title in plain}


def commands(text: str) -> Iterator[str]:
    """Every command of the program in a block of code, without a comment behind it."""
    for language, content in blocks(text):
        if language in ("", "console", "sh"):
            for line in content.splitlines():
                found = re.match(r"(?:\.venv/bin/)?(bnmf .+)", line.strip())
                if found:
                    yield found[1].split(" #")[0].strip()


def picture(path: str) -> bool:
    """Whether there is such a picture in docs/."""
    return (DOCS / path).is_file()
