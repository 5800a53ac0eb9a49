"""Names that users have given to components and modes, matched with those of other runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.compare.alignment import component_angles, matching
from bnmf_core.compare.modes import SAME_MODE, Modes
from bnmf_core.compare.topics import topic_names
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import numbered
from bnmf_core.lazy import lazy
from bnmf_core.store.notes import COMPONENT, MODE, Note

optimize = lazy("scipy.optimize")

# Maximum angle (degrees) between a named component and its match.
LIMIT = SAME_MODE


@dataclass(frozen=True, eq=False)
class Named:
    """Named components and modes.

    notes : those on the data. words : the D features, where these are words: they name topics that
    nobody has named.
    """

    notes: tuple[Note, ...] = ()
    words: tuple[str, ...] = ()

    @classmethod
    def on(cls, dataset: Dataset, notes: Iterable[Note] = ()) -> "Named":
        """The names on these data: given in notes, or by words."""
        return cls(tuple(notes), dataset.features if dataset.of_words else ())

    def of_components(self, A: np.ndarray) -> list[Note | None]:
        """For every component of a basis (D, R) the note that was made on it or on one like it.

        No two components have the same note, and no angle is above ``LIMIT``.
        """
        notes = [note for note in self.notes if note.kind == COMPONENT]
        notes = [note for note in notes if note.A.shape[0] == A.shape[0]]
        angles = np.array([_angles(A, note.A) for note in notes]).reshape(len(notes), A.shape[1])
        return _given(notes, angles)

    def of_modes(self, comparison: Comparison, modes: Modes) -> list[Note | None]:
        """For every mode the note that was made on its most typical factorization, or one near."""
        notes = [note for note in self.notes if note.kind == MODE]
        notes = [note for note in notes if note.A.shape[1] == comparison.rank]
        if not notes:
            return [None] * modes.count
        A = comparison.bases(modes.representative)
        notes = [note for note in notes if note.A.shape[0] == A.shape[1]]
        farthest = [_farthest(A, note) for note in notes]
        return _given(notes, np.array(farthest).reshape(len(notes), modes.count))

    def of_each(self, A: np.ndarray) -> tuple[list[list[Note | None]], list[Note | None]]:
        """For each of M bases (M, D, R): the notes on its components, and the nearest on a mode.

        Those on a mode are on its most typical basis; within ``LIMIT`` of that a basis has it, too.
        """
        notes = [note for note in self.notes if note.kind == MODE and note.A.shape == A.shape[1:]]
        near: list[Note | None] = [None] * len(A)
        if notes:
            far = np.array([_farthest(A, note) for note in notes])
            nearest = far.argmin(axis=0)
            near = [
                notes[note] if far[note, m] <= LIMIT else None for m, note in enumerate(nearest)
            ]
        return [self.of_components(basis) for basis in A], near

    def components(self, A: np.ndarray) -> list[str]:
        """Name of every component of a basis (D, R), "" without one."""
        words = topic_names(A, self.words) if self.words else [""] * A.shape[1]
        notes = self.of_components(A)
        return [note.name if note else word for note, word in zip(notes, words, strict=True)]

    def modes(self, comparison: Comparison, modes: Modes) -> list[str]:
        """Label of every mode: its number, and its name if any."""
        found = self.of_modes(comparison, modes)
        return [f"mode {one}" for one in numbered(note.name if note else "" for note in found)]


NOTHING_NAMED = Named()


def _farthest(A: np.ndarray, note: Note) -> np.ndarray:
    """(m,) degrees of the component of each basis (m, D, R) that is farthest from the note's."""
    return component_angles(A, note.A, matching(A, note.A)).max(axis=1)


def _angles(A: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Degrees between every column of A (D, R) and one column (D,); 90 for an empty one."""
    lengths = np.linalg.norm(A, axis=0) * np.linalg.norm(column)
    cosines = np.divide(column @ A, lengths, out=np.zeros(A.shape[1]), where=lengths > 0)
    return np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))


def _given(notes: Sequence[Note], angles: np.ndarray) -> list[Note | None]:
    """One note for each column of ``angles`` (notes, things), each note once, within the limit."""
    found: list[Note | None] = [None] * angles.shape[1]
    for note, thing in zip(*optimize.linear_sum_assignment(np.minimum(angles, LIMIT)), strict=True):
        if angles[note, thing] <= LIMIT:
            found[int(thing)] = notes[int(note)]
    return found
