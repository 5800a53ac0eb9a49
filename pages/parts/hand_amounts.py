"""Manual exploration: range of each component's contribution within an allowed error."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis.by_hand import ContributionExploration
from bnmf_core.compare.alignment import without_counterpart
from bnmf_core.compare.bands import BY_OTHER, BY_TRIALS, TRIALS
from bnmf_core.compare.contribution import Contributions
from bnmf_core.compare.displacement import allowed_error
from bnmf_core.compare.distances.scaling import component_shares
from bnmf_core.core.names import numbered, percent
from bnmf_core.figures.components import has_profiles, range_chart
from bnmf_core.figures.determined import contribution_bands, extreme_shapes
from bnmf_core.figures.gallery import basis_images
from pages.frame import link, view
from pages.frame.lens import Lens
from pages.frame.words import labelled, plain
from pages.parts import by_hand

# Listed features of a shape, and modes shown with the band.
LISTED, MODES = 20, 6
SHAPES = ["smallest", "this factorization", "largest"]


def show(look: Lens, row: int, labels: dict[str, str]) -> None:
    """The bands, contributions in other modes, and extreme shapes."""
    work = ContributionExploration(look.analysis, row, float(link.get("rise")) / 100)

    def draw() -> None:
        found = work.found()
        if found is not None:
            _bands(look, work, found, row)
            _shapes(look, work, found, labels)

    by_hand.explore(work, "Find the smallest and largest contributions", "amounts", draw)


def _bands(look: Lens, work: ContributionExploration, found: Contributions, row: int) -> None:
    A, W = work.factors
    bands = np.full((3, A.shape[1]), np.nan)
    bands[1] = component_shares(A[None], W[None])[0]
    bands[:, found.components] = found.lower, found.value, found.upper
    error = float(look.analysis.members["error"].iloc[row])
    most = allowed_error(error, work.rise)
    others, within = {}, {}
    own = look.modes.labels[row]
    for k, other in enumerate(look.modes.representative.tolist()):
        if k != own and look.analysis.optima[other] and len(others) < MODES:
            both = look.analysis.aligned_factors([row, other])
            beside = component_shares(*(part[1:] for part in both))[0]
            name = look.mode_names[k]
            others[name] = np.where(without_counterpart(both[0])[1], np.nan, beside)
            within[name] = bool(look.analysis.members["error"].iloc[other] <= most)
    called = look.notes.components(A)
    names = numbered(called, A.shape[1])
    k = _widest(found)
    r = int(found.components[k])
    reading = ["Bars: all else is solved for again; they may be longer than shown."]
    if others:
        reading.append(
            "Dots: the partners in other modes, hollow where the mode's error is larger than "
            "allowed."
        )
    if (found.ended == BY_OTHER).any():
        reading.append("Some bars end where the component would be another.")
    if (found.ended == BY_TRIALS).any():
        reading.append(f"Some were cut off after {TRIALS} steps.")
    st.markdown(
        plain(
            f"Within {link.get('rise')} % more error, component {names[r]} may account for "
            f"{percent(found.lower[k])} to {percent(found.upper[k])} of the sum of AW. Here it is "
            f"{percent(found.value[k])}; no other bar is longer."
        )
    )
    view.chart(
        contribution_bands(*bands, others, within, called),
        " ".join(reading),
        name="contributions",
        origin=look.origin,
        table=pd.DataFrame(
            {
                "component": [names[c] for c in found.components],
                "smallest": found.lower,
                "in this factorization": found.value,
                "largest": found.upper,
            }
        ),
    )


def _widest(found: Contributions) -> int:
    return int((found.upper - found.lower).argmax())


def _shapes(
    look: Lens, work: ContributionExploration, found: Contributions, labels: dict[str, str]
) -> None:
    dataset, (A, _) = look.analysis.dataset, work.factors
    keys = [key for key in labels if int(key) - 1 in found.components]
    chosen = st.selectbox(
        "Extreme shapes of component",
        keys,
        index=keys.index(str(found.components[_widest(found)] + 1)),
        format_func=labelled(labels),
        key="amounts_of",
    )
    r = int(chosen) - 1
    k = int(np.flatnonzero(found.components == r)[0])
    columns = np.stack([found.A[k, 0, :, r], A[:, r], found.A[k, 1, :, r]])
    shares = columns / np.maximum(columns.sum(axis=1, keepdims=True), 1e-300)
    table = pd.DataFrame(dict(zip(SHAPES, shares, strict=True)), index=dataset.features)
    if dataset.image_shape is not None:
        figure = basis_images(
            shares[:, :, None],
            dataset.image_shape,
            SHAPES,
            title="Extreme shapes",
            scale="component",
        )
    elif has_profiles(dataset):
        drawn = dict(zip(SHAPES, shares, strict=True))
        figure = extreme_shapes(dataset.features, drawn, r, f"Shapes of component {chosen}")
    else:
        top = np.argsort(-shares.max(axis=0), kind="stable")[:LISTED]
        figure = range_chart(
            [dataset.features[d] for d in top],
            shares[1, top],
            shares[[0, 2]][:, top].min(axis=0),
            shares[[0, 2]][:, top].max(axis=0),
            f"Shapes of component {chosen}",
            "from the smallest to the largest contribution",
        )
    view.chart(
        figure,
        "The component at its smallest and largest allowed contribution.",
        name="extreme_shapes",
        origin=look.origin,
        table=table.reset_index(names="feature"),
    )
