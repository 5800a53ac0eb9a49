"""Mistakes to plant in ``bnmf_core/store``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "store: the checkpoint is written before its chunk",
        "store/folders.py",
        "        if chunk is not None:\n            arrays = {",
        '        place = self.folder / f"checkpoint-{shard.index:05d}.npz"\n'
        "        files.write_arrays(place, to_arrays(checkpoint))\n"
        "        if chunk is not None:\n            arrays = {",
        "tests/store/test_store.py",
    ),
    Mutant(
        "store: files are written in place",
        "store/files.py",
        'path.with_name(path.name + f".{os.getpid()}-{threading.get_ident()}.part")',
        "path",
        "tests/store/test_files.py",
    ),
    Mutant(
        "life: a move does not ask whether the claim is still the same",
        "store/records.py",
        '"id = ? AND owner = ? AND status = ? AND token = ? AND heartbeat = ?"',
        "\"id = ? AND owner = ? AND ? != '' AND ? != '' AND ? > 0\"",
        "tests/store/test_life.py",
    ),
    Mutant(
        "life: a claim never lapses",
        "store/records.py",
        "if now - run.heartbeat >= LEASE:",
        "if now - run.heartbeat >= 1e9:",
        "tests/store/test_life.py",
    ),
    Mutant(
        "manifest: only the sizes of files are held against the list",
        "store/manifest.py",
        "if name not in now or now[name][0] != size or _digest(folder / name) != digest",
        "if name not in now or now[name][0] != size",
        "tests/analysis/test_damaged_stages.py",
    ),
    Mutant(
        "integrity: the checksum of JSON is not looked at",
        "store/integrity.py",
        "value.pop(SEAL, None) != _of_json(value)",
        "value.pop(SEAL, None) == value",
        "tests/store/test_files.py",
    ),
)
