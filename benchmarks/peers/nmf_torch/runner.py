"""Fits of nmf-torch on X (samples, features), float32 on the CPU, from random starts."""

import contextlib
import json
import os
import sys
import time

import numpy as np
import torch
from nmf import run_nmf


def fit(X, rank, algorithm, seed, mode="batch"):
    """One factorization; its printed progress is discarded."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        return run_nmf(
            X,
            rank,
            init="random",
            algo=algorithm,
            mode=mode,
            random_state=seed,
            fp_precision="float",
        )


def updates(X, rank, count):
    """Seconds of multiplicative updates for the Kullback–Leibler divergence, from its own start."""
    options = {"init": "random", "beta_loss": "kullback-leibler", "algo": "mu", "tol": 0.0}
    times = []
    # It computes its error, and can stop, every ten updates.
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        for most in (20, 20 + count):
            began = time.perf_counter()
            run_nmf(X, rank, batch_max_iter=most, n_jobs=1, random_state=0, **options)
            times.append(time.perf_counter() - began)
    return times[1] - times[0]


def main():
    """Answer every line of options {rank, algorithm, seeds} with seconds and errors.

    Or, with {divergence, rank, updates}, with seconds of multiplicative updates.
    """
    X = np.load(sys.argv[1])["X"]
    tensor = torch.tensor(X, dtype=torch.float)
    norm = np.linalg.norm(X)
    for algorithm in ("hals", "halsvar"):
        fit(tensor[:64, :64], 2, algorithm, 0)
    print(json.dumps({"ready": True, "threads": torch.get_num_threads()}), flush=True)
    for line in sys.stdin:
        options = json.loads(line)
        torch.set_num_threads(options["threads"])
        if options.get("divergence"):
            seconds = updates(tensor, options["rank"], options["updates"])
            print(json.dumps({"seconds": seconds}), flush=True)
            continue
        seconds, errors = [], []
        for seed in options["seeds"]:
            began = time.perf_counter()
            H, W, _ = fit(
                tensor, options["rank"], options["algorithm"], seed, options.get("mode", "batch")
            )
            seconds.append(time.perf_counter() - began)
            product = H.astype(np.float64) @ W.astype(np.float64)
            errors.append(float(np.linalg.norm(X - product) / norm))
        print(json.dumps({"seconds": seconds, "errors": errors}), flush=True)


main()
