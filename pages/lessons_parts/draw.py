"""The pictures of the lessons' cards: ``python -m pages.lessons_parts.draw``.

Each is a small version of its lesson's picture: the same numbers in a few lines of SVG.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from bnmf_core.boolean.three_variables import ThreeVariables
from bnmf_core.figures.spreads import DOUBTS
from bnmf_core.figures.style import HIGHLIGHT, INK, MUTED, component_color
from bnmf_core.likelihoods.silf import silf
from pages.lessons_parts import (
    covering,
    crossing,
    doubt,
    mass,
    ridge,
    scale,
    settled,
    threshold,
    uniqueness,
    weights,
    yes_no,
)

FOLDER = Path(__file__).resolve().parent / "cards"
WIDTH, HEIGHT = 260, 140
GROUND = "#F3F5F7"
DASHED = {"stroke": HIGHLIGHT, "stroke_dasharray": "4 3"}


def tag(name: str, **attributes: object) -> str:
    """One element; underscores in names of attributes become hyphens."""
    words = (f'{key.replace("_", "-")}="{_short(value)}"' for key, value in attributes.items())
    return f"<{name} {' '.join(words)}/>"


def _short(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def shape(places: Iterable[np.ndarray], closed: bool = True, **attributes: object) -> str:
    """A polygon or a line through places (k, 2)."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    look = {"fill": "none", "stroke": INK, "stroke_width": 1.5} | attributes
    return tag("polygon" if closed else "polyline", points=points, **look)


def dots(places: np.ndarray, radius: float = 3.0, **attributes: object) -> list[str]:
    """Small discs at places (k, 2)."""
    look = {"fill": INK} | attributes
    return [tag("circle", cx=float(x), cy=float(y), r=radius, **look) for x, y in places]


def put(places: np.ndarray, x: float, y: float, size: float) -> np.ndarray:
    """Pixel positions of points whose y axis points up, around (x, y) with unit ``size``."""
    return np.array([x, y]) + np.asarray(places) * [size, -size]


def triangles() -> list[str]:
    """Two triangles around six points."""
    data = uniqueness.picture(0.5, 0)
    room, points = (put(np.array(data[name]), 130, 70, 58) for name in ("room", "points"))
    first, second = (put(corners, 130, 70, 58) for corners in uniqueness.answers(0.5))
    blue = component_color(0)
    return [
        shape(room, fill=GROUND, stroke=MUTED),
        shape(first, fill=blue, fill_opacity=0.18, stroke=blue, stroke_width=2.5),
        shape(second, **DASHED),
        *dots(points, 3.5),
    ]


def orders() -> list[str]:
    """A basis in two orders: one factorization."""
    A, _ = scale.first()
    drawn = [tag("path", d="M118 64H142M118 76H142", stroke=INK, stroke_width=3)]
    for left, order in ((28, [0, 1, 2]), (160, [2, 0, 1])):
        for i, r in enumerate(order):
            for d, value in enumerate(A[:, r] / A[:, r].max()):
                look = {"fill": component_color(r), "fill_opacity": round(0.1 + 0.9 * value, 2)}
                drawn.append(
                    tag("rect", x=left + 25 * i, y=10 + 24 * d, width=23, height=22, **look)
                )
    return drawn


def balls() -> list[str]:
    """Two narrow clouds and the balls that hold them."""
    drawn = []
    for which, x in enumerate((68, 192)):
        cloud = put(covering.points()[which], x, 70, 19)
        _, centres = [c for c in covering.covers(which) if c[0] <= covering.SHOWN[1]][-1]
        color = component_color(which)
        ball = {"fill": color, "fill_opacity": 0.18, "stroke": color}
        drawn += dots(cloud[centres], 19 * covering.SHOWN[1], **ball)
        drawn += dots(cloud, 2.2)
    return drawn


def chains() -> list[str]:
    """A chain that stays in one mode, and one that visits both."""
    drawn = []
    answers = np.array(crossing.stored("crossing")["answers"])
    for x, key in ((68, "gibbs"), (192, "mode_jumps")):
        way = crossing.ways()[key]
        drawn += [shape(put(corners, x, 76, 54), **DASHED) for corners in answers]
        for corners, near in list(zip(way["corners"], way["near"], strict=True))[::4]:
            color = component_color(near) if near >= 0 else MUTED
            drawn.append(shape(put(corners, x, 76, 54), stroke=color, stroke_opacity=0.3))
    return drawn


def measures() -> list[str]:
    """Basin, height and mass of two modes."""
    one = mass.weighed(1)
    restarts = np.array(one["restarts"]) / sum(one["restarts"])
    drawn = []
    for i, pair in enumerate((restarts, np.exp(-np.array(one["below_best"])), mass.mass(1, "1"))):
        for k, part in enumerate(pair):
            tall = float(max(105 * part, 1.0))
            at = {"x": 30 + 72 * i + 29 * k, "y": 122 - tall, "width": 26, "height": tall}
            drawn.append(tag("rect", fill=component_color(k), **at))
    return [*drawn, tag("path", d="M20 122.5H240", stroke=MUTED)]


def losses() -> list[str]:
    """The loss that is flat up to a threshold, and the misfits of restarts."""
    misfit = np.linspace(0.0, 2.0, 81)
    flat = silf(misfit, *threshold.SHOWN[1])
    curve = {"closed": False, "stroke": component_color(0), "stroke_width": 3}
    ticks = [f"M{20 + 110 * float(one):.1f} 112v18" for one in threshold.misfits()]
    return [
        shape(np.column_stack([20 + 110 * misfit, 106 - 105 * flat]), **curve),
        shape(np.array([[20, 106], [130, 11]]), closed=False, stroke=MUTED, stroke_dasharray="4 3"),
        tag("path", d="".join(ticks), stroke=HIGHLIGHT, stroke_opacity=0.5),
    ]


def particles() -> list[str]:
    """Particles on the ridge of a posterior, sized by their Stein weights."""
    places = weights.places_of(1)
    found, *_ = weights.weighed(tuple(places.ravel().tolist()))
    along = np.linspace(-1.6, 1.6, 30)
    ridge = {"stroke": component_color(0), "stroke_opacity": 0.25, "stroke_width": 34}
    round_ = {"stroke_linecap": "round", "closed": False}
    drawn = [shape(put(np.column_stack([along, -along]), 130, 66, 32), **ridge, **round_)]
    for k, (place, weight) in enumerate(zip(put(places, 130, 66, 32), found, strict=True)):
        drawn += dots(place[None], 4 + 28 * float(weight), fill=component_color(k))
    return drawn


def between() -> list[str]:
    """A density over numbers from no to yes, largest in between."""
    *observed, prior = yes_no.SHOWN[1]
    question, cells = ThreeVariables(*observed, prior=prior), 10
    along = (np.arange(cells) + 0.5) / cells
    x, y = np.meshgrid(along, along, indexing="ij")
    density = question.log_density(np.stack([x, y, np.full_like(x, yes_no.CUT[1])]))
    shown = np.exp(density - density.max()) ** 2
    drawn = []
    for i, j in np.ndindex(cells, cells):
        at = {"x": 70 + 12 * i, "y": 118 - 12 * j, "width": 12, "height": 12}
        look = {"fill": component_color(0), "fill_opacity": round(float(shown[i, j]), 2)}
        drawn.append(tag("rect", **at, **look))
    best = np.array([70, 130]) + 120 * question.maxima[:1, :2] * [1, -1]
    return [*drawn, *dots(best, 5, fill=HIGHLIGHT)]


def paths() -> list[str]:
    """The error on a path between two islands, and on one along a ridge."""
    drawn = [tag("path", d="M20 122.5H240", stroke=MUTED)]
    for step, color in ((1, component_color(0)), (2, component_color(1))):
        along = ridge.errors(*ridge.SHOWN[step])
        places = np.column_stack([np.linspace(28, 232, along.size), 116 - 1600 * along])
        drawn.append(shape(places, closed=False, stroke=color, stroke_width=3))
        drawn += dots(places[[0, -1]], 6, fill=color)
    return drawn


def strips() -> list[str]:
    """Four chains on one axis, two of them apart from the others."""
    drawn = []
    chains = np.array(settled.lengths()[settled.SHOWN[2][0]]["draws"], dtype=float)[:, ::2]
    for k, chain in enumerate(chains):
        line = np.column_stack([np.linspace(20, 240, chain.size), 36 + 32 * k - 0.55 * chain])
        drawn.append(shape(line, closed=False, stroke=component_color(k), stroke_width=1.2))
    return drawn


def doubts() -> list[str]:
    """Angles of resamples, restarts and draws, a row each."""
    drawn = [tag("path", d="M20 122.5H240", stroke=MUTED)]
    for row, (kind, (_, color, _)) in enumerate(DOUBTS.items()):
        angles = doubt.angles(doubt.FEW, kind)[::2]
        places = np.column_stack([26 + 5.2 * angles, np.full(angles.size, 24.0 + 38 * row)])
        drawn += dots(places, 5, fill=color, fill_opacity=0.4)
    return drawn


PICTURES: dict[str, Callable[[], list[str]]] = {
    "uniqueness": triangles,
    "scale": orders,
    "covering": balls,
    "crossing": chains,
    "mass": measures,
    "threshold": losses,
    "weights": particles,
    "yes_no": between,
    "ridge": paths,
    "settled": strips,
    "doubt": doubts,
}


def card(key: str) -> str:
    """The picture of a lesson as SVG, on white as the cards of the examples."""
    ground = tag("rect", width=WIDTH, height=HEIGHT, rx=8, fill="#FFFFFF")
    room = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
    size = f'width="{2 * WIDTH}" height="{2 * HEIGHT}"'
    return f"<svg {room} {size}>{ground}{''.join(PICTURES[key]())}</svg>\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PICTURES:
        (FOLDER / f"{name}.svg").write_text(card(name), "utf-8")
