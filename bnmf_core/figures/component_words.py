"""What a component is, in a box or beside it: words, bars of strong features, or a picture."""

import base64
import io
from collections.abc import Sequence

import numpy as np

from bnmf_core.compare.topics import naming_relevance, top_indices
from bnmf_core.core.dataset import Dataset
from bnmf_core.figures.style import safe
from bnmf_core.lazy import lazy

Image = lazy("PIL.Image")

# Features told on hover; the longest bar of blocks.
TOLD, BLOCKS = 8, 16
# Pixels that the longer side of a picture has at least.
PICTURE = 64


def titles(dataset: Dataset, A: np.ndarray) -> list[str]:
    """For every column of A (D, R) its strongest feature."""
    return [str(dataset.features[strong[0]]) for strong in _strongest(A)]


def details(dataset: Dataset, A: np.ndarray) -> list[str]:
    """For every column of A its strongest features with bars, in lines of HTML."""
    if dataset.image_shape is not None:
        return ["" for _ in range(A.shape[1])]
    total = np.maximum(A.sum(axis=0), 1e-300)
    lines = []
    for r, strong in enumerate(_strongest(A)):
        parts = A[strong, r] / total[r]
        lines.append("<br>".join(_bar(dataset.features, strong, parts)))
    return lines


def pictures(
    A: np.ndarray,
    image_shape: tuple[int, int],
    largest: float | None = None,
    seen: np.ndarray | None = None,
) -> list[str]:
    """For every column of A (D, R) its image as a data URI.

    ``largest`` : the value that is white; left out, each column's own largest. ``seen`` : (D, R)
    bool, False where a pixel is transparent.
    """
    height, width = image_shape
    enlarged = max(1, PICTURE // max(height, width))
    found = []
    for r, column in enumerate(A.T):
        grey = 255 * column.reshape(image_shape, order="F") / (largest or column.max() or 1.0)
        image = Image.fromarray(grey.astype(np.uint8))
        if seen is not None:
            shown = 255 * seen[:, r].reshape(image_shape, order="F")
            image.putalpha(Image.fromarray(shown.astype(np.uint8)))
        buffer = io.BytesIO()
        image.resize((width * enlarged, height * enlarged), Image.Resampling.NEAREST).save(
            buffer, "PNG"
        )
        found.append("data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode())
    return found


def _strongest(A: np.ndarray) -> list[np.ndarray]:
    return [found[found >= 0] for found in top_indices(A, TOLD, naming_relevance(A))]


def _bar(features: Sequence[str], strong: np.ndarray, parts: np.ndarray) -> list[str]:
    largest = max(float(parts.max(initial=0.0)), 1e-300)
    return [
        f"{'█' * max(1, round(BLOCKS * part / largest))} {safe(features[d], 24)} {part:.1%}"
        for d, part in zip(strong, parts, strict=True)
    ]
