"""How often counts are said to vary more than Poisson allows: where they do, and where not.

Counts of random factors, dense or mostly near 0, are drawn with Poisson or negative binomial noise,
whose variance y + y²/k exceeds the mean. A share of Poisson data above the limit is an error; of
negative binomial data it is the power.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from benchmarks import harness
from bnmf_core import Dataset
from bnmf_core.evidence.variation import Variation, variation

SHAPES = ((20, 15), (40, 30), (200, 200))
MEANS = (0.1, 0.3, 1.0, 5.0, 50.0, 500.0)
# Shape of the factors' gamma distribution: most entries near 0, or dense.
FACTORS = (0.2, 1.0)
COMPONENTS = (2, 5)
DISPERSIONS = (1.0, 3.0, 10.0)
# Largest share of Poisson data above the limit; least share of others whose mean is LARGE or more.
TARGETS, LARGE = {"Poisson": 0.05, "Negative binomial": 0.9}, 5.0
NOISES = (("Poisson", (np.inf,), 3, 0.0), ("Negative binomial", DISPERSIONS, 1, LARGE))
COLUMNS = ("entries", "mean", "data sets", "by Pearson's ratio", "by either")


def measure(quick: bool = False) -> dict[str, Any]:
    """Data sets above the limit by noise, size and mean."""
    shapes, means = (SHAPES[:1], MEANS[3:4]) if quick else (SHAPES, MEANS)
    tables, said = [], list[str]()
    for title, dispersions, repeats, least in NOISES:
        rows = []
        for shape, mean in product(shapes, means):
            found = [one for k in dispersions for one in _fits(shape, mean, k, repeats)]
            pearson = sum(one.beyond_poisson and not one.by_weight for one in found)
            rows.append(
                [
                    f"{shape[0]} × {shape[1]}",
                    mean,
                    len(found),
                    pearson,
                    sum(one.beyond_poisson for one in found),
                ]
            )
        judged = [row for row in rows if row[1] >= least]
        share = sum(row[4] for row in judged) / sum(row[2] for row in judged)
        verdict = harness.against(max(share, 1e-3), TARGETS[title], at_least=least > 0.0)
        said.append(
            f"{title}, mean ≥ {least:g}: {share:.1%} are above the limit; the target is "
            f"{verdict['target']}."
        )
        rows.append(["all", None, *(sum(row[i] for row in rows) for i in (2, 3, 4))])
        tables.append({"title": title, "columns": COLUMNS, "rows": rows})
    return {
        "title": "Counts that vary more than Poisson allows",
        "summary": [
            f"Factors: gamma distributed with shape {FACTORS}, {COMPONENTS} components. Negative "
            f"binomial noise: k of {DISPERSIONS}.",
            *said,
        ],
        "tables": tables,
    }


def _fits(shape: tuple[int, int], mean: float, k: float, repeats: int) -> Iterator[Variation]:
    for factors, R, seed in product(FACTORS, COMPONENTS, range(repeats)):
        rng = np.random.default_rng([seed, R, *shape, int(10 * mean), int(10 * factors)])
        Y = rng.gamma(factors, 1.0, (shape[0], R)) @ rng.gamma(factors, 1.0, (R, shape[1]))
        Y *= mean / Y.mean()
        noise = 1.0 if np.isinf(k) else rng.gamma(k, 1.0 / k, Y.shape)
        X = rng.poisson(Y * noise).astype(float)
        yield variation(Dataset.from_array(X))


if __name__ == "__main__":
    harness.main(measure)
