"""Export draws for ArviZ."""

import warnings
from typing import TYPE_CHECKING

import numpy as np

from bnmf_core import registry
from bnmf_core.compare.alignment import align, largest_first
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.core.particles import Particles
from bnmf_core.lazy import lazy
from bnmf_core.posterior.places import problem_of

if TYPE_CHECKING:
    import xarray
else:
    xarray = lazy("xarray")


def to_arviz(particles: Particles, dataset: Dataset | None = None) -> "xarray.DataTree":
    """The draws of a run as ArviZ 1 reads them, components in one order.

    Unlike :meth:`Particles.to_datatree`, where a component may have another number in every chain,
    so that R̂ of an entry of A would compare different ones, components are matched with those of
    the draw of largest log joint density (Marin, Mengersen & Robert 2005), the component that
    explains most of X first.

    Groups: ``posterior`` with A (chain, draw, feature, component) and W (chain, draw, component,
    observation); ``sample_stats`` with the log joint ``lp`` and ``error``; ``observed_data`` with X
    (feature, observation), NaN where missing.

    Parameters
    ----------
    dataset : the factorized data, for ``observed_data`` and the names of features and
        observations; None to omit both.

    Warns
    -----
    UserWarning
        When the algorithm makes no draws from the posterior.

    Raises
    ------
    DataError
        When the dataset does not fit the draws.

    Examples
    --------
    >>> from bnmf_core import RunSpec, laurberg, run, to_arviz
    >>> data = laurberg("two", noise=0.01)
    >>> settings = {"chains": 2, "warm_up": 10, "thinning": 1}
    >>> draws = to_arviz(run(data, RunSpec("gibbs", 3, particles=20, settings=settings)), data)
    >>> dict(draws.posterior.sizes)["chain"], draws.observed_data["X"].shape
    (2, (6, 6))
    """
    if dataset is not None and not isinstance(dataset, Dataset):
        raise DataError(
            f"The data are of type {type(dataset).__name__}; give the Dataset that was factorized, "
            "from Dataset.from_array for one."
        )
    key = particles.spec.algorithm
    known = registry.ALGORITHMS.get(key)
    if not (known.exact if known else particles.trace):
        warnings.warn(
            f"{registry.label_of(key)} makes no draws from the posterior. R̂, ESS and intervals "
            "that ArviZ computes from its factorizations do not describe the posterior.",
            UserWarning,
            stacklevel=2,
        )
    best = int(np.argmax(particles.log_joint))
    order = largest_first(particles.A[best], particles.W[best])
    seen = None if dataset is None else problem_of(particles, dataset).dataset
    tree = align(particles, particles.A[best][:, order]).to_datatree(seen)
    # The number of a draw is no posterior quantity; sample_stats has it, too.
    tree["posterior"] = tree["posterior"].to_dataset().drop_vars("particle")
    if seen is not None:
        X = seen.dense() if seen.mask is None else np.where(seen.mask, seen.dense(), np.nan)
        sides = {"feature": list(seen.features), "observation": list(seen.observations)}
        tree["observed_data"] = xarray.Dataset({"X": (tuple(sides), X)}, coords=sides)
    return tree
