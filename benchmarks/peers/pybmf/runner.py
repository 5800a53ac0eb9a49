"""Boolean factorizations of X (D, N) by PyBMF's MEBF and GreConD: seconds and wrong cells."""

import json
import sys
import time

import matplotlib

matplotlib.use("Agg")

import numpy as np
from PyBMF import __version__
from PyBMF.models import MEBF, GreConD
from PyBMF.models.BaseModelTools import BaseModelTools
from scipy.sparse import lil_matrix

# PyBMF 0.0.1 stops early by a call that lacks an argument; without it MEBF ends in an error.
_early_stop = BaseModelTools._early_stop
BaseModelTools._early_stop = lambda self, msg, verbose=False, k=None: _early_stop(
    self, msg, verbose, k
)
QUIET = {"task": "reconstruction", "verbose": False, "display": False, "show_logs": False}


def factorized(X, C, options):
    """Of X, with the cells that differ from the noise-free table C."""
    rank = options["rank"]
    model = MEBF(k=rank, t=options["threshold"]) if options["model"] == "mebf" else GreConD(k=rank)
    began = time.perf_counter()
    model.fit(X_train=lil_matrix(X), save_model=False, show_result=False, **QUIET)
    seconds = time.perf_counter() - began
    U, V = (np.asarray(F.todense()) > 0 for F in (model.U, model.V))
    on = U.astype(int) @ V.astype(int).T > 0
    return {"seconds": seconds, "error": int((on != C).sum())}


def main():
    """Answer every line of options {model, rank, threshold} with seconds and errors."""
    arrays = np.load(sys.argv[1])
    X, C = arrays["X"].astype(int), arrays["C"] > 0
    print(json.dumps({"ready": True, "version": __version__}), flush=True)
    for line in sys.stdin:
        try:
            print(json.dumps(factorized(X, C, json.loads(line))), flush=True)
        except Exception as error:
            print(json.dumps({"failed": f"{type(error).__name__}: {error}"}), flush=True)


main()
