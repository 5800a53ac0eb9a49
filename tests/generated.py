"""How many examples of a fact are looked at."""

from hypothesis import settings


def generated(count: int) -> settings:
    """So many, or the same part of them that the profile makes of the usual hundred."""
    part = min(1.0, settings().max_examples / 100)
    return settings(max_examples=max(1, round(part * count)), deadline=None)


def always(count: int) -> settings:
    """As above, and the same examples every time."""
    return settings(generated(count), database=None, derandomize=True)
