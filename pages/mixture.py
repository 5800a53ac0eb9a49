"""Mixture: which factorizations does a variational posterior need?"""

import streamlit as st

from bnmf_core.analysis import variational as stage
from pages.frame import guard, lens
from pages.frame.view import header
from pages.parts import mixture_view

guard.enter("mixture")
header(
    "Mixture",
    "Which factorizations does a variational posterior need, and what did each proposal gain?",
)
st.caption(
    "Every factorization of a run is proposed, one after the other, to a mixture of Gaussians; it "
    "joins where that raises the evidence lower bound (online variational inference, “Rapid "
    "posterior exploration in Bayesian NMF”). The energy is that of a parabola at each component, "
    "so the bound is one to second order. Under Gaussian noise one component usually remains, as "
    "in the paper: energies differ by thousands of nats, and a further component that is equally "
    "good adds 0.7. Small or very noisy data keep more."
)
look = lens.look("variational")
mixture_view.without(look)
mixtures = {variant: stage.read(look.analysis, variant) for variant in stage.VARIANTS}
if not mixtures["best"]:
    st.info(
        "None of these runs has a model that a mixture of Gaussians can approximate. Run the "
        "same data with “Gaussian noise” or “Every entry within a threshold” to see one."
    )
    st.page_link("pages/run.py", label="Set up a run", icon=":material/play_circle:")
    st.page_link("pages/posterior.py", label="Weigh these instead", icon=":material/balance:")
    st.stop()
variant, run_id = mixture_view.ask(look, mixtures["best"])
mixture_view.numbers(mixtures, variant, run_id)
found = mixtures[variant]
where = (
    f"{look.origin} · mixtures from up to {stage.MOST_PROPOSALS:,} factorizations of each run, "
    f"{stage.VARIANTS[variant].lower()}, smallest gain {stage.TOLERANCE:g} nats"
)
mixture_view.bounds(look, found, where)
mixture_view.fates(look, found, where)
mixture_view.spread(look, variant, where)
mixture_view.components(look, run_id, found[run_id])
