"""Sentences on the density of three binary variables."""

import numpy as np

from bnmf_core.boolean.three_variables import ThreeVariables

# Distance from 0 or 1 that counts as no or yes.
NEAR = 0.02
# Smaller squared errors count as 0.
EXACT = 1e-9
# Most listed maxima of one height; more are a ridge.
LISTED = 2


def fit(found: ThreeVariables) -> str:
    """Whether binary values can fit the observations."""
    corners = found.best_corners
    misfit = float(found.misfit(corners[0]))
    if misfit > EXACT:
        return (
            f"No choice of 0 and 1 explains a, b and c: the best leaves a squared error of "
            f"{misfit:.3g}."
        )
    if len(corners) == 1:
        chosen = ", ".join("yes" if value else "no" for value in corners[0])
        return f"One choice of 0 and 1 explains a, b and c exactly: {chosen} for x, y and z."
    return (
        f"{len(corners)} choices of 0 and 1 explain a, b and c exactly, and nothing tells which "
        "of them it is."
    )


def largest(found: ThreeVariables) -> str:
    """The maxima of the density."""
    if not found.bounded:
        return (
            "Under this prior the density grows without bound at 0 and at 1, so that it is largest "
            "nowhere. It has a mean all the same."
        )
    places = found.maxima
    if len(places) > LISTED:
        return (
            f"The density is largest along whole lines, not at one place: {_place(places[0])} lies "
            "on one of them, and a search may end anywhere along them."
        )
    if len(places) > 1:
        return f"The density is largest in two places, {_place(places[0])} and {_place(places[1])}."
    return _at_one_place(found, places[0])


def _at_one_place(found: ThreeVariables, place: np.ndarray) -> str:
    between = int(((place > NEAR) & (place < 1.0 - NEAR)).sum())
    where = f"The density is largest at {_place(place)}"
    fits = any(np.abs(place - corner).max() <= NEAR for corner in found.best_corners)
    if between:
        lies = f"{where}: {_HOW_MANY[between]} in between"
        if found.misfit(found.best_corners[0]) > EXACT:
            return f"{lies}, where what is not explained is shared out."
        return f"{lies}, as the prior pulls away from yes."
    if fits or found.printed:
        return f"{where}: each is a yes or a no."
    return (
        f"{where}: each is a yes or a no, and not what fits best. The prior outweighs three "
        "observations."
    )


def means(found: ThreeVariables) -> str:
    """The mean of draws, compared with the maximum."""
    sentence = f"Draws lie at {_place(found.means)} on average"
    if not found.bounded or len(found.maxima) > 1:
        return f"{sentence}: three observations with noise as large as themselves settle little."
    away = float(np.abs(found.means - found.maxima[0]).max())
    sides = (found.means > 0.5) != (found.maxima[0] > 0.5)
    if sides.any():
        names = [name for name, other in zip("xyz", sides, strict=True) if other]
        return (
            f"{sentence}, up to {away:.2f} away: cut at ½, the mean says the opposite of the "
            f"maximum for {' and '.join(names)}."
        )
    return f"{sentence}, up to {away:.2f} away; cut at ½, both say the same."


PRINTED = (
    "As printed, a poor fit of b and of c is rewarded: the density is large where they are missed "
    "by most."
)
_HOW_MANY = {1: "one number lies", 2: "two numbers lie", 3: "all three lie"}


def _place(point: np.ndarray) -> str:
    return ", ".join(f"{name} = {abs(value):.2f}" for name, value in zip("xyz", point, strict=True))
