"""Components applied to new samples on the command line."""

import json

import numpy as np
import pandas as pd
from scipy import optimize

from bnmf_core.cli.main import main
from bnmf_core.data.synthetic import laurberg
from bnmf_core.store.run_store import RunStore


def test_weights_of_a_file_are_those_of_scipy(tmp_path, capsys):
    home = ["--store", str(tmp_path / "home")]
    matrix = laurberg("two", noise=0.001, rng=np.random.default_rng(0)).X
    genes = [f"gene{d}" for d in range(len(matrix))]
    data = pd.DataFrame(matrix.T, columns=genes, index=[f"s{n}" for n in range(matrix.shape[1])])
    data.to_csv(tmp_path / "old.csv", index_label="id")
    new = data.iloc[:4, ::-1].mul([1.0, 2.0, 3.0, 0.5], axis=0)
    new.to_csv(tmp_path / "new.csv", index_label="id")
    start = ["run", str(tmp_path / "old.csv"), "--rank", "3", "--particles", "8", "--json"]
    assert main([*start, "--observations", "rows", *home]) == 0
    run_id = json.loads(capsys.readouterr().out)["runs"][0]["id"]
    written = tmp_path / "weights.csv"
    asked = ["apply", run_id, str(tmp_path / "new.csv"), "--observations", "rows"]
    asked += ["--output", str(written), *home]
    assert main([*asked, "--mode", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["samples"] == 4 and told["mode"] == 2
    table = pd.read_csv(written)
    W = table[[f"weight of {r}" for r in (1, 2, 3)]].to_numpy()
    X = new[genes].to_numpy()
    fits = []
    particles = RunStore(tmp_path / "home").particles(run_id)
    for A in np.asarray(particles.A, dtype=float):
        found = np.array([optimize.nnls(A, x)[0] for x in X])
        fits.append(np.abs(np.sort(found, axis=1) - np.sort(W, axis=1)).max())
    assert min(fits) < 1e-6
    assert main([*asked, "--mode", "9"]) == 1
    assert "there are modes 1 to" in capsys.readouterr().err
