"""Data larger than memory: taken on the page Data, promised on Analyse, told on every page."""

import json
import os

import numpy as np
import pytest
import streamlit as st

from bnmf_core import Dataset, RunSpec
from tests.pages.apps import page, words

N, D, SAMPLE = 3_000, 12, 300


def plainly(app):
    return words(app).replace("\\", "")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that the server opens, with a store in it and one that lies outside."""
    allowed = tmp_path / "allowed"
    (allowed / "inner").mkdir(parents=True)
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, 1.0, (N, 3)) @ rng.gamma(0.5, 1.0, (3, D))
    np.save(allowed / "inner" / "*cells*.npy", X)
    np.save(tmp_path / "secret.npy", X)
    (allowed / "torn.npy").write_bytes(b"\x93NUMPY")
    (allowed / "notes.txt").write_text("no store")
    monkeypatch.setenv("BNMF_FOLDERS", str(allowed))
    st.cache_data.clear()
    return allowed


@pytest.fixture
def large(server, folder):
    """The stored id of data in blocks."""
    data = Dataset.from_blocks(folder / "inner" / "*cells*.npy", sample=SAMPLE)
    return server.store.add_dataset(data)


def test_without_folders_the_tab_says_who_can_list_some(server, monkeypatch):
    monkeypatch.delenv("BNMF_FOLDERS", raising=False)
    assert "BNMF_FOLDERS, such as" in plainly(page("data"))


def test_a_store_on_the_server_is_listed_looked_at_and_taken(server, folder):
    app = page("data")
    box = app.selectbox(key="blocks_store")
    assert box.options == ["inner/*cells*.npy", "torn.npy"]
    box.set_value(str(folder / "inner" / "*cells*.npy")).run()
    assert not app.exception and not app.error
    said = plainly(app)
    assert f"{D} features × 3,000 observations · 1 block · 100 % of the first block above 0" in said
    assert "288 KB on the disk" in said
    (corner,) = [t.value for t in app.dataframe if "observation 1" in t.value.index]
    assert corner.shape == (8, 8)
    assert server.store.datasets() == {}
    app.number_input[0].set_value(SAMPLE).run()
    app.button(key="blocks_use").click().run()
    assert not app.exception and not app.error
    kept = server.store.dataset(app.session_state["view_data"])
    assert (kept.whole.N, kept.N, kept.name) == (N, SAMPLE, "*cells*")
    said = plainly(app)
    assert f"{D} features × 3,000 observations" in said
    assert "of all 3,000 observations; charts of observations show a random sample of 300." in said
    assert not any(button.key in ("hide_go", "blocks_use") for button in app.button)


def test_observations_may_lie_in_columns(server, folder):
    app = page("data")
    app.text_input(key="blocks_path").set_value("inner/*cells*.npy").run()
    app.session_state["blocks_side"] = "columns"
    app.run()
    assert "3,000 features × 12 observations" in plainly(app)
    app.button(key="blocks_use").click().run()
    kept = server.store.dataset(app.session_state["view_data"])
    assert (kept.D, kept.whole.N) == (N, D)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("../secret.npy", "lies outside the folders"),
        ("/etc/passwd", "lies outside the folders"),
        ("inner/none.npy", "There is no file or folder"),
        ("torn.npy", "damaged NPY header"),
        ("notes.txt", "is of no kind that is read by blocks"),
        ("inner", "is of no kind that is read by blocks"),
        ("\0", "lies outside the folders"),
        ("**" + "x" * 5000, "There is no file or folder"),
    ],
)
def test_what_cannot_be_opened_is_told_in_a_sentence(server, folder, path, sentence):
    app = page("data")
    app.text_input(key="blocks_path").set_value(path).run()
    assert not app.exception
    (error,) = app.error
    assert sentence in error.value.replace("\\", "")
    assert not any(button.key == "blocks_use" for button in app.button)
    assert server.store.datasets() == {}


def test_a_link_out_of_the_folder_is_not_followed(server, folder):
    os.symlink(folder.parent / "secret.npy", folder / "link.npy")
    st.cache_data.clear()
    app = page("data")
    app.text_input(key="blocks_path").set_value("link.npy").run()
    assert "lies outside the folders" in app.error[0].value.replace("\\", "")


def test_negative_values_are_told_when_the_block_is_read(server, folder):
    np.save(folder / "negative.npy", -np.ones((200, 3)))
    app = page("data")
    app.text_input(key="blocks_path").set_value("negative.npy").run()
    assert "holds a value that is negative" in app.error[0].value.replace("\\", "")


def test_analyse_promises_passes_seconds_and_bytes(server, large):
    app = page("run", data=large)
    assert not app.exception and not app.error
    said = plainly(app)
    assert "20 random restarts run until they converge" in said
    assert (
        "About 20 passes of Random restarts and Q-Transform and about 8,000 passes of Gibbs go "
        "over all 3,000 observations"
    ) in said
    assert "each pass reads 0.3 MB" in said
    assert server.pilots.known(large, RunSpec("random_restarts", 5, particles=20)) is None


def test_a_model_without_blocks_is_refused_in_a_sentence(server, large):
    app = page("run", data=large)
    app.selectbox(key="model").set_value("itakura_saito").run()
    assert not app.exception
    assert "choose a Gaussian or a Poisson model" in app.error[0].value.replace("\\", "")
    assert app.button(key="go").disabled


def test_every_page_says_what_is_of_a_sample(server, folder):
    data = Dataset.from_blocks(folder / "inner" / "*cells*.npy", sample=2_100)
    run_ids = server.start(data, [RunSpec("random_restarts", 2, particles=2)])
    server.wait(run_ids)
    server.wait_analysis(run_ids, "structure")
    for name in ("overview", "components", "samples"):
        app = page(name, runs=",".join(run_ids))
        assert not app.exception and not app.error
        assert "of observations show a random sample of 2,100." in plainly(app)
    app.toggle(key="biplot_density").set_value(True).run()
    assert not app.exception and not app.error
    charts = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    kinds = [{trace["type"] for trace in chart["data"]} for chart in charts]
    assert any({"heatmap", "scatter"} <= one for one in kinds)
    assert plainly(app).count("Observations are a random sample of 2,100 of 3,000.") == 2
