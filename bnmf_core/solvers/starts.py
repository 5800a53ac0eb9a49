"""Starting points that more than one room uses."""

import numpy as np

from bnmf_core.core.dataset import Dataset


def random_start(
    dataset: Dataset, rank: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """|N(0, 1)| entries times √(mean(X)/R), scikit-learn's scale: A (D, R), W (R, N).

    The mean is that of the seen entries; that of AW is then 2/π of it on average.
    """
    scale = np.sqrt(dataset.mean / rank)
    A = scale * np.abs(rng.standard_normal((dataset.D, rank)))
    W = scale * np.abs(rng.standard_normal((rank, dataset.N)))
    return A, W
