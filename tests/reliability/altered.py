"""The files of an archive of runs, to be altered and packed again with checksums that fit."""

import hashlib
import io
import json
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bnmf_core.core.particles import ARRAYS, NAMED
from bnmf_core.share.archive import MANIFEST
from bnmf_core.store import integrity
from bnmf_core.store.datasets import read_dataset

Files = dict[str, bytes]
META, ARRAYS_OF_DATA, X = "dataset/meta.json", "dataset/arrays.npz", "dataset/X.npy"
# What is put in the place of a value, as JSON.
VALUES = (
    *("null", "true", "-1", "0", "1", "5", "1.5", "1e300", "-1e300", "1e999", "NaN", "Infinity"),
    *(
        "-Infinity",
        "[]",
        "{}",
        '""',
        '"2"',
        '"\\u0000"',
        '"\\ud800"',
        '"\\u202eabc"',
        '"../../evil"',
    ),
    *('"<script>alert(1)</script>"', '"=1+1"', '[1, "a"]', '{"a": 1}', "253402300800", "1e12"),
    *("9" * 400, "9" * 5000, f'"{"a" * 100_000}"', "[" * 2000 + "]" * 2000, "-0.0", "1e-320"),
    *("9223372036854775808", '"complete"', '"running"', '"gibbs"', '"\\n\\t"', "[[]]"),
)
DEEP = ("[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000)
NUMBERS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 1e-320, 7.0)
TYPES = ("<f4", "<f2", ">f8", "<i8", "<u1", "|b1", "<c16", "<U3", "|S2", "<M8[s]", "V8")


class Altered:
    """The files of an archive, by name, to be altered and packed again.

    rng : decides what is altered.
    """

    def __init__(self, files: Files, rng: np.random.Generator) -> None:
        self.files, self.rng = dict(files), rng

    def pick(self, among):
        """One of these."""
        among = list(among)
        return among[int(self.rng.integers(len(among)))]

    def named(self, begins: str = "", ends: str = "") -> str:
        """The name of a file that begins and ends so."""
        return self.pick(n for n in self.files if n.startswith(begins) and n.endswith(ends))

    def told(self, name: str):
        """The values of a JSON file."""
        values = json.loads(self.files[name])
        values.pop(integrity.SEAL, None)
        return values

    def tell(self, name: str, text: str) -> None:
        """Write a JSON file, with the checksum that fits it."""
        if name != MANIFEST:
            try:
                values = json.loads(text)
                text = text.rstrip()[:-1] + f', "{integrity.SEAL}": {integrity._of_json(values)}}}'
            except (ValueError, RecursionError, AttributeError):
                pass
        self.files[name] = text.encode(errors="surrogatepass")

    def array(self, name: str) -> np.ndarray:
        """The array in a file."""
        return np.load(io.BytesIO(self.files[name]))

    def put(self, name: str, array: np.ndarray) -> None:
        """Write an array of a run, and the checksums that fit it."""
        self.files[name] = saved(array)
        run, _, short = name.removesuffix(".npy").rpartition("/particles/")
        meta = self.told(f"{run}/particles.json")
        with warnings.catch_warnings(action="ignore"):
            large = short in ("A", "W") and array.ndim
            sums = [checksum(one) for one in array] if large else checksum(array)
        meta["sums"][short], meta["dtypes"][short] = sums, array.dtype.str
        self.tell(f"{run}/particles.json", json.dumps(meta))
        self.digest(run)

    def digest(self, run: str) -> None:
        """Let the list say what the factorizations of a run are now."""
        digest = hashlib.sha256()
        try:
            for part in "AW":
                array = self.array(f"{run}/particles/{part}.npy")
                for one in array.real if array.dtype.kind == "c" else array:
                    digest.update(np.ascontiguousarray(one, dtype="<f8").tobytes())
        except (TypeError, ValueError):
            return
        manifest = self.told(MANIFEST)
        for entry in manifest["runs"]:
            if entry["id"] == run.partition("/")[2]:
                entry["digest"] = digest.hexdigest()[:16]
        self.tell(MANIFEST, json.dumps(manifest))

    def rehash(self) -> None:
        """Let the list say what the data are now, where they can be read."""
        with tempfile.TemporaryDirectory() as aside:
            for name in (META, ARRAYS_OF_DATA, X):
                (Path(aside) / name).parent.mkdir(exist_ok=True)
                (Path(aside) / name).write_bytes(self.files[name])
            try:
                with warnings.catch_warnings(action="ignore"):
                    found = read_dataset(Path(aside) / "dataset").hash
            except Exception:  # it is refused for another reason then
                return
        self.tell(MANIFEST, json.dumps(self.told(MANIFEST) | {"dataset": found}))

    def packed(self, pack: Callable[[zipfile.ZipFile], None] = lambda archive: None) -> bytes:
        """The archive with a list whose sums fit; ``pack`` adds to it what no file can be."""
        try:
            manifest = json.loads(self.files[MANIFEST])
            manifest["sha256"] = {
                name: hashlib.sha256(content).hexdigest()
                for name, content in self.files.items()
                if name not in (MANIFEST, "signature.txt")
            }
            self.files[MANIFEST] = json.dumps(manifest).encode()
        except (ValueError, TypeError, RecursionError):
            pass
        return zipped(self.files, pack)


def zipped(files: Files, pack: Callable[[zipfile.ZipFile], None] = lambda archive: None) -> bytes:
    content = io.BytesIO()
    with (
        warnings.catch_warnings(action="ignore"),
        zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, text in files.items():
            archive.writestr(name, text)
        pack(archive)
    return content.getvalue()


def saved(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def checksum(array) -> int:
    try:
        return integrity.checksum(np.asarray(array))
    except (TypeError, ValueError):
        return 0


def places(value, found=None):
    """Every dictionary or list within a value, with each of its keys."""
    found = [] if found is None else found
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        found.append((value, key))
        places(value[key], found)
    return found


def altered_json(one: Altered, name: str) -> str:
    """The text of a JSON file in which one value is another, gone, new, or there twice."""
    values = one.told(name)
    many = {key: values.get(key) for key in ("sha256", "sums", "dtypes")}
    where: dict[object, list] = {}
    # Each entry as often as another, however long lists are.
    for container, key in places(values):
        within = next((kind for kind, inner in many.items() if container is inner), None)
        if within != "sha256":
            kind = within or (key if isinstance(key, str) else "item")
            where.setdefault(kind, []).append((container, key))
    container, key = one.pick(where[one.pick(where)])
    how, text = one.rng.integers(8), one.pick(VALUES)
    if how == 0:
        del container[key]
    elif how == 1 and isinstance(container, dict):
        container["further"] = "@@"
    elif how == 2:
        other, its = one.pick(where[one.pick(where)])
        container[key] = json.loads(json.dumps(other[its]))
    elif how == 3 and isinstance(container, dict):
        return json.dumps(values).replace("{", f'{{"{key}": {text}, ', 1)
    else:
        container[key] = "@@"
    return json.dumps(values).replace('"@@"', text, 1)


def read(path: Path) -> tuple[dict, dict[str, dict[str, np.ndarray]]]:
    """What an archive declares: its list of contents, and the arrays of each run."""
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(path) as archive:
        # Python reads no numbers of more digits; they stand where nothing is read.
        manifest = json.loads(archive.read(MANIFEST), parse_int=lambda t: int(t[:4000]))
        arrays = {}
        for run in manifest["runs"]:
            begins = f"runs/{run['id']}/particles/"
            arrays[run["id"]] = {
                Path(name).stem: np.load(io.BytesIO(archive.read(name)))
                for name in archive.namelist()
                if name.startswith(begins)
            }
    return manifest, arrays


def arrays_of(particles) -> dict[str, np.ndarray]:
    """The arrays of a run as an archive names them."""
    named = {
        f"{prefix}{key}": value
        for kind, prefix in NAMED.items()
        for key, value in getattr(particles, kind).items()
    }
    return {name: getattr(particles, name) for name in ARRAYS} | named
