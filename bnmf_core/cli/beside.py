"""Components beside a catalogue of the user's, in a terminal and as a document."""

from pathlib import Path
from typing import Any

from bnmf_core.cli.output import Output
from bnmf_core.compare.alignment import matching
from bnmf_core.compare.catalogue import cosines, describe_entry, describe_nearest, nearest_entries
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import numbered
from bnmf_core.data.catalogue import Matched, match_catalogue, read_catalogue
from bnmf_core.findings import verdicts
from bnmf_core.findings.answer import Answer

# Modes that are compared with it, those with mass first.
MOST_MODES = 4


def matched(path: Path | None, dataset: Dataset) -> Matched | None:
    """The catalogue in a file, by the features of the data; None where no file is named.

    Raises
    ------
    DataError, NotFoundError
        When the file cannot be read, or lacks a feature.
    """
    return None if path is None else match_catalogue(read_catalogue(path), dataset.features)


def told(answer: Answer, catalogue: Matched) -> dict[str, Any]:
    """How near entries are to the components, numbered from 1, of the leading modes."""
    leading = verdicts.leading(answer)[:MOST_MODES]
    modes = [answer.mode_names[k] for k in leading]
    representative = answer.modes.representative
    A = answer.comparison.aligned(representative[leading])
    # Components have the numbers of mode 1, whichever mode leads.
    order = matching(A[:1], answer.comparison.aligned(representative[:1])[0])[0]
    found = cosines(A[:, :, order], catalogue.values)
    table = nearest_entries(found, catalogue.entries, modes)
    values = table[modes].to_numpy().tolist()
    called = numbered([], found.shape[1])
    return {
        "name": catalogue.name,
        "matched": catalogue.said,
        "said": describe_nearest(found, catalogue.entries, modes, called),
        "modes": modes,
        "nearest": [
            {
                "component": int(r) + 1,
                "entry": entry,
                "cosine": row,
                "said": describe_entry(row, entry, modes),
            }
            for r, entry, row in zip(table["component"], table["entry"], values, strict=True)
        ],
    }


def show(known: dict[str, Any] | None, output: Output) -> None:
    """Print it for people; nothing where there is no catalogue."""
    if known is None:
        return
    output.say(f"{known['said']} {known['matched']}")
    for row in known["nearest"]:
        output.say(f"- Component {row['component']}, {row['said']}")
