"""Compare components with a user's catalogue, for terminal and JSON."""

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

# Largest number of modes that are compared, those with mass first.
MOST_MODES = 4


def matched(path: Path | None, dataset: Dataset) -> Matched | None:
    """Load a catalogue and match it to the features of the data; None without a path.

    Raises
    ------
    DataError, NotFoundError
        When the file cannot be read, or lacks a feature.
    """
    return None if path is None else match_catalogue(read_catalogue(path), dataset.features)


def compared(answer: Answer, catalogue: Matched) -> dict[str, Any]:
    """Nearest entries to the components, numbered from 1, of the leading modes."""
    leading = verdicts.leading(answer)[:MOST_MODES]
    modes = [answer.mode_names[k] for k in leading]
    representative = answer.modes.representative
    A = answer.comparison.aligned(representative[leading])
    # Components are numbered by mode 1, whichever mode leads.
    order = matching(A[:1], answer.comparison.aligned(representative[:1])[0])[0]
    found = cosines(A[:, :, order], catalogue.values)
    table = nearest_entries(found, catalogue.entries, modes)
    values = table[modes].to_numpy().tolist()
    called = numbered([], found.shape[1])
    return {
        "name": catalogue.name,
        "matched": catalogue.summary,
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
    """Print the comparison, if there is a catalogue."""
    if known is None:
        return
    output.say(f"{known['said']} {known['matched']}")
    for row in known["nearest"]:
        output.say(f"- Component {row['component']}, {row['said']}")
