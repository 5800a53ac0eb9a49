"""SigProfilerExtractor's suggested solution of counts X (D, N) with the names of their types."""

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from SigProfilerExtractor import sigpro


def proposed(X, features, ranks, replicates, **_):
    """The suggested number of signatures, and the signatures (D, R); it seeds every call anew."""
    with tempfile.TemporaryDirectory() as folder:
        counts = pd.DataFrame(X.astype(int), index=pd.Index(features, name="MutationType"))
        counts.columns = [f"sample {column}" for column in counts]
        counts.to_csv(f"{folder}/counts.txt", sep="\t")
        sigpro.sigProfilerExtractor(
            *("matrix", f"{folder}/out", f"{folder}/counts.txt"),
            minimum_signatures=ranks[0],
            maximum_signatures=ranks[-1],
            nmf_replicates=replicates,
            cpu=1,
            assignment_cpu=1,
            make_decomposition_plots=False,
            stop_after_extraction=True,
        )
        [stats] = Path(folder, "out").glob("*/All_solutions_stat.csv")
        # Its suggestion is marked by an asterisk.
        [rank] = [
            int(one.rstrip("*"))
            for one in pd.read_csv(stats).iloc[:, 0].astype(str)
            if one.endswith("*")
        ]
        [place] = stats.parent.glob(
            f"All_Solutions/*_{rank}_Signatures/Signatures/*_Signatures.txt"
        )
        return rank, pd.read_csv(place, sep="\t", index_col=0).loc[features].to_numpy()


def main():
    """Answer every line of options {ranks, replicates, seed} with a number and signatures."""
    with np.load(sys.argv[1]) as arrays:
        X, features = arrays["X"], arrays["features"].tolist()
    name = version("SigProfilerExtractor")
    print(json.dumps({"ready": True, "version": name}), flush=True)
    for line in sys.stdin:
        rank, A = proposed(X, features, **json.loads(line))
        print(json.dumps({"rank": rank, "A": A.tolist()}), flush=True)


if __name__ == "__main__":
    main()
