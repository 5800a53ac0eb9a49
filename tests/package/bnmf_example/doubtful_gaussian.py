"""The Gaussian model for data whose noise is twice what a reference NMF leaves."""

from dataclasses import replace

from bnmf_core.core.dataset import Dataset
from bnmf_core.likelihoods import gaussian


def resolve(dataset: Dataset, rank: int, settings: gaussian.Settings) -> gaussian.Settings:
    """Twice the open σ of the Gaussian model."""
    if settings.sigma is not None:
        return settings
    found = gaussian.MODEL.resolve(dataset, rank, settings)
    return replace(found, sigma=2.0 * found.sigma)


MODEL = replace(
    gaussian.MODEL,
    key="doubtful_gaussian",
    label="Gaussian noise, doubled",
    resolve=resolve,
    summary="As the Gaussian model, with twice the noise.",
    reference="an example",
)
