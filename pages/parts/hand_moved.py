"""Manual exploration: range of a component's entries for an allowed rise of the error."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis.by_hand import (
    ENTRIES,
    DisplacementExploration,
    posterior_shares,
)
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.named import LIMIT
from bnmf_core.compare.bands import BY_OTHER, BY_TRIALS, TRIALS
from bnmf_core.compare.displacement import Displacement
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.figures.components import range_chart
from bnmf_core.figures.gallery import basis_images
from pages.frame import link, view
from pages.frame.lens import Lens
from pages.frame.words import capital, plain, shown
from pages.parts import by_hand


def show(look: Lens, row: int, labels: dict[str, str]) -> None:
    """Select a component; draw the bands of its entries."""
    dataset = look.analysis.dataset
    if link.get("moved") not in labels:
        link.put("moved", None)
    st.pills(
        "Component whose entries are moved",
        list(labels),
        key=link.key("moved"),
        format_func=shown(labels),
        help="Each entry is held away from its value, as a share of its component's sum, while "
        "all else is solved for again; its band is as far as it comes before the error has risen "
        "by the amount above. This is the displacement of positive matrix factorization.",
    )
    if link.get("moved") is None:
        return
    component = int(link.get("moved")) - 1
    most = dataset.D
    if dataset.D > ENTRIES:
        every = st.toggle(
            f"All {dataset.D:,}, not only the {ENTRIES:d} largest",
            key="moved_all",
            help="Entries are moved one by one, so the time is proportional to their number.",
        )
        most = dataset.D if every else ENTRIES
    work = DisplacementExploration(
        look.analysis, row, float(link.get("rise")) / 100, component, most
    )

    def draw() -> None:
        found = work.found()
        if found is None:
            return
        bands, error, allowed = found
        posterior = posterior_shares(look.analysis, row, look.modes.labels, component)
        _say(look, bands, component, (error, allowed), posterior)
        _picture(look, bands, component, posterior)

    what = f"Move {'all' if most == dataset.D else f'the {most} largest'} entries"
    by_hand.explore(work, f"{what} of component {component + 1}", "moved", draw)


def _lost(comparison: Comparison, error: float, allowed: float) -> float:
    """Nats of log likelihood between two measures of fit, at the residual noise level."""
    data, loss = comparison.seen_dataset, comparison.fit.loss
    if loss is SQUARED_ERROR:
        return 0.5 * data.observed * ((allowed / error) ** 2 - 1)
    before, after = loss.unmeasured(data, np.array([error, allowed])).tolist()
    return loss.nats(data, before) * (after - before)


def _say(
    look: Lens,
    bands: Displacement,
    component: int,
    errors: tuple[float, float],
    posterior: np.ndarray | None,
) -> None:
    dataset, (error, allowed) = look.analysis.dataset, errors
    first = int(bands.value.argmax())
    name = dataset.features[bands.entries[first]]
    zero, K = int(bands.could_be_zero.sum()), bands.entries.size
    st.markdown(
        f"**Within {plain(link.get('rise'))} % more error, “{plain(name)}” can be anything between "
        f"{100 * bands.lower[first]:.3g} and {100 * bands.upper[first]:.3g} % of component "
        f"{component + 1:d} (it is {100 * bands.value[first]:.3g} %); {plain(zero or 'none')} of "
        f"the {K:d} shown could be zero.**"
    )
    if (bands.ended[first] == BY_OTHER).any():
        st.markdown(
            "It ends there because the component would be another one: it has turned by 60° or is "
            "more like one of the others. A name that was given to it is lost long before, at "
            f"{LIMIT:g}°."
        )
    loss = look.analysis.fit.loss
    sentences = [f"{loss.axis}: {error:.5g}, and {allowed:.5g} is allowed."]
    if error > 0:
        noise = "If the residual were independent noise, " * (loss is SQUARED_ERROR)
        nats = _lost(look.analysis, error, allowed)
        sentences.append(
            f"{capital(noise + 'the allowed rise')} would lower the log likelihood by "
            f"{nats:,.3g} nats (2.3 nats are a factor of ten)."
        )
    if other := int((bands.ended == BY_OTHER).any(axis=1).sum()):
        sentences.append(
            f"{other} bands end where the component would become another one, 60° away or more "
            "like one of the others."
        )
    if open_ended := int((bands.ended == BY_TRIALS).any(axis=1).sum()):
        sentences.append(f"{open_ended} bands were cut off after {TRIALS} steps.")
    sentences.append(
        "Each band was followed in steps from this factorization, and may be wider than shown."
    )
    if posterior is not None:
        low, high = posterior[bands.entries[first]]
        sentences.append(
            f"90 % of the posterior draws in this mode have “{name}” between {100 * low:.3g} and "
            f"{100 * high:.3g} %."
        )
    else:
        sentences.append(
            "The posterior's range is not shown: no chains have settled within this mode."
        )
    st.caption(plain(" ".join(sentences)))


def _picture(look: Lens, bands: Displacement, component: int, posterior: np.ndarray | None) -> None:
    dataset = look.analysis.dataset
    order = np.argsort(-bands.value, kind="stable")
    entries = bands.entries[order]
    table = pd.DataFrame(
        {
            "feature": [dataset.features[d] for d in entries],
            "share": bands.value[order],
            "lower": bands.lower[order],
            "upper": bands.upper[order],
            "error at lower": bands.error[order, 0],
            "error at upper": bands.error[order, 1],
        }
    )
    if posterior is not None:
        table = table.assign(posterior_5=posterior[entries, 0], posterior_95=posterior[entries, 1])
    if dataset.image_shape is not None and entries.size == dataset.D:
        columns = np.zeros((3, dataset.D, 1))
        columns[:, bands.entries, 0] = bands.lower, bands.value, bands.upper
        names = ["lowest", "this factorization", "highest"]
        if posterior is not None:
            columns = np.concatenate([columns, posterior.T[:, :, None]])
            names += ["5 % of draws", "95 % of draws"]
        figure = basis_images(
            columns.transpose(2, 1, 0),
            dataset.image_shape,
            [f"component {component + 1}"],
            title="Each pixel moved by itself",
            columns=names,
            scale="all",
        )
        reading = (
            "Each pixel at its own minimum and maximum, on one grey scale; no single "
            "factorization looks like one of these images."
        )
    else:
        figure = range_chart(
            table["feature"],
            bands.value[order],
            bands.lower[order],
            bands.upper[order],
            f"How far entries of component {component + 1} can move",
            "band within the allowed error",
            None if posterior is None else posterior[entries],
        )
        reading = (
            f"Each of the {entries.size:d} {dataset.feature_noun} moved by itself, all else solved "
            "for again; a band that reaches 0 says that the data do not insist on it."
        )
    view.chart(figure, reading, name="moved", origin=look.origin, table=table)
