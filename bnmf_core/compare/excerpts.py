"""Excerpts of texts, in pieces: those that are words of a topic, and what stands between them."""

from collections.abc import Collection

import numpy as np

from bnmf_core.core.texts import TOKEN

# Characters of an excerpt, and before its first word of the topic.
LONGEST, BEFORE = 400, 40


def excerpt(text: str, words: Collection[str], longest: int = LONGEST) -> list[tuple[str, bool]]:
    """The part of a text that holds most of some words: pieces, and whether each is such a word.

    words : in lower case. longest : characters of the excerpt, about. An ellipsis stands where the
    text goes on.

    Examples
    --------
    >>> from bnmf_core.compare.excerpts import excerpt
    >>> excerpt("The Moon is far.", {"moon", "orbit"})
    [('The ', False), ('Moon', True), (' is far.', False)]
    """
    text = " ".join(text.split())
    found = [match.span() for match in TOKEN.finditer(text) if match[0].lower() in words]
    begin, end = 0, len(text)
    if len(text) > longest:
        starts = np.array([start for start, _ in found])
        if starts.size:
            inside = np.searchsorted(starts, starts + longest - BEFORE) - np.arange(starts.size)
            begin = max(0, int(starts[inside.argmax()]) - BEFORE)
        begin = 0 if begin == 0 else text.find(" ", begin) + 1
        end = len(text) if begin + longest >= len(text) else text.rfind(" ", begin, begin + longest)
        end = end if end > begin else begin + longest
    pieces, last = [("… ", False)] if begin else [], begin
    for first, after in found:
        if begin <= first and after <= end:
            pieces += [(text[last:first], False), (text[first:after], True)]
            last = after
    pieces += [(text[last:end], False), (" …" if end < len(text) else "", False)]
    return [piece for piece in pieces if piece[0]]
