"""Fit and weights: is each factorization good enough, and what do they weigh together?"""

from pages.frame import choosing, guard
from pages.quality_parts import fit, weights

VIEWS = {"fit": "Fit and convergence", "weights": "Weights by Stein discrepancy"}

guard.enter("quality")
if choosing.part("What is shown", VIEWS) == "fit":
    fit.show()
else:
    weights.show()
