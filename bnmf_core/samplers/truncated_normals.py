"""Products of truncated normals: one for every entry of a factor, a density with a known total."""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from bnmf_core.samplers.entries import Entries, Given, redraw


@dataclass(frozen=True, eq=False)
class TruncatedNormals:
    """The density ∝ exp(⟨linear, F⟩ − ½⟨precision, F²⟩) on 0 ≤ F ≤ largest, and its total.

    entries : linear = mean/variance, precision = 1/variance of the normals before they are cut.
    log_total : the logarithm of the integral of that exponential over all entries; (m,) where
        each of m particles has its own density.
    """

    entries: Entries
    log_total: np.ndarray

    @classmethod
    def of(cls, mean: np.ndarray, variance: np.ndarray, largest: float) -> "TruncatedNormals":
        """Normals of this mean and variance, (R, n) or (m, R, n), cut to 0 ≤ F ≤ largest."""
        sd = np.sqrt(variance)
        # The probability of the interval, from the side on which it is no difference of ones.
        low, high = -mean / sd, (largest - mean) / sd
        mirrored = low + high < 0
        low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
        beyond = np.exp(log_ndtr(-high) - log_ndtr(-low))
        log_inside = log_ndtr(-low) + np.log1p(-beyond)
        log_total = log_inside + 0.5 * (mean * mean / variance + np.log(2 * np.pi * variance))
        entries = Entries(mean / variance, 1.0 / variance, largest)
        return cls(entries, log_total.sum(axis=(-2, -1)))

    @property
    def mean(self) -> np.ndarray:
        """Mean of every entry without upper bound: that of a normal truncated at 0."""
        sd = self.entries.precision**-0.5
        place = self.entries.linear * sd
        return sd * (place + np.exp(-0.5 * (place**2 + np.log(2 * np.pi)) - log_ndtr(place)))

    def log_density(self, F: np.ndarray) -> np.ndarray:
        """The logarithm of the normalised density of F (m, R, n): (m,)."""
        return self.entries.log_density(F) - self.log_total

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Independent draws (count, R, n)."""
        F = np.zeros((count, *self.entries.linear.shape[-2:]))
        nothing = Given(np.zeros((count, F.shape[1], 1)), np.zeros_like(F), None)
        redraw(F, nothing, 0.0, self.entries, rng)
        return F
