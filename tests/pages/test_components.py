"""Parts: names of features by component, and components that have no partner elsewhere."""

import numpy as np
import pytest

from bnmf_core import Dataset
from bnmf_core.analysis import resampling, structure
from bnmf_core.data.foreign import Foreign
from bnmf_core.findings.answer import Answer
from bnmf_core.findings.facts import say
from bnmf_core.findings.spreads import facts, spreads
from bnmf_core.runs.foreign import bring
from bnmf_core.store.manifest import DONE
from pages.components_parts.words import names_in
from pages.frame import services
from tests.pages.apps import page, table_with, words

GENES = [f"gene{d}" for d in range(160)]


@pytest.fixture
def two(server):
    """A run of two bases that share their first component and have another second one."""
    rng = np.random.default_rng(0)
    one, other = np.zeros((2, 160, 2))
    one[:3, 0] = other[:3, 0] = 3, 2, 1
    one[10:13, 1] = 3, 2, 1
    other[20:23, 1] = 3, 2, 1
    W = rng.random((2, 9)) + 0.1
    data = Dataset.from_array(one @ W + 0.01, features=GENES, features_are="genes")
    server.store.add_dataset(data)
    found = [Foreign(f"fit {k}", A + 1e-6, W) for k, A in enumerate((one, other))]
    (run_id,) = bring(server.store, data, found)
    server.wait_analysis([run_id], "structure")
    return run_id


def test_a_part_without_a_partner_is_said_to_have_none(two):
    app = page("components", runs=two, threshold="1")
    assert not app.exception
    tables = [element.value for element in app.markdown if element.value.startswith("| Component")]
    assert len(tables) == 2
    (alone,) = (table for table in tables if "no counterpart" in table)
    assert "no counterpart, 90° away" in alone and "in the first factorization only" in alone
    assert "●" not in alone
    (shared,) = (table for table in tables if table is not alone)
    assert (
        "· prevalence " in shared
        and "the same genes" in shared
        and "gene0 · gene1 · gene2" in shared
    )


def test_features_are_called_by_their_name(two):
    app = page("components", runs=two)
    assert "Strongest genes of each component" in [heading.value for heading in app.header]
    assert any(asked.label == "Genes per component" for asked in app.number_input)


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("a, b", ["a", "b"]),
        ("kinase, beta, b", ["kinase, beta", "b"]),
        ("b,kinase, beta", ["b", "kinase, beta"]),
        ("kinase, gamma", ["kinase", "gamma"]),
        ("kinase, beta, long, b", ["kinase, beta, long", "b"]),
        (" , ", []),
    ],
)
def test_a_name_with_a_comma_is_one_name(typed, names):
    known = ["a", "b", "kinase, beta", "kinase, beta, long"]
    assert names_in(typed, known) == names


def test_what_turns_components_is_said_and_waited_for_without_stopping_the_page(server, finished):
    runs = ",".join(finished)
    comparison = server.analyse(finished)
    threshold = structure.suggested_threshold(comparison, "max_angle")
    modes = structure.modes_at(comparison, "max_angle", threshold)
    one = spreads(Answer(comparison, "max_angle", modes))
    shown = words(page("components", runs=runs))
    assert "samples" in one.intervals and say(facts(one)) in shown.replace("\\", "")
    assert "they are not shares of anything" in shown and "Only counts" in shown
    (resampling.STAGE.folder(comparison) / DONE).unlink()
    waiting = page("components", runs=runs)
    assert not waiting.exception and "Angle between each component" in words(waiting)


def test_no_resample_is_waited_for_where_nothing_has_converged(two):
    app = page("components", runs=two)
    assert not app.exception and "not shares of anything" not in words(app)


def test_a_catalogue_is_compared_mode_by_mode(two):
    app = page("components", runs=two, threshold="1")
    app.session_state["catalogue_fold"] = True
    app.run()
    order = np.random.default_rng(4).permutation(160)
    first, second = np.zeros((2, 160))
    first[:3], second[10:13] = (3, 2, 1), (3, 2, 1)
    lines = ["gene\tkinase\tmyosin"]
    lines += [f"{GENES[d]}\t{first[d]}\t{second[d]}" for d in order]
    content = "\n".join(lines).encode()
    app.file_uploader(key="catalogue_file").set_value(("known.txt", content, "text/plain")).run()
    assert not app.exception
    listed = table_with(app, "component", "nearest entries")
    told = set(listed["nearest entries"])
    assert "kinase: 1.00 in mode 1, 1.00 in mode 2" in told
    (other,) = (one for one in told if one.startswith("myosin"))
    assert {"1.00 in mode", "0.00 in mode"} == {other[8:20], other[24:36]}
    assert "All 160 features are in the catalogue" in words(app)
    app.selectbox(key="known_entry").set_value(0).run()
    begin = next(one for one in app.button if one.label.startswith("Solve again with it"))
    begin.click().run()
    services.place().wait(60)
    app.run()
    assert not app.exception
    assert "With “kinase” in place of component" in words(app) and "others turn" in words(app)
    content = content.replace(b"gene7\t", b"gone\t")
    app.file_uploader(key="catalogue_file").set_value(("known.txt", content, "text/plain")).run()
    assert not app.exception
    (error,) = app.error
    assert "159 of 160 features" in error.value and "gene7" in error.value


def test_sets_of_genes_are_told_mode_by_mode(two):
    app = page("components", runs=two, threshold="1")
    app.session_state["lists_fold"] = True
    app.run()
    app.number_input(key="lists_count").set_value(6).run()
    lists = table_with(app, "rank", "feature")
    assert len(lists) == 12 and set(lists["component"]) == {"1", "2"}
    assert set(lists["feature"].iloc[[0, 6]]) < {"gene0", "gene10", "gene20"}
    lines = [
        "shared\t\t" + "\t".join([*GENES[:3], "gene50", "gene51"]),
        "one\t\t" + "\t".join([*GENES[10:13], "gene60", "gone"]),
        "other\t\t" + "\t".join([*GENES[20:23], "gene70", "gene71"]),
    ]
    content = "\n".join(lines).encode()
    app.file_uploader(key="sets_file").set_value(("some.gmt", content, "text/plain")).run()
    assert not app.exception
    told = words(app)
    assert "The best set depends on the mode for 1 of 2 components: component " in told
    assert "over all 8 tests: 2 sets, 2 components, 2 modes" in told
    assert "14 of 15 genes in 'some.gmt' are among the 160 of the data" in told
    assert "1 of 3 sets have fewer than 5" in told
    app.file_uploader(key="sets_file").set_value(("x.gmt", b"A\t\tTP53\n", "text/plain")).run()
    (error,) = app.error
    assert "None of the 1 genes of 'x.gmt' is in the data" in error.value
