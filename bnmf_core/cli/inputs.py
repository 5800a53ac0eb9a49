"""Build datasets and validated settings from command-line arguments."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.blocks.whole import SAMPLE
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, NotFoundError, SettingsError
from bnmf_core.core.limits import read_limits
from bnmf_core.core.plain import Value
from bnmf_core.core.settings import Declaration, build, declarations
from bnmf_core.data.joining import join, labelled, oriented
from bnmf_core.data.kinds import numbers_of
from bnmf_core.data.load import inspect_file, load_file, map_npy, named_apart
from bnmf_core.data.reading import REFUSED
from bnmf_core.data.repair import hide_entries
from bnmf_core.data.samples import SAMPLES, load_sample
from bnmf_core.data.symbols import named_by_symbols
from bnmf_core.data.synthetic import GENERATORS
from bnmf_core.registry import ALGORITHMS, algorithm
from bnmf_core.store.run_store import RunStore

# Choices of a reading and the names of their options.
OPTIONS = {
    "header_row": "header",
    "names_column": "names",
    "label_columns": "labels",
    "number_columns": "numbers",
    "left_out_columns": "leave-out",
    "decimal_mark": "decimal",
    "missing_words": "missing",
    "image_shape": "image-shape",
    "pixel_order": "pixel-order",
    "negative": "negative",
    "features_are": "features-are",
    "settings": "reading",
}
# Least number of observations in memory for data in blocks.
FEWEST = 2
WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None}


def find_data(
    name: str,
    store: RunStore,
    chosen: Mapping[str, Any] | None = None,
    values: Mapping[str, str] | None = None,
    seed: int = 0,
    hide: float | None = None,
    note: Callable[[str], None] | None = None,
    joined: Sequence[str] = (),
) -> Dataset:
    """A sample, generated data, stored data by their id, or a file's matrix.

    ``values`` : settings of a generator. ``seed`` : of a generator and of masked entries.
    ``chosen`` : fixed choices for reading a file. ``note`` : called with sentences on the reading.
    ``joined`` : files of names and labels. ``hide`` : fraction of the entries to mask.

    Raises
    ------
    BNMFError
        When the data do not exist or cannot be read.
    """
    if hide is not None:
        data = find_data(name, store, chosen, values, seed, None, note, joined)
        # The generator has used the seed itself.
        return hide_entries(data, hide, np.random.default_rng([seed, 1]))
    if values and name not in GENERATORS:
        raise SettingsError(
            f"--data-set is for generated data, and {name!r} is not a generator; there are "
            f"{', '.join(GENERATORS)}."
        )
    path = Path(name)
    if (chosen or joined) and not path.is_file():
        keys = [*(chosen or {}), *(["join"] if joined else [])]
        options = ", ".join(f"--{OPTIONS.get(key, key)}" for key in keys)
        raise SettingsError(f"{options} is for files, and there is no file {name!r}.")
    if name in SAMPLES and not chosen:
        return load_sample(name)
    if name in GENERATORS and not chosen:
        generator = GENERATORS[name]
        settings: object = build(
            generator.Settings,
            typed(generator.Settings, values or {}, generator.label),
            generator.label,
        )
        return generator.make(settings, np.random.default_rng(seed))
    if name in store.datasets():
        return store.dataset(name)
    if not path.is_file():
        raise NotFoundError(
            f"There is no file and no sample called {name!r}; the samples are "
            f"{', '.join(SAMPLES)}, the generators {', '.join(GENERATORS)}."
        )
    return _from_file(path, store, dict(chosen or {}), note, joined)


def in_blocks(
    name: str,
    store: RunStore,
    choices: Sequence[str],
    observations: str,
    sample: int | None,
    seed: int,
) -> Dataset:
    """Open a file or Zarr folder that is read in blocks.

    ``choices`` : names of the given choices, of which only ``observations`` is allowed.
    ``sample`` : number of observations in memory, drawn with ``seed``.

    Raises
    ------
    BNMFError
        When it cannot be read in blocks, or another choice was given.
    """
    if further := [key for key in choices if key != "observations"]:
        options = ", ".join(f"--{OPTIONS.get(key, key)}" for key in further)
        raise SettingsError(
            f"{options} cannot be given with --blocks, which takes a store as it is; only "
            "--observations and --sample can."
        )
    if sample is not None and sample < FEWEST:
        raise SettingsError(f"--sample was {sample}; at least {FEWEST} observations are needed.")
    size = SAMPLE if sample is None else sample
    dataset = Dataset.from_blocks(name, observations=observations, sample=size, seed=seed)
    taken = {entry.id: entry.name for entry in store.dataset_entries()}
    return named_apart(dataset, taken)


def _from_file(
    path: Path,
    store: RunStore,
    chosen: dict[str, Any],
    note: Callable[[str], None] | None,
    joined: Sequence[str],
) -> Dataset:
    if path.suffix.lower() == ".npy" and path.stat().st_size > read_limits().reading_bytes:
        return map_npy(path, observations=chosen.get("observations", "rows"))
    others: list[tuple[str, bytes, str | None]] = []
    for word in joined:
        side, equals, file = word.partition("=")
        other = Path(file if equals else word)
        if not other.is_file():
            raise NotFoundError(f"There is no file {str(other)!r} to join.")
        others.append((other.name, other.read_bytes(), side if equals else None))
    reading = inspect_file(path, chosen=chosen)
    reading = oriented(reading, {name: content for name, content, _ in others})
    sentences = [f"{path.name} is read as {reading.what}.", *reading.doubts]
    try:
        dataset = load_file(path, reading=reading)
    except DataError as error:
        if reading.negative != REFUSED:
            raise
        ways = "as 0 (--negative zero) or as not observed (--negative missing)"
        raise DataError(f"{error} Take such entries {ways}.") from error
    for name, content, axis in others:
        dataset, sentence = join(dataset, content, name, axis)
        sentences.append(sentence)
    dataset, sentence = labelled(dataset)
    dataset, renamed = named_by_symbols(dataset)
    numbers = numbers_of(dataset)
    sentences += [*filter(None, (sentence, renamed, numbers.reason, numbers.advice, dataset.empty))]
    if note is not None:
        for sentence in sentences:
            note(sentence)
    taken = {entry.id: entry.name for entry in store.dataset_entries()}
    return named_apart(dataset, taken)


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """``["key=value", …]`` as a mapping.

    Raises
    ------
    SettingsError
        When a text has no "=", or a key comes twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise SettingsError(f"{option} was {text!r}; write it as {option} key=value.")
        if key.strip() in found:
            raise SettingsError(f"{option} gave {key.strip()!r} twice; give it once.")
        found[key.strip()] = value.strip()
    return found


def typed(settings_class: type, values: Mapping[str, str], owner: str) -> dict[str, Value]:
    """Convert values to their declared types and validate them.

    Raises
    ------
    SettingsError
        Naming the setting, its value and what is allowed.
    """
    known = declarations(settings_class)
    read = {
        key: _read(text, known[key][1]) if key in known else text for key, text in values.items()
    }
    checked: object = build(settings_class, read, owner)
    return {key: getattr(checked, key) for key in values}


def _read(text: str, declared: Declaration) -> Value:
    """Parse a truth value, None or number, if the declaration allows it; else return the text."""
    word = text.lower()
    if declared.choices or (declared.pattern and word != "none"):
        return text
    if word in WORDS:
        return WORDS[word]
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def settings_by_algorithm(
    keys: Sequence[str], values: Mapping[str, str]
) -> dict[str, dict[str, Value]]:
    """Assign ``--set`` values to the chosen algorithms.

    "key=value" goes to every algorithm that has the setting, "algorithm.key=value" to one.

    Raises
    ------
    SettingsError
        When no chosen algorithm has a setting of that name, or a value is not allowed.
    """
    found: dict[str, dict[str, str]] = {key: {} for key in keys}
    known = {key: declarations(algorithm(key).Settings) for key in keys}
    for name, value in values.items():
        owner, dot, setting = name.partition(".")
        takers = [key for key in keys if name in known[key]]
        if dot and owner in ALGORITHMS:
            if owner not in known:
                raise SettingsError(f"{name!r} was set, but {owner} is not among --algorithm.")
            takers, name = [owner], setting  # noqa: PLW2901
        elif not takers:
            all_names = sorted({setting for names in known.values() for setting in names})
            raise SettingsError(
                f"No chosen algorithm has a setting called {name!r}; there are "
                f"{', '.join(all_names)}."
            )
        for key in takers:
            found[key][name] = value
    return {
        key: typed(algorithm(key).Settings, chosen, algorithm(key).label)
        for key, chosen in found.items()
    }
