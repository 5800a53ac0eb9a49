"""Titles and reading helps of the pictures of the page Fit and weights."""

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.compare.distances.pairwise import Distance
from pages.frame.words import with_unit

LOGARITHMIC = ("movement", "gain", "kkt")


def pictures_of(distance: Distance, comparison: Comparison) -> dict[str, tuple[str, str, str]]:
    """Column of the table → title, axis and reading help."""
    return {
        "movement": (
            "Remaining rotation of each factorization",
            "remaining rotation (°)",
            "The degrees by which a factorization would rotate at most if its iterations doubled. "
            "Smaller differences between factorizations are not meaningful.",
        ),
        "gain": (
            "Left to gain by each factorization",
            "left to gain (nats)",
            "The amount by which the log likelihood would still rise. Below 0.01 nothing is left "
            "to gain.",
        ),
        "kkt": (
            "KKT residual of each factorization",
            "part left to go (KKT residual)",
            "The violation of the optimality conditions, relative to the size of the "
            "factorization. It is 0 at an optimum.",
        ),
        "log_joint": (
            "Joint density of every factorization",
            "logarithm of the density",
            "The joint density of data and factorization (log joint). Farther right is a higher "
            "peak under the run's own model, not a larger posterior mass. Compare only runs of "
            "the same model. The grey bar is the median.",
        ),
        "error": (
            "Error of every factorization",
            f"{comparison.measure_axis} on what the run saw",
            f"{comparison.measure_ends}. Optima far right of the rest are poor local minima; draws "
            "of a chain are no optima, and lie right of them as far as the posterior allows.",
        ),
        "held_out": (
            "Error on observations that no run saw",
            f"{comparison.fit.loss.axis}, held out",
            "Weights of the unseen observations are solved with A fixed. If the error of a run is "
            "low and this is high, its basis fits noise.",
        ),
        "diversity": (
            "Difference from the rest of the run",
            with_unit(f"mean distance to the others, {distance.label}", distance.unit),
            "Points farther right differ from the other factorizations of their run: another "
            "mode, or a poor fit. Compare with the error.",
        ),
    }
