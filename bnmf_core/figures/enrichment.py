"""Sets of genes that are enriched in components, on screen: dots, mode by mode."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.compare.enrichment import LEVEL, Enrichment
from bnmf_core.core.names import numbered
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import MUTED, component_titles, layout, safe

# Maximum number of sets, and of sets per component; the −log10 FDR at which the scale ends.
MOST_SETS, EACH, DEEPEST = 24, 4, 10.0
DEPTHS = range(0, int(DEEPEST) + 1, 2)
COLORBAR = {
    "title": "−log₁₀ FDR",
    "thickness": 12,
    "tickvals": [*DEPTHS],
    "ticktext": [f"{depth}" + " or more" * (depth == DEEPEST) for depth in DEPTHS],
}
# Pixels of a row, of the largest dot, and of what stands on the left.
ROW, DOT, LEFT, WIDTH = 22, 17, 250, 600


def shown_sets(found: Enrichment, most: int = MOST_SETS) -> list[int]:
    """The best sets of every component in its best mode, component by component.

    At most 4 of each, and ``most`` in all; those below 5 % FDR, or else the best of each.
    """
    p, fdr, hits = found.p.min(axis=0), found.fdr.min(axis=0), found.hits.max(axis=0)
    each = max(1, min(EACH, most // len(p)))
    chosen: dict[int, None] = {}
    for r in range(len(p)):
        order = np.lexsort((-hits[r], p[r]))
        good = [s for s in order[:each].tolist() if fdr[r, s] < LEVEL]
        chosen |= dict.fromkeys(good or order[:1].tolist())
    return list(chosen)[:most]


def enrichment_dots(
    found: Enrichment, sets: Sequence[str], modes: Sequence[str], called: Sequence[str] = ()
) -> go.Figure:
    """A row for each set, a block for each component with a column for each mode.

    Parameters
    ----------
    sets : S names. modes : K names. called : R names of components.

    Larger dots hold more of the set, darker ones have a smaller FDR, hollow ones 5 % or more.
    """
    K, R, _ = found.p.shape
    rows = shown_sets(found)
    k, r, y = (axis.ravel() for axis in np.indices((K, R, len(rows))))
    s = np.array(rows)[y]
    hits, fdr = found.hits[k, r, s], found.fdr[k, r, s]
    present = hits > 0
    k, r, y, s, hits, fdr = (one[present] for one in (k, r, y, s, hits, fdr))
    share = hits / np.maximum(np.minimum(found.sizes[s], found.drawn[k, r]), 1)
    depth = np.minimum(-np.log10(np.maximum(fdr, 1e-300)), DEEPEST)
    names = numbered(called, R)
    hover = [
        f"<b>{safe(sets[one], 60)}</b><br>component {safe(names[c], 24)} in {safe(modes[m], 24)}"
        f"<br>{n} of its {found.sizes[one]} genes among {found.drawn[m, c]}, FDR {q:.2g}"
        for one, c, m, n, q in zip(s, r, k, hits, fdr, strict=True)
    ]
    figure = Sketch()
    for below in (True, False):
        some = (fdr < LEVEL) == below
        figure.add_scatter(
            x=(r * K + k)[some],
            y=y[some],
            mode="markers",
            marker={
                "size": DOT * np.sqrt(0.12 + 0.88 * share[some]),
                "symbol": "circle" if below else "circle-open",
                "color": depth[some] if below else MUTED,
                "colorscale": "Blues",
                "cmin": 0,
                "cmax": DEEPEST,
                "line": {"width": 1, "color": MUTED},
                **({"colorbar": COLORBAR, "showscale": True} if below else {}),
            },
            hovertext=[one for one, here in zip(hover, some, strict=True) if here],
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
        )
    line = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": {"color": MUTED, "width": 1}}
    figure.update_layout(shapes=[line | {"x0": x, "x1": x} for x in np.arange(1, R) * K - 0.5])
    figure.update_xaxes(
        tickvals=[c * K + (K - 1) / 2 for c in range(R)],
        ticktext=component_titles(R, called, WIDTH / R),
        tickangle=0,
        range=[-0.5, R * K - 0.5],
        side="top",
        showgrid=False,
        zeroline=False,
    )
    figure.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[safe(sets[one], 34) for one in rows],
        range=[len(rows) - 0.4, -0.6],
        zeroline=False,
    )
    title = "Sets among the strongest of each component"
    return layout(figure, title, 130 + ROW * len(rows), margin={"l": LEFT, "t": 90, "b": 16})
