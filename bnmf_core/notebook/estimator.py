"""The modes of a factorization as a scikit-learn estimator."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from bnmf_core import registry
from bnmf_core.compare.alignment import align, largest_first
from bnmf_core.compare.distances import distances
from bnmf_core.compare.modes import SAME_MODE, find_modes
from bnmf_core.core.checked import Given
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.loss import Loss
from bnmf_core.core.model import Support
from bnmf_core.core.particles import Particles
from bnmf_core.core.plain import Value, is_whole, plain
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import build
from bnmf_core.core.spec import USUAL_MODEL, RunSpec
from bnmf_core.evidence.mode_evidence import mode_evidence
from bnmf_core.evidence.paths import why_not
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.runs.engine import run
from bnmf_core.solvers.weights import weights_given

MASS = ["mass", "mass_low", "mass_high"]


class PosteriorNMF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Non-negative matrix factorization with all its modes.

    Restarts are grouped into modes, and one factorization stands for each. All methods use that of
    ``mode``, which ``set_params(mode=1)`` changes without another fit.

    X is (n_samples, n_features), as in scikit-learn: the transpose of the engine's X. It may be
    sparse. NaN entries of a dense X are missing, where the algorithm allows gaps.

    Parameters
    ----------
    n_components : R, the number of components.
    model, model_settings : key of a noise model, see :func:`bnmf_core.models`, and its settings.
    algorithm, algorithm_settings : key, see :func:`bnmf_core.algorithms`, and settings.
    n_restarts : number of factorizations.
    threshold : factorizations of one mode are at most this far apart, degrees of the largest angle
        between matched components. None: 15, or what restarts may still turn if that is more.
    posterior_mass : whether to estimate the posterior mass of each mode, which takes long.
    mode : which mode to use; 0 is the one that most restarts found.
    random_state : int, ``RandomState`` or None. The same int gives the same result.

    Attributes
    ----------
    modes_ : DataFrame, a row per mode: ``size`` (number of restarts), ``share`` (of the restarts),
        ``error`` (measure of fit, ‖X − WH‖/‖X‖ of the squared error), ``reconstruction_err``
        (‖X − WH‖, Frobenius norm), ``nearest`` (degrees to the closest other mode), and optionally
        ``mass`` with the limits of its 90 % interval, ``mass_low`` and ``mass_high``.
    components_ : (n_components, n_features), H of ``mode``. Components of all modes are in one
        order.
    reconstruction_err_ : its ‖X − WH‖.
    n_iter_ : iterations of its solver; for a draw, its place in the chain.
    n_components_ : number of components. n_features_in_ : number of features.
    feature_names_in_ : names of the features, if X has any.
    factorizations_ : :class:`bnmf_core.Particles`, one for each mode. particles_ : all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import PosteriorNMF, laurberg
    >>> X = laurberg("two").X.T  # exactly two answers
    >>> nmf = PosteriorNMF(3, n_restarts=30, random_state=0).fit(X)
    >>> len(nmf.modes_), nmf.transform(X).shape
    (2, (6, 3))
    >>> other = nmf.set_params(mode=1).components_  # no second fit
    >>> bool(np.allclose(nmf.inverse_transform(nmf.transform(X)), X, atol=1e-3))
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        model: str = USUAL_MODEL,
        model_settings: Mapping[str, Value] | None = None,
        algorithm: str = "random_restarts",
        algorithm_settings: Mapping[str, Value] | None = None,
        n_restarts: int = 60,
        threshold: float | None = None,
        posterior_mass: bool = False,
        mode: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.model = model
        self.model_settings = model_settings
        self.algorithm = algorithm
        self.algorithm_settings = algorithm_settings
        self.n_restarts = n_restarts
        self.threshold = threshold
        self.posterior_mass = posterior_mass
        self.mode = mode
        self.random_state = random_state

    def fit(self, X: ArrayLike | sparse.sparray, y: object = None) -> "PosteriorNMF":
        """Make the restarts and group them into modes.

        Parameters
        ----------
        X : (n_samples, n_features), every entry ≥ 0. y : ignored.

        Raises
        ------
        BNMFError
            When a parameter or the data do not fit the algorithm or the model.
        """
        spec = self._spec()
        dataset = self._dataset(X, spec.rank)
        self.particles_: Particles = run(dataset, spec)
        converged = np.asarray(self.particles_.diagnostics.get("converged", False))
        optima = converged & ~np.isnan(self.particles_.movement)
        threshold = self.threshold
        if threshold is None:
            threshold = max(SAME_MODE, float(self.particles_.movement[optima].max(initial=0.0)))
        modes = find_modes(
            distances(self.particles_), threshold, self.particles_.weights, optima=optima
        )
        found = self.particles_.subset(modes.representative)
        self.factorizations_ = align(found, found.A[0][:, largest_first(found.A[0], found.W[0])])
        A, W = self.factorizations_.A, self.factorizations_.W
        self.modes_ = modes.table()[["size", "share", "nearest"]].rename_axis("mode")
        self.modes_.insert(2, "error", self.factorizations_.error)
        squared = squared_errors(dataset.X, A, W, dataset.mask)
        self.modes_.insert(3, "reconstruction_err", np.sqrt(squared))
        if self.posterior_mass:
            rng = np.random.default_rng(spec.seed)
            masses = mode_evidence(dataset, self.factorizations_, rng=rng)[MASS]
            self.modes_[MASS] = masses.to_numpy()
        self._chosen  # noqa: B018 - raises for a mode that does not exist
        return self

    def transform(self, X: ArrayLike | sparse.sparray) -> np.ndarray:
        """Best weights W ≥ 0 of samples with the components held fixed.

        Non-negative least squares where the model's loss is the squared error; else its solver.

        Parameters
        ----------
        X : (n_samples, n_features).

        Returns
        -------
        W (n_samples, n_components).
        """
        return self._weights(self._new(X))[0].T

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """W H, the data that weights X = W (n_samples, n_components) stand for."""
        check_is_fitted(self)
        weights = np.asarray(X, dtype=np.float64)
        if weights.ndim != 2 or weights.shape[1] != self.n_components_:
            raise SettingsError(
                f"The weights are {weights.shape}; (n_samples, {self.n_components_}) is needed."
            )
        return np.asarray(weights @ self.components_)

    def score(self, X: ArrayLike | sparse.sparray, y: object = None) -> float:
        """Minus the measure of fit of samples at their best weights: at most 0, higher is better.

        More components score higher on held-out samples, too, because weights are fitted to them;
        :func:`bnmf_core.rank_study` asks how many the data support.

        Parameters
        ----------
        X : (n_samples, n_features). y : ignored.
        """
        dataset = self._new(X)
        problem = Problem.without_model(dataset, self.n_components_, loss=self._loss)
        f = self._loss.values(problem, self._A, self._weights(dataset))
        return -float(self._loss.measured(dataset, f)[0])

    @property
    def components_(self) -> np.ndarray:
        """(n_components, n_features) of the mode that is used."""
        return np.asarray(self._A[0].T)

    @property
    def reconstruction_err_(self) -> float:
        """‖X − WH‖ of the mode that is used."""
        return float(self.modes_["reconstruction_err"].iloc[self._chosen])

    @property
    def n_iter_(self) -> int:
        """Iterations that made the factorization that is used."""
        made = self.factorizations_
        return int(made.diagnostics.get("iterations", made.draw + 1)[self._chosen])

    @property
    def n_components_(self) -> int:
        """Number of components."""
        return self.factorizations_.R

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @property
    def _chosen(self) -> int:
        if not 0 <= self.mode < len(self.modes_):
            raise SettingsError(
                f"Mode {self.mode} was chosen; {len(self.modes_)} were found, so a number from 0 "
                f"to {len(self.modes_) - 1} is needed."
            )
        return self.mode

    @property
    def _A(self) -> np.ndarray:
        return self.factorizations_.A[self._chosen][None]

    @property
    def _loss(self) -> Loss:
        model, settings = registry.model_of(self.particles_)
        return model.loss(settings)

    def _weights(self, dataset: Dataset) -> np.ndarray:
        return weights_given(dataset, self._A, self._loss)

    def _new(self, X: ArrayLike | sparse.sparray) -> Dataset:
        check_is_fitted(self)
        return self._dataset(X)

    def _spec(self) -> RunSpec:
        """The spec, validated as far as possible without the data."""
        rank, seed = plain(self.n_components), plain(self.random_state)
        if not is_whole(rank) or rank < 1:
            raise SettingsError(
                f"n_components was {self.n_components!r}; a whole number of 1 or more is needed."
            )
        model = registry.model(self.model)
        if model.support_W is not Support.POSITIVE:
            raise SettingsError(
                f"The model “{model.label}” bounds weights above, and new samples are given any "
                "weight ≥ 0; choose another model, or use bnmf_core.run."
            )
        settings: object = build(model.Settings, self.model_settings or {}, model.label)
        if self.posterior_mass and (reason := why_not(model, settings)):
            raise SettingsError(reason)
        if not is_whole(seed):
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        return RunSpec(
            self.algorithm,
            rank,
            self.model,
            self.n_restarts,
            int(seed),
            self.algorithm_settings or {},
            self.model_settings or {},
        )

    def _dataset(self, X: ArrayLike | sparse.sparray, least: int | None = None) -> Dataset:
        """Validate X and transpose it; ``least`` : samples and features that a fit needs."""
        smallest = (
            {}
            if least is None
            else {"ensure_min_samples": max(least, 2), "ensure_min_features": max(least, 2)}
        )
        checked: Any = validate_data(
            self,
            X,
            reset=least is not None,
            accept_sparse=("csr", "csc"),
            dtype=np.float64,
            ensure_all_finite=True if sparse.issparse(X) else "allow-nan",
            **smallest,
        )
        check_non_negative(checked, f"{type(self).__name__} (input X)")
        alone = checked.shape[0] == 1
        # A dataset needs two observations; a selection may have one.
        transposed: Given = (checked[[0, 0]] if alone else checked).T
        dataset = Dataset.from_array(transposed, features=getattr(self, "feature_names_in_", None))
        return dataset.columns(np.zeros(1, dtype=int)) if alone else dataset

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = True
        return tags
