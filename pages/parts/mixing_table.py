"""Mixing of chains: a table of R̂ and ESS, with the limits of R̂."""

import pandas as pd
import streamlit as st

from bnmf_core.analysis.mixing import MixingReport
from bnmf_core.compare.distances.invariants import quantities
from bnmf_core.compare.mixing import LEAST_RENEWED
from bnmf_core.registry import members_of
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain, with_unit

HELP = {
    "iat": "Integrated autocorrelation time: the number of draws that are worth one independent "
    "draw; the mean over the chains.",
    "ess_bulk": "Effective sample size for the mean, all chains together: the number of "
    "independent draws that estimate it as precisely.",
    "ess_tail": "Effective sample size for its 5 % and 95 % quantiles.",
    "mcse": "Monte Carlo standard error of the mean, in the unit of the quantity: the error of "
    "the posterior mean, if chains have converged.",
    "r_hat": "Rank-normalised split R̂: above 1.01 the chains differ. Read it together with the "
    "sentence below.",
}
MORE_THAN_MADE = (
    "Some quantities have far more effective {made} than there are {made}. There a chain changes "
    "sides of the middle more often than chance would (an antithetic chain). Its mean is nearer to "
    "the truth than that of as many independent {made}."
)
TRAJECTORIES = {
    "chain": ("chain", "", "%d"),
    "divergent": (
        "divergent",
        "Draws with a trajectory that left the posterior for numerical reasons since the draw "
        "before. Any is a place that the chain cannot enter: take a higher target acceptance.",
        "%d",
    ),
    "step_size": ("step size", "Of one leapfrog step, averaged over the draws.", "%.3g"),
    "renewed": (
        "energy renewed (E-BFMI)",
        "Energy Bayesian fraction of missing information (Betancourt 2016): how much of the spread "
        f"of the energy a fresh momentum renews. Below {LEAST_RENEWED:g} it is too little. Unknown "
        "of short chains, and where only one trajectory in several is kept.",
        "%.2f",
    ),
}
CREEPING = (
    "The energy of a chain is renewed too little (E-BFMI below "
    f"{LEAST_RENEWED:g}): it creeps through the tails of the posterior, and its draws may miss "
    "parts of them. Longer chains help; a model with tighter priors helps more."
)
LABELS = {
    "iat": "autocorrelation time ({made})",
    "ess_bulk": "bulk ESS",
    "ess_tail": "tail ESS",
    "mcse": "error of the mean",
    "r_hat": "R̂",
}


def show(look: Lens, reports: dict[str, MixingReport]) -> None:
    """A table per run of a sampler, with the warning on R̂."""
    st.header("Autocorrelation and effective sample size", anchor=False)
    of_run = look.analysis.algorithm_of
    made = {run_id: members_of(key) for run_id, key in of_run.items()}
    for run_id, report in reports.items():
        name = look.run_names[run_id]
        table = report.table.drop(columns=["quantity", "unit"])
        known = quantities(look.analysis.losses[look.analysis.run_ids.index(run_id)])
        labels = [
            known[key].label if key in known else label
            for key, label in zip(report.table["quantity"], report.table["label"], strict=True)
        ]
        table["label"] = list(map(with_unit, labels, report.table["unit"]))
        reasons = set(table["reason"])
        if len(reasons) == 1:  # a column of one sentence, and those that it leaves empty
            table = table.drop(columns="reason").dropna(axis=1, how="all")
        chains = "1 chain" if report.chains == 1 else f"{report.chains} chains"
        words = f"{chains} of {report.draws:,} kept {made[run_id]}"
        words += f"; {report.proposals}" if report.proposals else ""
        st.markdown(f"**{plain(name)}**: {plain(words)}")
        if caveat := look.analysis.caveats.get(of_run[run_id]):
            st.caption(plain(caveat))
        view.table(
            table,
            f"Autocorrelation and effective sample size: {name}",
            column_config={
                "label": "quantity",
                "reason": "why numbers are missing",
                **{
                    key: st.column_config.NumberColumn(
                        LABELS[key].format(made=made[run_id]), help=plain(help_text), format="%.4g"
                    )
                    for key, help_text in HELP.items()
                },
            },
        )
        if report.trajectories:
            _trajectories(report, name)
        if report.antithetic:
            st.caption(plain(MORE_THAN_MADE.format(made=made[run_id])))
        if len(reasons) == 1 and (reason := reasons.pop()):
            st.caption(plain(reason))
        (st.warning if len(set(report.groups)) > 1 else st.caption)(plain(report.sentence))


def _trajectories(report: MixingReport, name: str) -> None:
    """A row per chain: divergences and renewed energy of its trajectories."""
    view.table(
        pd.DataFrame(report.trajectories),
        f"Trajectories of each chain: {name}",
        column_config={
            key: st.column_config.NumberColumn(label, help=plain(help_text) or None, format=form)
            for key, (label, help_text, form) in TRAJECTORIES.items()
        },
    )
    if report.creeping:
        st.warning(plain(CREEPING))
