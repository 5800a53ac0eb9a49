"""The pictures of the examples' cards: ``python -m pages.home_parts.draw [KEY]``.

Each shows components of the best of a few restarts of the example.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from bnmf_core import RunSpec, run
from bnmf_core.compare.alignment import largest_first
from bnmf_core.compare.projection import simplex_projection
from bnmf_core.compare.topics import top_words
from bnmf_core.core.dataset import Dataset
from bnmf_core.figures.modes import mode_color
from bnmf_core.figures.style import component_color
from bnmf_core.figures.substitutions import Substitutions, substitutions
from bnmf_core.runs.examples import EXAMPLES, Example
from studies.atlas.findings import shipped

FOLDER = Path(__file__).resolve().parent / "cards"
WIDTH, HEIGHT, EDGE = 780, 280, 12
INK, PAPER, RAIL = (31, 41, 51), (255, 255, 255), (236, 239, 242)
RESTARTS, WORDS = 12, 5


def images(A: np.ndarray, dataset: Dataset) -> Image.Image:
    """Two rows of five basis images."""
    height, width = dataset.image_shape or (1, 1)
    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    size = (HEIGHT - EDGE) // 2
    wide = min(size * width // height, WIDTH // 5 - EDGE)
    for r in range(min(10, A.shape[1])):
        part = A[:, r].reshape((height, width), order="F")
        grey = Image.fromarray((255 * (1 - part / part.max())).astype(np.uint8))
        left = (r % 5) * (WIDTH // 5) + (WIDTH // 5 - wide) // 2
        scaled = grey.resize((wide, size), Image.Resampling.NEAREST)
        picture.paste(scaled, (left, r // 5 * (size + EDGE)))
    return picture


def words(A: np.ndarray, dataset: Dataset) -> Image.Image:
    """The strongest words of the four components that explain most."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(picture)
    for r, some in enumerate(top_words(A[:, :4], dataset.features, WORDS)):
        left = r * WIDTH // 4
        pen.rectangle((left, 0, left + 4, HEIGHT), fill=component_color(r))
        for i, word in enumerate(some):
            font = ImageFont.load_default(38 - 4 * i)
            pen.text((left + 18, 4 + i * (HEIGHT // WORDS)), str(word)[:11], INK, font=font)
    return picture


def signatures(A: np.ndarray, classes: Substitutions) -> Image.Image:
    """Two signatures as bars, a colour for each substitution."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(picture)
    step, tall = WIDTH / len(A), (HEIGHT - 2 * EDGE) // 2
    for row in range(2):
        shown = A[classes.order, row] / A[:, row].max()
        bottom = (row + 1) * (tall + EDGE)
        for i, (value, color) in enumerate(zip(shown, classes.colors, strict=True)):
            box = (i * step + 1, bottom - value * tall, (i + 1) * step - 2, bottom)
            pen.rectangle(box, fill=color)
    return picture


def triangles(solutions: Sequence[np.ndarray], dataset: Dataset) -> Image.Image:
    """The data in the plane, inside the triangle of each known solution."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(picture)
    points, corners = simplex_projection(dataset.X, np.stack(solutions))
    every = np.concatenate([points, *corners])
    scale = (HEIGHT - 2 * EDGE) / np.ptp(every, axis=0).max()
    for k, corner in enumerate(corners):
        middle = np.array([(2 * k + 1) * WIDTH / 4, HEIGHT / 2]) - scale * every.mean(axis=0)
        pen.polygon([tuple(p) for p in scale * corner + middle], outline=mode_color(k), width=4)
        for x, y in scale * points + middle:
            pen.ellipse((x - 7, y - 7, x + 7, y + 7), fill=INK)
    return picture


def bars(shares: Sequence[float]) -> Image.Image:
    """A bar for each data set of the atlas, the longest first, on a rail of all restarts."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(picture)
    step = HEIGHT / max(len(shares), 1)
    for row, share in enumerate(sorted(shares, reverse=True)):
        top, bottom = row * step + 0.15 * step, (row + 1) * step - 0.15 * step
        pen.rectangle((0, top, WIDTH, bottom), fill=RAIL)
        pen.rectangle((0, top, max(share * WIDTH, 2), bottom), fill=mode_color(0))
    return picture


def card(example: Example) -> Image.Image:
    """The picture of an example."""
    dataset = example.dataset()
    if len(dataset.truth) > 1:
        return triangles([one.A for one in dataset.truth], dataset)
    made = run(dataset, RunSpec("random_restarts", example.rank, particles=RESTARTS))
    best = int(np.argmin(made.error))
    A = np.asarray(made.A[best])[:, largest_first(made.A[best], made.W[best])]
    if dataset.image_shape is not None:
        return images(A, dataset)
    classes = substitutions(dataset.features)
    return words(A, dataset) if classes is None else signatures(A, classes)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    keys = sys.argv[1:] or [*EXAMPLES, "atlas"]
    for key in [key for key in keys if key in EXAMPLES]:
        shown = EXAMPLES[key]
        card(shown).quantize(64).save(FOLDER / f"{key}.png", optimize=True)
    if "atlas" in keys:
        shares = [ranked[0][1]["elsewhere"] for ranked in shipped().values()]
        bars(shares).quantize(64).save(FOLDER / "atlas.png", optimize=True)
