"""Pictures of many factorizations in the plane."""

import numpy as np

from bnmf_core.compare.coverage import checked_distances
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.lazy import lazy
from bnmf_core.numerics.linalg import signed_svd
from bnmf_core.numerics.matrix import Matrix

manifold = lazy("sklearn.manifold")

# Number of majorization steps of each point among fixed ones.
STEPS = 100


def project(distances: np.ndarray, dimensions: int = 2) -> np.ndarray:
    """Positions whose Euclidean distances come close to the given ones (classical scaling).

    Parameters
    ----------
    distances : (M, M) symmetric distances.

    Returns
    -------
    (M, dimensions), the widest axis first, centred. The coordinate that is largest in size is
    positive on every axis. An axis without extent is all zero.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import project
    >>> project(np.array([[0.0, 4.0], [4.0, 0.0]])).round(2) + 0.0
    array([[ 2.,  0.],
           [-2.,  0.]])
    """
    positions, _ = _classical_scaling(distances, dimensions)
    return positions[:, :dimensions]


def projection_quality(distances: np.ndarray, dimensions: int = 2) -> float:
    """Share of the squared distances that :func:`project` keeps, 0 to 1.

    The sum of the positive eigenvalues shown over the sum of all positive eigenvalues of the
    doubly centred −½·distances². 1 when all distances are zero: nothing is lost.
    """
    _, eigenvalues = _classical_scaling(distances, dimensions)
    total = eigenvalues.sum()
    return float(eigenvalues[:dimensions].sum() / total) if total > 0 else 1.0


def place(distances: np.ndarray, among: np.ndarray, dimensions: int = 2) -> np.ndarray:
    """Positions of many points by their distances to a few of them, the landmarks.

    The landmarks come to where :func:`project` puts them; the others between them, so that the
    squared distances are preserved best (landmark scaling, de Silva & Tenenbaum 2004).

    Parameters
    ----------
    distances : (M, n) from every point to the landmarks. among : (n, n) between the landmarks.

    Returns
    -------
    (M, dimensions); an axis without extent is all zero.
    """
    landmarks = project(among, dimensions)
    eigenvalues = np.square(landmarks).sum(axis=0)
    directions = landmarks / np.where(eigenvalues > 0, eigenvalues, 1.0)
    return -0.5 * (np.square(distances) - np.square(among).mean(axis=0)) @ directions


def spread_out(distances: np.ndarray, anchors: np.ndarray) -> tuple[np.ndarray, float]:
    """Positions in the plane that keep distances as they are, far ones as well as near ones.

    The anchors are placed first, by SMACOF from their classical scaling; then each of the others by
    its distances to the anchors. Classical scaling alone draws what is far from all else into one
    heap. Source: de Leeuw & Mair (2009), Multidimensional scaling using majorization.

    Parameters
    ----------
    distances : (M, M) symmetric distances. anchors : (K,) indices; with fewer than three the plane
        is that of :func:`project`.

    Returns
    -------
    points (M, 2), and the stress: the root of the squared differences between distances on the map
    and real ones, as part of the squared real ones. 0 where none deviates.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.projection import spread_out
    >>> square = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [0.0, 4.0]])
    >>> apart = np.linalg.norm(square[:, None] - square, axis=2)
    >>> points, stress = spread_out(apart, np.arange(4))
    >>> round(stress, 3)
    0.0
    """
    among = distances[np.ix_(anchors, anchors)]
    if anchors.size < 3 or not among.any():
        points = project(distances)
    else:
        fixed = manifold.smacof(
            among, init=project(among), n_init=1, max_iter=500, eps=1e-9, normalized_stress=False
        )[0]
        to_anchors = distances[:, anchors]
        points = place(to_anchors, among)
        for _ in range(STEPS):
            away = points[:, None] - fixed
            length = np.maximum(np.linalg.norm(away, axis=2, keepdims=True), 1e-12)
            points = np.asarray((fixed + to_anchors[..., None] * away / length).mean(axis=1))
        points[anchors] = fixed
        points -= points.mean(axis=0)
    drawn = np.linalg.norm(points[:, None] - points, axis=2)
    total = float(np.square(distances).sum())
    return points, float(np.sqrt(np.square(drawn - distances).sum() / total)) if total else 0.0


def simplex_projection(X: Matrix, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Data and rank-3 bases in one plane, as in figures 1 to 3 of paper 2.

    Columns are projected into the span of the first three left singular vectors of X and
    scaled so that their entries sum to 1, which puts them into a plane. There, a data point
    is a mixture of three basis columns exactly where it lies inside their triangle.

    Parameters
    ----------
    X : (D, N) non-negative, dense or scipy sparse. A : (M, D, 3).

    Returns
    -------
    data (N, 2) and bases (M, 3, 2): orthonormal coordinates of the plane along the data's
    principal axes, centred on the data. A column whose projection cannot be scaled to the
    plane (an all-zero one) is NaN.

    Raises
    ------
    DataError
        When the rank is not 3, or X has fewer than 3 features or observations.
    """
    A = np.asarray(A)
    if A.ndim != 3 or A.shape[2] != 3:
        rank = A.shape[-1] if A.ndim else 0
        raise DataError(
            f"The triangle view is for rank 3; these factorizations have rank {rank}. Use the map "
            "of factorizations instead."
        )
    if A.shape[1] != X.shape[0] or min(X.shape) < 3:
        raise DataError(
            f"The triangle view needs at least 3 features and 3 observations and bases with as "
            f"many rows as the matrix; the matrix is {X.shape[0]}×{X.shape[1]}, the bases have "
            f"{A.shape[1]} rows."
        )
    U, _, _ = signed_svd(X, 3)
    data = np.asarray(X.T @ U)
    bases = np.stack([np.asarray(basis, dtype=np.float64).T @ U for basis in A])
    sums = U.sum(axis=0)
    data, bases = _onto_plane(data, sums), _onto_plane(bases, sums)
    # Directions that keep the sum: the plane's own.
    within = np.linalg.qr(sums[:, None], mode="complete")[0][:, 1:]
    seen = np.isfinite(data).all(axis=1)
    centre = data[seen].mean(axis=0)
    flat = (data[seen] - centre) @ within
    axes = within @ np.linalg.svd(flat, full_matrices=True)[2].T if len(flat) > 1 else within
    axes = axes * _signs((data[seen] - centre) @ axes)
    return (data - centre) @ axes, (bases - centre) @ axes


def _classical_scaling(distances: np.ndarray, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    distances = checked_distances(distances)
    if dimensions < 1:
        raise SettingsError(f"A projection needs at least 1 dimension; {dimensions} was given.")
    M = distances.shape[0]
    if M == 1:
        return np.zeros((1, dimensions)), np.zeros(dimensions)
    scaling = manifold.ClassicalMDS(n_components=M, metric="precomputed")
    # Distances that no Euclidean space holds have negative eigenvalues, whose square roots
    # are not numbers: those axes carry nothing.
    with np.errstate(invalid="ignore"):
        positions = scaling.fit_transform((distances + distances.T) / 2.0)
    eigenvalues = scaling.eigenvalues_
    real = eigenvalues > 1e-12 * max(eigenvalues[0], 0.0)
    positions = np.where(real, positions, 0.0)
    positions = positions * _signs(positions)
    missing = max(0, dimensions - M)
    return np.pad(positions, ((0, 0), (0, missing))), np.where(real, eigenvalues, 0.0)


def _signs(positions: np.ndarray) -> np.ndarray:
    largest = np.take_along_axis(positions, np.abs(positions).argmax(axis=0)[None], axis=0)[0]
    return np.where(largest < 0, -1.0, 1.0)


def _onto_plane(points: np.ndarray, sums: np.ndarray) -> np.ndarray:
    total = points @ sums
    size = np.sqrt((points**2).sum(axis=-1))
    usable = total > 1e-12 * size
    scaled = np.full(points.shape, np.nan)
    return np.divide(points, total[..., None], out=scaled, where=usable[..., None])
