"""Mixture: which factorizations does a variational posterior need?"""

import streamlit as st

from bnmf_core.rrt.analysis import variational as stage
from pages.frame import guard, panel, view
from pages.mixture_parts import mixture

guard.enter("mixture")
look = panel.look(stage.STAGE)
stored = stage.STAGE.of(look.analysis)
mixture.without(look, stored.without)
mixtures = {variant: stored.proposals(variant) for variant in stage.VARIANTS}
if not mixtures["best"]:
    view.nothing(
        "None of these runs has a model that a mixture of Gaussians can approximate. Run the same "
        "data with “Gaussian noise” or “Uniform (ε-threshold)” to see one.",
        "run",
        "quality",
    )
variant, run_id = mixture.ask(look, mixtures["best"])
found = mixtures[variant]
where = (
    f"{look.origin} · mixtures from up to {stage.MOST_PROPOSALS:,} factorizations of each run, "
    f"{stage.VARIANTS[variant].lower()}, smallest gain {stage.TOLERANCE:g} nats"
)
mixture.bounds(look, found, where)
mixture.numbers(mixtures, variant, run_id)
mixture.fates(look, found, where)
mixture.spread(look, stored, variant, where)
mixture.components(look, run_id, found[run_id])
with st.expander("How the mixture is made"):
    st.markdown(
        "Every factorization of a run is proposed, one after the other, to a mixture of Gaussians. "
        "It joins where that raises the evidence lower bound (online variational inference, "
        "“Rapid posterior exploration in Bayesian NMF”). The energy is that of a parabola at each "
        "component, so the bound is one to second order. Under Gaussian noise one component "
        "usually remains, as in the paper: energies differ by thousands of nats, and a further "
        "component that is equally good adds 0.7. Small or very noisy data keep more."
    )
