"""The dashboard opens on what a notebook holds, and says why where it cannot."""

import subprocess
import sys
from types import SimpleNamespace
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import NMF, PCA

from bnmf_core import Dataset, PosteriorNMF, RunSpec, RunStore, explore, laurberg, run
from bnmf_core.cli.main import main
from bnmf_core.core.errors import BNMFError, DataError, RunError
from bnmf_core.data.foreign import Foreign
from bnmf_core.notebook import dashboard, server
from tests.pages.visitors import Visitor

DATA = laurberg("two", noise=0.01, rng=np.random.default_rng(0))
X = DATA.X.T


@pytest.fixture
def unserved(monkeypatch):
    """No server starts; the addresses that a browser was sent to."""
    opened = []
    process = SimpleNamespace(poll=lambda: 0, terminate=lambda: None, wait=lambda timeout=0: 0)
    monkeypatch.setattr(server, "started", lambda home: (process, "http://here"))
    monkeypatch.setattr(dashboard.webbrowser, "open", opened.append)
    return opened


@pytest.fixture(scope="module")
def nmf() -> NMF:
    return NMF(3, init="random", random_state=0, max_iter=3000, tol=1e-8).fit(X)


@pytest.fixture(scope="module")
def posterior() -> PosteriorNMF:
    return PosteriorNMF(3, n_restarts=6, random_state=0).fit(X)


@pytest.mark.slow
def test_a_browser_finds_what_the_notebook_had_under_the_apps_own_policy(tmp_path, nmf, posterior):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    opened = explore(frame, [nmf, posterior], name="Mine", home=tmp_path, open_browser=False)
    address, _, place = opened.url.partition("/overview?runs=")
    with opened, urlopen(opened.url) as page:
        assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
        visitor = Visitor(address, {})
        assert b"Mine, 3 components" in visitor.visit("overview", runs=place)
        visitor.close()
        assert "running" in repr(opened)
    assert "closed" in repr(opened)
    with pytest.raises(OSError, match="refused"):
        urlopen(address)


def test_what_is_kept_is_what_was_given(tmp_path, unserved, nmf, posterior):
    found = explore(DATA, [nmf, (nmf.components_.T, nmf.transform(X).T), posterior], home=tmp_path)
    store = RunStore(tmp_path)
    own, foreign = (store.particles(run_id) for run_id in found.run_ids)
    assert own.digest == posterior.particles_.digest
    assert own.spec == posterior.particles_.spec
    for A, W in zip(foreign.A, foreign.W, strict=True):
        np.testing.assert_array_equal(A, nmf.components_.T)
        np.testing.assert_allclose(W, nmf.transform(X).T)
    assert foreign.error[0] * np.linalg.norm(X) == pytest.approx(nmf.reconstruction_err_, rel=1e-3)
    assert unserved == [f"http://here/overview?runs={','.join(found.run_ids)}"]
    again = explore(DATA, [posterior, nmf], home=tmp_path, open_browser=False)
    assert again.run_ids[0] == found.run_ids[0] and len(unserved) == 1
    assert len(store.runs()) == 3 and len(store.datasets()) == 1


def test_an_estimator_that_knows_names_of_features_is_given_them(tmp_path, unserved):
    table = pd.DataFrame(X, columns=list("abcdef"))
    named = NMF(2, init="random", random_state=0, max_iter=3000).fit(table)
    (run_id,) = explore(table, [named.set_output(transform="pandas")], home=tmp_path).run_ids
    np.testing.assert_array_equal(RunStore(tmp_path).particles(run_id).A[0], named.components_.T)


def test_only_runs_that_can_be_compared_are_opened_together(tmp_path, unserved, posterior):
    other = PosteriorNMF(2, n_restarts=2, random_state=0).fit(X)
    fewer = run(Dataset.from_array(X.T), RunSpec("random_restarts", 3, particles=2, holdout=0.4))
    found = explore(X, [posterior, other, fewer, posterior], home=tmp_path)
    assert len(set(found.run_ids)) == 3
    assert unserved == [f"http://here/overview?runs={found.run_ids[0]}"]


@pytest.mark.parametrize(
    ("given", "observations"),
    [
        (X, "rows"),
        (sparse.csr_array(X), "rows"),
        (pd.DataFrame(X), "rows"),
        (X.T, "columns"),
        (DATA, "rows"),
    ],
)
def test_a_pair_multiplies_to_the_matrix_as_it_was_given(tmp_path, unserved, given, observations):
    rng = np.random.default_rng(0)
    D, N = DATA.D, DATA.N
    A, W = rng.random((D, 2)), rng.random((2, N))
    pair = (A, W) if isinstance(given, Dataset) or observations == "columns" else (W.T, A.T)
    with pytest.warns(UserWarning, match="Pair 1 fits the data worse than the mean"):
        (run_id,) = explore(given, [pair], observations=observations, home=tmp_path).run_ids
    kept = RunStore(tmp_path).particles(run_id)
    np.testing.assert_array_equal(kept.A[0], A)
    np.testing.assert_array_equal(kept.W[0], W)


@pytest.mark.parametrize("gaps", [False, True])
def test_only_pairs_that_fit_worse_than_means_are_warned_of(gaps):
    mask = np.random.default_rng(1).random(DATA.X.shape) < 0.8 if gaps else None
    data = Dataset.from_array(np.asarray(DATA.X), mask=mask)
    truth, N = DATA.truth[0], DATA.N
    assert not dashboard._worse_than_means(Foreign("a", 7 * truth.A, truth.W), data)
    assert dashboard._worse_than_means(Foreign("b", truth.A[:, :1], np.ones((1, N))), data)
    means = data.X.sum(axis=1) / (N if mask is None else mask.sum(axis=1))
    assert not dashboard._worse_than_means(Foreign("c", means[:, None], np.ones((1, N))), data)


def test_rows_and_columns_of_a_table_keep_their_names(tmp_path, unserved):
    table = pd.DataFrame(X[:4], index=list("wxyz"), columns=list("abcdef"))
    explore(table, home=tmp_path)
    explore(table.T, observations="columns", home=tmp_path)
    (entry,) = RunStore(tmp_path).dataset_entries()
    kept = RunStore(tmp_path).dataset(entry.id)
    assert kept.features == tuple("abcdef") and kept.observations == tuple("wxyz")
    assert unserved == [f"http://here/data?data={entry.id}"] * 2


@pytest.mark.parametrize(
    ("data", "factorizations", "sentence"),
    [
        (-X, [], "-1|negative"),
        (X, [(X[:, :2], X[:3])], r"pair 1 are \(6, 2\) and \(3, 6\)"),
        (X, [(X[:, :2], X[:2, :3])], r"\(6, R\) and \(R, 6\) are needed"),
        (X, [(X[:, :2] - 1, X[:2])], "every entry must be a finite number ≥ 0"),
        (X, [PCA(2).fit(X)], "every entry must be a finite number ≥ 0"),
        (X, [NMF(2)], "NMF 1 is not fitted"),
        (X[:, :5], [SimpleNamespace(transform=0, components_=X[:2])], "fitted to 6 features"),
        (X, ["a"], "Factorization 1 is of type str"),
        (laurberg("unique"), [run(DATA, RunSpec("random_restarts", 3, particles=2))], "the error"),
        (run(DATA, RunSpec("random_restarts", 3, particles=2)), [], "give the data first"),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(tmp_path, data, factorizations, sentence):
    with pytest.raises(BNMFError, match=sentence):
        explore(data, factorizations, home=tmp_path, open_browser=False)


def test_what_was_made_of_fewer_observations_is_refused(tmp_path, posterior):
    with pytest.raises(DataError, match="give the dataset that was factorized"):
        explore(X[:5], [posterior], home=tmp_path)
    with pytest.raises(BNMFError, match="give 'rows' or 'columns'"):
        explore(X, observations="samples", home=tmp_path)


def test_how_to_install_the_app_is_said(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    with pytest.raises(RunError, match=r'needs Streamlit.*pip install "bnmf\[app\]"'):
        explore(X, home=tmp_path)
    assert not any(tmp_path.iterdir())
    assert main(["app", "--home", str(tmp_path)]) == 1
    monkeypatch.setattr(server, "FOLDER", None)
    with pytest.raises(RunError, match="needs its pages"):
        explore(X, home=tmp_path)
    assert main(["app", "--port", "0"]) == 1
    assert "a number from 1 to 65535" in capsys.readouterr().err


def test_a_server_that_ends_gives_its_last_line(monkeypatch, tmp_path):
    code = "import sys; sys.exit('no room here')"
    monkeypatch.setattr(server, "command", lambda port: [sys.executable, "-c", code])
    with pytest.raises(RunError, match="The last line it said: no room here"):
        explore(X, home=tmp_path)


def test_a_server_that_does_not_stop_is_ended(monkeypatch):
    def wait(timeout=None):
        if timeout:
            raise subprocess.TimeoutExpired("server", timeout)

    ended = []
    stubborn = SimpleNamespace(terminate=lambda: None, wait=wait, kill=lambda: ended.append(1))
    dashboard.Dashboard(stubborn, "http://here", []).close()
    assert ended == [1]
