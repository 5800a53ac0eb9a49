"""cNMF's consensus on X (D, N): how stable each number of components is, and the stable ones."""

import json
import sys
import tempfile
import warnings
from importlib.metadata import version

import matplotlib as mpl
import numpy as np
import pandas as pd
from cnmf import cNMF


def proposed(X, ranks, replicates, seed):
    """The most stable number of components, and their spectra (D, R) on the terms that it chose."""
    with tempfile.TemporaryDirectory() as folder:
        # A cell of zeros has no total to divide by.
        cells = pd.DataFrame(X.T[X.sum(axis=0) > 0])
        cells.index, cells.columns = cells.index.map(str), [f"g{row}" for row in range(len(X))]
        cells.to_csv(f"{folder}/counts.txt", sep="\t")
        found = cNMF(output_dir=folder, name="it")
        found.prepare(f"{folder}/counts.txt", components=ranks, n_iter=replicates, seed=seed)
        found.factorize(worker_i=0, total_workers=1)
        found.combine()
        found.k_selection_plot(close_fig=True)
        with np.load(found.paths["k_selection_stats"], allow_pickle=True) as stored:
            stats = pd.DataFrame(stored["data"], columns=stored["columns"])
        rank = int(stats["k"][stats["silhouette"].astype(float).idxmax()])
        # As its tutorial: components far from their neighbours are outliers.
        found.consensus(rank, density_threshold=0.5, show_clustering=False, build_ref=False)
        place = found.paths["consensus_spectra__txt"] % (rank, "0_5")
        return rank, pd.read_csv(place, sep="\t", index_col=0).to_numpy().T


def main():
    """Answer every line of options {ranks, replicates, seed} with a number and components."""
    warnings.simplefilter("ignore")
    mpl.use("Agg")
    X = np.load(sys.argv[1])["X"]
    print(json.dumps({"ready": True, "version": version("cnmf")}), flush=True)
    for line in sys.stdin:
        rank, A = proposed(X, **json.loads(line))
        print(json.dumps({"rank": rank, "A": A.tolist()}), flush=True)


main()
