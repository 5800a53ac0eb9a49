"""Schema of the JSON in an archive: types, ranges and lengths of every entry.

An archive may come from a stranger: anything not declared here is refused before it is stored.
"""

import re
import sys
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from bnmf_core.core.errors import StoreError
from bnmf_core.core.names import clean_name
from bnmf_core.store.notes import LONGEST_NAME, LONGEST_TEXT

# Upper limits of seconds since 1970, and of finite numbers.
LATEST = 250_000_000_000.0
LARGEST = sys.float_info.max
LONGEST = 2000
# Names of files in an archive; others are never written.
MEMBER = (
    r"^(dataset/(meta\.json|X\.npy|arrays\.npz|texts\.npz)|notes/[0-9a-f]{8}\.npz"
    r"|report\.html|repeat\.py"
    r"|runs/[0-9a-f]{8}/particles(\.json|/[A-Za-z0-9_-]{1,100}\.npy)"
    r"|analyses/[0-9a-f]{12}(/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}){1,4})\Z"
)

Time = Annotated[float, Meta(ge=0.0, le=LATEST)]
Finite = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Positive = Annotated[float, Meta(ge=0.0, le=LARGEST)]
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Some = Annotated[int, Meta(ge=1, le=2**31)]
Text = Annotated[str, Meta(max_length=LONGEST)]
Key = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}\Z")]
Part = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,90}\Z")]
RunId = Annotated[str, Meta(pattern=r"^[0-9a-f]{8}\Z")]
Hash = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
Crc = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Parts = Annotated[list[Part], Meta(max_length=1000)]
Pixels = tuple[Some, Some] | None
Settings = Annotated[dict[Key, bool | Whole | Finite | Text | None], Meta(max_length=1000)]


class Spec(Struct, forbid_unknown_fields=True):
    """The spec of a run; fields missing in older archives have defaults."""

    algorithm: Key
    rank: Some
    model: Key
    particles: Some
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    settings: Settings
    model_settings: Settings
    holdout: Annotated[float, Meta(ge=0.0, le=0.5)] = 0.0
    seconds: Positive = 0.0


class Entry(Struct):
    """A run in the list of contents."""

    id: RunId
    name: Text
    launch: Text
    status: Literal["complete", "cancelled", "interrupted", "failed"]
    message: Text
    created: Time
    seconds: Time
    done: Count
    version: Text
    spec: Spec
    digest: Hash
    launch_name: Text = ""
    busy: Time = 0.0


class Manifest(Struct):
    """The list of contents; each of its runs is an :class:`Entry`."""

    format: Annotated[int, Meta(ge=1, le=1_000_000)]
    program: Text
    created: Time
    dataset: Hash
    comparison: Annotated[str, Meta(pattern=r"^[0-9a-f]{12}\Z")]
    runs: Annotated[list[Raw], Meta(min_length=1, max_length=10_000)]
    sha256: dict[
        Annotated[str, Meta(pattern=MEMBER)], Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    ]


class FailedChain(Struct, forbid_unknown_fields=True):
    """A chain that did not reach its end."""

    chain: Count
    after_draw: Count
    reason: Text


class Info(Struct, forbid_unknown_fields=True):
    """Metadata of a run besides its spec."""

    version: Text = ""
    dataset: Text = ""
    algorithm_label: Text = ""
    settings: Settings = {}
    model_settings: Settings = {}
    stop_reason: Text = ""
    run_seconds: Time = 0.0
    failed_chains: Annotated[list[FailedChain], Meta(max_length=100_000)] = []
    log_evidence: Finite | None = None
    log_evidence_error: Positive | None = None
    acceptance: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0
    notes: Annotated[list[Text], Meta(max_length=1000)] = []
    damage: Text = ""


class Made(Struct):
    """Names and checksums of the arrays of a run."""

    spec: Spec
    info: Info
    diagnostics: Parts
    trace: Parts
    totals: Parts
    sums: dict[Part, Crc | list[Crc]]
    dtypes: dict[Part, Text]


class Shape(Struct, forbid_unknown_fields=True):
    """The size of data that are read in blocks."""

    label: Text
    D: Some
    N: Count
    sparse: bool
    stored_entries: Count
    width: Count


class Blocks(Struct, forbid_unknown_fields=True):
    """Location of the full data of which an archive holds a sample; it is never opened."""

    path: Text
    observations: Literal["rows", "columns"]
    key: Hash
    bounds: Annotated[list[Count], Meta(min_length=2, max_length=10_000_000)]
    opened: Text
    source: Shape
    seed: Whole


class Data(Struct):
    """Metadata of a dataset."""

    name: Text
    shape: tuple[Some, Some]
    sparse: bool
    labels: Annotated[list[Text], Meta(max_length=10_000)]
    truth: Annotated[list[Text], Meta(max_length=1000)]
    image_shape: Pixels
    map_shape: Pixels
    unit: Text
    features_are: Text
    source: Text
    descriptions: Annotated[list[Text], Meta(max_length=10_000)] = []
    texts: bool = False
    whole: Blocks | None = None


class NoteText(Struct, forbid_unknown_fields=True):
    """The name and text of a note."""

    kind: Literal["component", "mode"]
    name: Annotated[str, Meta(max_length=LONGEST_NAME)]
    text: Annotated[str, Meta(max_length=LONGEST_TEXT)]
    created: Time


Kind = TypeVar("Kind")


def decoded(text: bytes | Raw, kind: type[Kind], what: str) -> Kind:
    """Decode JSON as a ``kind``; ``what`` is the subject of the error message.

    Raises
    ------
    StoreError
        When the JSON does not fit; the message names the part.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _other(what, error) from error


def converted(value: object, kind: type[Kind], what: str) -> Kind:
    """Convert plain values to a ``kind``; see :func:`decoded`."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        raise _other(what, error) from error


def clean(value: Any) -> Any:
    """Reduce every text to one line of printable characters."""
    if isinstance(value, str):
        return clean_name(value, LONGEST)
    if isinstance(value, dict):
        return {key: clean(one) for key, one in value.items()}
    return [clean(one) for one in value] if isinstance(value, list) else value


def _other(what: str, error: Exception) -> StoreError:
    """The error that names the wrong part, if it is known."""
    place = re.search(r"`\$?\.?([\w.\[\]]+)`$|field `(\w+)`", str(error))
    where = f" in its part {clean_name(place[1] or place[2])!r}" if place else ""
    return StoreError(f"{what} is not what it must be{where}.")
