"""Gaussian likelihood, columns of A on the simplex (paper 3, §5.2: the prior that fixes the scale).

X_dn ~ N((AW)_dn, σ²), every column of A ~ Dirichlet(1, …, 1), every entry of W ~ Exp(λ). The
density of a column is taken with respect to its first D − 1 entries, where it is (D − 1)!.
"""

from dataclasses import dataclass, replace

from bnmf_core.likelihoods import composed, gaussian, priors


@dataclass(frozen=True)
class Settings(priors.RateOfWeights, gaussian.Noise):
    """Settings of the gaussian_simplex model."""


MODEL = composed.model(
    # Normal conditionals are of single entries, which on a simplex depend on each other; and the
    # trace of second derivatives is taken in coordinates that leave the simplex.
    replace(gaussian.LIKELIHOOD, extras={"noise_level": gaussian.noise_level}),
    priors.SIMPLEX,
    Settings,
    key="gaussian_simplex",
    label="Gaussian noise, columns of A sum to one",
    summary="Every entry of X has the same noise variance. Every column of A is a distribution "
    "over the features, uniform a priori, so the scale is in W alone.",
    reference="paper 3, §5.2",
)
