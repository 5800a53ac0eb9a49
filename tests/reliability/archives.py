"""Archives of runs that somebody has altered, by what was done to them."""

import io
import json
import struct
import warnings
import zipfile

import numpy as np

from bnmf_core.share.archive import MANIFEST
from tests.reliability.altered import (
    ARRAYS_OF_DATA,
    DEEP,
    META,
    NUMBERS,
    TYPES,
    VALUES,
    Altered,
    X,
    altered_json,
    checksum,
    saved,
    zipped,
)

# Kinds of alteration


def flipped(one: Altered) -> bytes:
    data = bytearray(zipped(one.files))
    for _ in range(one.rng.integers(1, 4)):
        data[int(one.rng.integers(len(data)))] ^= 1 << int(one.rng.integers(8))
    return bytes(data)


def cut_or_wrapped(one: Altered) -> bytes:
    data, at = zipped(one.files), 0
    at, junk = int(one.rng.integers(len(data))), one.rng.bytes(int(one.rng.integers(1, 2000)))
    return one.pick(
        (data[:at], data[at:], junk + data, data + junk, data[:at] + junk + data[at:], data + data)
    )


def listed(one: Altered) -> bytes:
    one.files[MANIFEST] = altered_json(one, MANIFEST).encode(errors="surrogatepass")
    return one.packed()


def of_a_run(one: Altered) -> bytes:
    name = one.named("runs/", "particles.json")
    one.tell(name, altered_json(one, name))
    return one.packed()


def of_a_run_twice(one: Altered) -> bytes:
    """The same change in the spec of the list and in that of the run, which then agree."""
    name = one.named("runs/", "particles.json")
    meta, manifest = one.told(name), one.told(MANIFEST)
    entry = next(run for run in manifest["runs"] if run["id"] in name)
    key, text = one.pick(meta["spec"]), one.pick(VALUES)
    if key in ("settings", "model_settings") and one.rng.random() < 0.7:
        inner = one.pick(("sigma", "rate", "chains", "further", "warm_up", "1"))
        text = f'{{"{inner}": {text}}}'
        if one.rng.random() < 0.5:
            meta["info"][key] = "@@"
    meta["spec"][key] = entry["spec"][key] = "@@"
    one.tell(name, json.dumps(meta).replace('"@@"', text))
    one.tell(MANIFEST, json.dumps(manifest).replace('"@@"', text))
    return one.packed()


def of_the_data(one: Altered) -> bytes:
    one.tell(META, altered_json(one, META))
    one.rehash()
    return one.packed()


def of_a_note(one: Altered) -> bytes:
    name = one.named("notes/")
    arrays = dict(np.load(io.BytesIO(one.files[name])))
    told = json.loads(str(arrays["told"]))
    one.files["told.json"] = json.dumps(told).encode()
    text = altered_json(one, "told.json") if one.rng.random() < 0.7 else one.pick((*DEEP, *VALUES))
    del one.files["told.json"]
    if one.rng.random() < 0.6:
        arrays["told"] = np.array(text.encode(errors="replace").decode())
    else:
        arrays["A"] = _other_array(one, arrays["A"])
    _put_npz(one, name, arrays)
    return one.packed()


def numbers(one: Altered) -> bytes:
    """Some numbers of a run are others."""
    name = one.named("runs/", ".npy")
    array = np.array(one.array(name))
    flat = array.reshape(-1)
    many = one.rng.choice(flat.size, int(one.rng.integers(1, max(flat.size // 2, 2))))
    with warnings.catch_warnings(action="ignore"):
        how = one.rng.integers(3)
        if how == 0:
            flat[many] = np.array(one.pick(NUMBERS)).astype(array.dtype)
        elif how == 1:
            flat[many] = one.rng.permutation(flat[many])
        else:
            flat *= np.array(one.pick(NUMBERS)).astype(array.dtype)
    one.put(name, array)
    return one.packed()


def _other_array(one: Altered, array: np.ndarray) -> np.ndarray:
    """The array in another shape or type."""
    forms = (array[:-1], np.concatenate([array, array]), array.T, array.reshape(-1), array[:0])
    if one.rng.random() < 0.7:
        return one.pick((*forms, array[..., None]))
    kind = one.pick(TYPES)
    with warnings.catch_warnings(action="ignore"):
        try:
            return array.astype(kind)
        except (TypeError, ValueError):
            return np.zeros(array.shape, kind)


def shapes(one: Altered) -> bytes:
    """An array of a run has another shape or type."""
    name = one.named("runs/", ".npy")
    one.put(name, _other_array(one, one.array(name)))
    return one.packed()


def headers(one: Altered) -> bytes:
    """A file of an array claims what it does not hold, or is none."""
    name, text = one.named("runs/", ".npy"), {"descr": "<f8", "fortran_order": False}
    shape = one.pick(((10**12,), (10**6, 10**6), (-1, 6), (2**63,), (0,), (), (6, 6, 6, 6)))
    claimed = repr(text | {"shape": shape, "descr": one.pick(("<f8", "|O", "<f8,<f8", "V0"))})
    claimed = claimed.ljust(117) + "\n"
    header = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(claimed)) + claimed.encode()
    one.files[name] = one.pick(
        (header, header + one.rng.bytes(288), one.rng.bytes(200), b"", one.files[ARRAYS_OF_DATA])
    )
    return one.packed()


def _put_npz(one: Altered, name: str, arrays: dict[str, np.ndarray]) -> None:
    content = io.BytesIO()
    save = np.savez if one.rng.random() < 0.9 else np.savez_compressed
    with warnings.catch_warnings(action="ignore"):
        save(content, allow_pickle=False, **arrays)
    one.files[name] = content.getvalue()


def arrays_of_the_data(one: Altered) -> bytes:
    """An array of the data is another."""
    meta = one.told(META)
    if one.rng.random() < 0.4:
        array = _other_array(one, one.array(X)) if one.rng.random() < 0.5 else one.array(X).copy()
        if array.size and array.dtype == np.float64:
            array.flat[one.rng.integers(array.size)] = one.pick(NUMBERS)
        one.files[X] = saved(array)
        if one.rng.random() < 0.5:
            meta["shape"] = array.shape
        meta |= {"sum": checksum(array), "dtype": array.dtype.str}
    else:
        arrays = dict(np.load(io.BytesIO(one.files[ARRAYS_OF_DATA])))
        key, how = one.pick(arrays), one.rng.integers(4)
        if how == 0:
            del arrays[key]
        elif how == 1 and arrays[key].dtype.kind == "U":
            arrays[key] = np.full(
                arrays[key].shape, one.pick(("", "\u202ea", "a\ud800", "x" * 9999))
            )
        elif how == 2:
            further = {"mask": np.ones((6, 6), bool), "hidden": np.ones(3), "data": np.ones(5)}
            arrays |= dict([one.pick(further.items())])
        else:
            arrays[key] = _other_array(one, arrays[key])
        if one.rng.random() < 0.2:
            values = np.array([1.0, 2.0])
            arrays |= {"data": values, "indices": np.array([0, one.pick((1, 99, -5, 2**31 - 1))])}
            arrays["indptr"] = np.array([0, 1, one.pick((2, 1, 50, -1)), 2, 2, 2, 2])
            meta["sparse"] = True
        _put_npz(one, ARRAYS_OF_DATA, arrays)
    one.tell(META, json.dumps(meta))
    one.rehash()
    return one.packed()


def deep(one: Altered) -> bytes:
    """JSON that is deep, long, or none."""
    name = one.pick(n for n in one.files if n.endswith(".json") and "analyses" not in n)
    text = one.pick((*DEEP, "", "{", "\xff", "null", "[]", "{}", "NaN", '{"a": 1, "a": 2}'))
    if one.rng.random() < 0.5 and one.files[name][:1] == b"{":
        text = '{"further": ' + one.pick(DEEP) + ", " + one.files[name].decode()[1:]
    one.files[name] = text.encode()
    return one.packed()


def runs_mixed(one: Altered) -> bytes:
    """Runs that are there twice, gone, or called as others."""
    manifest = one.told(MANIFEST)
    runs, how = manifest["runs"], one.rng.integers(7)
    first, second = runs[0]["id"], runs[1]["id"]
    if how == 0:
        runs.append(dict(one.pick(runs)))
    elif how == 1:
        del runs[int(one.rng.integers(len(runs)))]
    elif how == 2:
        runs[0]["id"], runs[1]["id"] = second, first
    elif how == 3:
        runs[0]["id"] = one.pick((second, "ABCDEF01", "../../ab", "0000000", "00000000\n"))
    elif how == 4:
        for name in [name for name in one.files if first in name]:
            one.files[name.replace(first, "deadbeef")] = one.files.pop(name)
        runs[0]["id"] = one.pick(("deadbeef", first))
    elif how == 5:
        runs[0]["spec"], runs[1]["spec"] = runs[1]["spec"], runs[0]["spec"]
    else:
        other = f"runs/{second}/particles/"
        name = one.named(f"runs/{first}/particles/", ".npy")
        one.files[name] = one.files[one.named(other)]
    one.tell(MANIFEST, json.dumps(manifest))
    return one.packed()


def members(one: Altered) -> bytes:
    """Files that no archive has: hostile names, links, twice, encrypted, packed otherwise."""
    evil = one.pick(
        (
            *("../evil", "/tmp/evil.npy", "runs/../../evil.npy", "C:\\evil", "evil", "e" * 300),
            *("runs/00000000/particles/" + "e" * 300 + ".npy", "dataset/meta.json/evil", "dataset"),
            *(
                "runs/",
                "dataset/X.npy/",
                "notes/evil.npz",
                "a\x00b",
                "%2e%2e/evil",
                "notes/../evil",
            ),
            *("evil/" * 2000, "analyses/00000000000a/evil.json", "runs/deadbeef/particles.json"),
        )
    )
    name, how = one.named(), one.rng.integers(8)

    def pack(archive: zipfile.ZipFile) -> None:
        if how == 0:
            archive.writestr(evil, b"evil")
        elif how == 1:
            archive.writestr(name, one.pick((one.files[name], b"evil")))
        elif how == 2:
            link = zipfile.ZipInfo(one.pick((evil, "notes/0000000a.npz")))
            link.external_attr = 0xA1FF << 16
            archive.writestr(link, b"/etc/passwd")

    if how == 3:
        one.files[evil] = b"evil"
        return one.packed()
    if how == 4:
        del one.files[name]
    if how in (5, 6):
        content = one.files.pop(name)
        method = one.pick((zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))

        def pack(archive: zipfile.ZipFile) -> None:
            archive.writestr(name, content, method)

    data = bytearray(zipped(one.files, pack))
    if how == 6:
        data[int(one.rng.integers(len(data) // 2, len(data)))] ^= 255
    if how == 7:
        flag, method = one.pick(((1, None), (None, 99), (None, 8), (0x2000, None), (0x20, None)))
        _patch(data, one, flag, method)
    return bytes(data)


def _patch(data: bytearray, one: Altered, flag: int | None, method: int | None) -> None:
    """Change flags or method of one file, in both places that name them."""
    chosen = int(one.rng.integers(len(one.files)))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        begins = -1
        for _ in range(chosen + 1):
            begins = data.find(mark, begins + 1)
        if begins >= 0 and flag is not None:
            data[begins + at] |= flag & 0xFF
            data[begins + at + 1] |= flag >> 8
        if begins >= 0 and method is not None:
            data[begins + at + 2 : begins + at + 4] = struct.pack("<H", method)


def directory(one: Altered) -> bytes:
    """The list at the end of the ZIP file lies, or claims to be that of a larger file."""
    data = bytearray(zipped(one.files))
    begins = data.find(b"PK\x01\x02")
    if one.rng.random() < 0.7:
        entries, at = [], begins
        while at >= 0:
            entries.append(at)
            at = data.find(b"PK\x01\x02", at + 1)
        at = one.pick(entries) + one.pick(range(4, 46))
        data[at] = int(one.rng.integers(256))
        if one.rng.random() < 0.5:
            large = one.pick(entries)
            data[large + 24 : large + 28] = one.pick(
                (b"\xff" * 4, b"\x00" * 4, b"\xff\xff\xff\x7f")
            )
    else:
        end = data.rfind(b"PK\x05\x06")
        data[end + one.pick(range(4, 22))] = int(one.rng.integers(256))
        if one.rng.random() < 0.5:
            locator = b"PK\x06\x07" + struct.pack("<LQL", 0, int(one.rng.integers(2**40)), 1)
            record = b"PK\x06\x06" + struct.pack("<QHHLLQQQQ", 44, 45, 45, 0, 0, 9, 9, 99, begins)
            data[end:end] = one.pick((locator, record + locator))
    return bytes(data)


def results(one: Altered) -> bytes:
    """Results that are wrong, with checksums and a signature that somebody has made up."""
    name = one.named("analyses/")
    if name.endswith(".json"):
        one.tell(name, altered_json(one, name) if one.told(name) else "1.6")
    else:
        one.files[name] = saved(_other_array(one, np.full((4, 4), 90.0)))
    signature = one.files["signature.txt"]
    one.files["signature.txt"] = one.pick((b"", b"0" * 64, signature, signature, b"\xff" * 9))
    return one.packed()


def bombs(one: Altered) -> bytes:
    """Files that swell."""
    name = one.named()
    size = one.pick((10**5, 10**7, 3 * 10**7))
    how = one.rng.integers(3)
    if how == 0:
        one.files[name] = bytes(size)
        return one.packed()
    if how == 1:
        content = io.BytesIO()
        np.savez_compressed(content, **{k: np.zeros(size) for k in ("features", "A", "told")})
        one.files[one.pick((ARRAYS_OF_DATA, one.named("notes/")))] = content.getvalue()
        return one.packed()
    data = bytearray(zipped(one.files | {name: bytes(size)}))
    begins = data.find(b"PK\x01\x02")
    data[begins + 24 : begins + 28] = struct.pack("<L", one.pick((1, size, 2**32 - 2)))
    return bytes(data)


KINDS = {
    "whole": lambda one: one.packed(),
    **{
        act.__name__: act
        for act in (
            *(flipped, cut_or_wrapped, listed, of_a_run, of_a_run_twice, of_the_data, of_a_note),
            *(numbers, shapes, headers, arrays_of_the_data, deep, runs_mixed, members, directory),
            *(results, bombs),
        )
    },
}
