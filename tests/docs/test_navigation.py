"""Everything there is has a page, and every page can be found by reading."""

import dataclasses

import pytest

import bnmf_core
from bnmf_core.analysis.criteria import CRITERIA
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.core.settings import declarations
from bnmf_core.likelihoods import MODELS
from bnmf_core.registry import ALGORITHMS
from docs.making import catalogue, screens, sources
from docs.making.commands import subcommands
from docs.making.docstrings import as_markdown, signature
from docs.making.markdown import escaped, prose
from pages.frame import declared
from pages.glossary_parts.terms import terms

PAGES = sources.pages()


def in_menus() -> set[str]:
    """Pages that index pages list, from the first one on."""
    found, waiting = {"index.md"}, ["index.md"]
    while waiting:
        path = waiting.pop()
        if not sources.is_index(path):
            continue
        for listed in sources.menu(path, PAGES[path]).values():
            waiting += [one for one in listed if one not in found]
            found |= set(listed)
    return found


def test_the_menus_hold_every_page_and_nothing_else():
    assert in_menus() == set(PAGES)


def test_every_entry_of_a_registry_and_every_name_has_a_page():
    needed = {f"algorithms/{key}.md" for key in ALGORITHMS}
    needed |= {f"models/{key}.md" for key in MODELS}
    needed |= {f"pages/{page.key}.md" for page in declared.PAGES}
    needed |= {f"commands/{name}.md" for name in subcommands()}
    needed |= {f"api/{name}.md" for name in bnmf_core.__all__}
    assert needed <= in_menus()
    for label in [one.label for one in DISTANCES.values()]:
        assert f"\n## {escaped(label)}\n" in PAGES["distances.md"]
    for label in [one.label for one in CRITERIA.values()]:
        assert f"\n## {escaped(label)}\n" in PAGES["criteria.md"]
    for term in terms():
        assert f"\n## {escaped(term.name)}\n" in PAGES["glossary.md"]


@pytest.mark.parametrize("key", list(ALGORITHMS))
def test_the_page_of_an_algorithm_has_all_that_it_declares(key):
    one, text = ALGORITHMS[key], PAGES[f"algorithms/{key}.md"]
    assert escaped(one.summary) in text
    assert escaped(one.caveat) in text
    assert escaped(one.reference) in text
    assert "## How it works" in text
    for name, (_, setting) in declarations(one.Settings).items():
        assert f"`{name}`" in text
        assert " ".join(escaped(setting.help).split()) in text
    for model in MODELS.values():
        assert (f"(../models/{model.key}.md)" in text) == one.works_with(model)


def test_an_algorithm_that_is_added_has_its_page_without_another_edit(monkeypatch):
    added = dataclasses.replace(ALGORITHMS["gibbs"], key="added", label="Added *one*")
    monkeypatch.setitem(ALGORITHMS, "added", added)
    made = catalogue.documents()
    assert made["algorithms/added.md"].startswith("# Added \\*one\\*\n")
    assert (
        "algorithms/added.md"
        in sources.menu("algorithms/index.md", made["algorithms/index.md"])["Samplers"]
    )


@pytest.mark.parametrize("page", declared.PAGES, ids=lambda page: page.key)
def test_what_is_written_of_a_page_begins_with_its_title(page):
    assert screens.written(page).splitlines()[0] == f"# {page.title}"


def test_nothing_is_written_of_pages_that_there_are_not():
    assert {file.stem for file in screens.WRITTEN.glob("*.md")} <= {p.key for p in declared.PAGES}


def test_a_docstring_becomes_sections_whose_text_stands_as_it_is():
    def example(first: int, *, second: str = "b") -> bool:
        """Add |x| and ``y_z``, see :func:`bnmf_core.run`.

        Parameters
        ----------
        first : a (D, R) *thing*,
            on two lines.

        Raises
        ------
        DataError
            When it is none.

        Examples
        --------
        >>> 1 + 1
        2
        """
        return bool(first and second)

    text = as_markdown(example.__doc__)
    assert text.startswith("Add \\|x\\| and `y_z`, see `run`.")
    assert "- first : a (D, R) \\*thing\\*, on two lines." in text
    assert "- DataError: When it is none." in text
    assert "```pycon\n>>> 1 + 1\n2\n```" in text
    assert "example(first: int, *, second: str = 'b') -> bool" in signature("example", example)
    assert prose("a_b [c] <d>") == "a\\_b \\[c\\] \\<d\\>"
