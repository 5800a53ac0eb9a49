"""The papers whose methods are made here, by the numbers that docstrings and references use."""

import re

PAPERS = {
    1: "A. Masood, W. Pan and F. Doshi-Velez: An Empirical Comparison of Sampling Quality Metrics: "
    "A Case Study for Bayesian Nonnegative Matrix Factorization, 2016.",
    2: "M. A. Masood and F. Doshi-Velez: Rapid Posterior Exploration in Bayesian Non-negative "
    "Matrix Factorization, 2016.",
    3: "M. A. Masood and F. Doshi-Velez: A Particle-Based Variational Approach to Bayesian "
    "Non-negative Matrix Factorization, 2019.",
    4: "F. Gonsior: Obtaining trustable results for Probabilistic Boolean Matrix Factorization "
    "using SGD/MCMC, master's thesis, TU Dortmund, 2019.",
}


def cited(text: str) -> list[str]:
    """The papers that a reference names by number, in full.

    >>> [one[:10] for one in cited("paper 3, algorithms 1–4")]
    ['paper 3: M']
    """
    numbers = dict.fromkeys(int(found) for found in re.findall(r"\bpapers? (\d)", text))
    return [f"paper {number}: {PAPERS[number]}" for number in numbers if number in PAPERS]
