"""One topic as several factorizations tell it."""

import pandas as pd
import streamlit as st

from pages.frame.words import plain


def show(component: int, part: pd.DataFrame, names: list[str], count: int) -> None:
    """One topic as a table: a row per factorization, changed words marked."""
    differing = part[part["changed"]].groupby("factorization").size()
    words = f"{int(differing.max()):d} of {count:d} words differ" if len(differing) else "all agree"
    lines = [f"| Topic {component + 1:d} | {words} |", "|:--|:--|"]
    for k, name in enumerate(names):
        line = part[part["factorization"] == k]
        text = " · ".join(
            f":orange-badge[● {plain(word)}]" if changed else plain(word)
            for word, changed in zip(line["word"], line["changed"], strict=True)
        )
        lines.append(f"| :small[{plain(name)}] | {text} |")
    st.markdown("\n".join(lines))
