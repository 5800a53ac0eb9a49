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
            "movement (°)",
            "Degrees by which a factorization would turn, at most, if its iterations doubled. "
            "Differences below this are no differences.",
        ),
        "gain": (
            "Left to gain by each factorization",
            "left to gain (nats)",
            "By how much the log likelihood would still rise if it went on. Below 0.01 nothing is "
            "left to gain.",
        ),
        "kkt": (
            "KKT residual of each factorization",
            "part left to go (KKT residual)",
            "How far entries are from where each would go by itself, as a part of the "
            "factorization. At a minimum it is 0.",
        ),
        "log_joint": (
            "Joint density of every factorization",
            "logarithm of the density",
            "The density of data and factorization together (log joint). Farther right is a higher "
            "peak under the run's own model, which says nothing of the mass around it. Compare "
            "runs of the same model only. The grey bar is the median.",
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
            "Weights of the unseen observations are solved with A fixed. Where the error of a run "
            "is low and this is high, its basis fits noise.",
        ),
        "diversity": (
            "Difference from the rest of the run",
            with_unit(f"mean distance to the others, {distance.label}", distance.unit),
            "Points farther right are unlike the other factorizations of their run: another mode, "
            "or a poor fit. Compare with the error.",
        ),
    }
