"""Gibbs sweeps of nimfa's Bd on X (D, N) with a fixed noise variance and exponential priors."""

import json
import sys
import time
from itertools import pairwise

import nimfa
import numpy as np
from nimfa.methods.seeding.random import Random


def model(X, rank, sigma, rate, **options):
    """Bd with the same model as ours: σ² fixed, every entry Exp(λ)."""
    return nimfa.Bd(
        X,
        rank=rank,
        seed="random",
        sigma=sigma**2,
        skip=1,
        stride=1,
        n_sigma=True,
        alpha=np.full((X.shape[0], rank), rate),
        beta=np.full((rank, X.shape[1]), rate),
        min_residuals=None,
        **options,
    )


def sweeps(X, options):
    """Seconds of sweeps alone, after the start has been made."""
    bd = model(X, options["rank"], options["sigma"], options["rate"], max_iter=1, test_conv=1000)
    bd.factorize()
    bd.update(1)
    began = time.perf_counter()
    for _ in range(options["sweeps"]):
        bd.update(1)
    return time.perf_counter() - began


def updates(X, A, W, count):
    """Seconds of multiplicative updates for the Kullback–Leibler divergence."""
    times = []
    for most in (1, 1 + count):
        began = time.perf_counter()
        nimfa.Nmf(
            X,
            rank=A.shape[1],
            seed=None,
            W=A.copy(),
            H=W.copy(),
            update="divergence",
            objective="div",
            max_iter=most,
            min_residuals=None,
            test_conv=10 * most,
        )()
        times.append(time.perf_counter() - began)
    return times[1] - times[0]


def proposed(X, ranks, replicates, seed):
    """The number of components before the cophenetic correlation falls for the first time.

    Updates and rule are those of Brunet and others (2004).
    """
    np.random.seed(seed)
    # Its starts take no seed; and connectivity as the end, as in the paper, ends all but the first.
    Random.gen_dense = lambda start, *shape: np.asmatrix(np.random.uniform(0, start.max, shape))
    found = nimfa.Nmf(
        X, seed="random", update="divergence", objective="div", max_iter=500, test_conv=10
    ).estimate_rank(rank_range=ranks, n_run=replicates, what=["cophenetic"])
    cophenetic = [found[rank]["cophenetic"] for rank in ranks]
    falls = [at for at, (one, next_) in enumerate(pairwise(cophenetic)) if next_ < one]
    return ranks[falls[0]] if falls else ranks[-1]


def main():
    """Answer every line of options with seconds: {rank, sigma, rate, sweeps} of sweeps.

    With {divergence, updates}, of multiplicative updates from the factors A and W. With {ranks,
    replicates, seed} the answer is a number of components.
    """
    np.random.seed(0)
    arrays = np.load(sys.argv[1])
    X = arrays["X"]
    print(json.dumps({"ready": True, "version": nimfa.__version__}), flush=True)
    for line in sys.stdin:
        options = json.loads(line)
        if "ranks" in options:
            print(json.dumps({"rank": proposed(X, **options)}), flush=True)
            continue
        if options.get("divergence"):
            seconds = updates(X, arrays["A"], arrays["W"], options["updates"])
        else:
            seconds = sweeps(X, options)
        print(json.dumps({"seconds": seconds}), flush=True)


main()
