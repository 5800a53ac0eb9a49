"""The model that is proposed for data: by what their numbers are, and by how much counts vary."""

from dataclasses import dataclass

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.spec import USUAL_MODEL
from bnmf_core.data.kinds import Kind, Numbers, numbers_of
from bnmf_core.evidence.variation import Variation, variation
from bnmf_core.likelihoods import MODELS
from bnmf_core.registry import model_for


@dataclass(frozen=True, eq=False)
class Proposal:
    """A model for data, and why.

    Attributes
    ----------
    model : its key. reason : in a sentence, or a few where other data would be better.
    numbers : what the numbers of X are. variation : how much counts vary; None of other numbers.
    """

    model: str
    reason: str
    numbers: Numbers
    variation: Variation | None = None

    @property
    def by_squares(self) -> bool:
        """Whether it is fitted by least squares; noise of counts grows with a feature instead."""
        model = MODELS[self.model]
        return not model.loss(model.Settings()).explains

    @property
    def suited(self) -> str:
        """The model in a sentence."""
        return f"Proposed model: “{MODELS[self.model].label}”."

    @property
    def sentence(self) -> str:
        """The model and the reason."""
        return f"{self.suited} {self.reason}"


def proposal(dataset: Dataset) -> Proposal:
    """Propose a model: of counts by how much they vary, of others by what they are.

    Takes less than a second, as a part of large data is fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import Dataset
    >>> from bnmf_core.analysis.proposal import proposal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(rng.gamma(2, 3, (30, 2)) @ rng.gamma(2, 1, (2, 40)))
    >>> proposal(Dataset.from_array(X)).model
    'poisson'
    """
    numbers = numbers_of(dataset)
    reason = f"{numbers.reason} {numbers.advice}".rstrip()
    suited = model_for(numbers.kind)
    if suited is None:
        return Proposal(USUAL_MODEL, reason, numbers)
    if against := suited.unfit(dataset):
        return Proposal(USUAL_MODEL, against, numbers)
    if numbers.kind is not Kind.COUNTS:
        return Proposal(suited.key, reason, numbers)
    found = variation(dataset)
    reason = f"{numbers.advice} {found.sentence}".lstrip()
    if found.below_poisson:
        return Proposal(USUAL_MODEL, reason, numbers, found)
    if found.beyond_poisson and dataset.whole is not None:
        reason += " Data that are read in blocks have no model for that, so Poisson is used."
    elif found.beyond_poisson:
        suited = model_for(Kind.VARIED) or suited
    return Proposal(suited.key, reason, numbers, found)
