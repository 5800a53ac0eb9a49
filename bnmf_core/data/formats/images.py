"""Images: a zip of pictures of one size, each an observation; folders are their classes."""

import io
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from bnmf_core.data.arrays import check_entries
from bnmf_core.data.formats.named import Found, named_format, pick
from bnmf_core.data.orientation import Side
from bnmf_core.data.packed import ZIP, archive_names, member, open_archive
from bnmf_core.lazy import lazy
from bnmf_core.nouns.errors import DataError
from bnmf_core.nouns.names import clean_name

Image = lazy("PIL.Image")
ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".ppm", ".tif", ".tiff")
# Formats that Pillow decodes itself; others would start programs.
DECODERS = ("PNG", "JPEG", "BMP", "GIF", "PPM", "TIFF")
MOST_IMAGES = 50_000
MOST_PIXELS = 2**24
AS_THEY_ARE = "as they are"
SIZES = (AS_THEY_ARE, "16x16", "32x32", "64x64", "128x128")
SIDE = Side("rows", "every image is an observation")


def _find(content: bytes, settings: Mapping[str, Any], limit_bytes: int) -> Found:
    size = pick(settings, "size", SIZES, "size")
    fixed = None if size == AS_THEY_ARE else tuple(int(side) for side in size.split("x"))
    with open_archive(content, limit_bytes) as archive:
        entries = [entry for entry in archive.infolist() if _is_image(entry.filename)]
        if len(entries) > MOST_IMAGES:
            raise DataError(f"The archive holds {len(entries):,} images; at most {MOST_IMAGES:,}.")
        rows, shape, first = [], fixed, ""
        for entry in entries:
            pixels = _pixels(archive, entry, fixed)
            if shape is None:
                shape, first = pixels.shape, entry.filename
            if pixels.shape != shape:
                raise DataError(
                    f"{clean_name(entry.filename, 60)!r} is {_said(pixels.shape)} pixels large, "
                    f"but {clean_name(first, 60)!r} is {_said(shape)}; choose one size for all."
                )
            rows.append(pixels.ravel(order="F"))
            check_entries(len(entries), pixels.size)
    names = [PurePosixPath(entry.filename) for entry in entries]
    folders = [path.parent.name for path in names]
    labels = {"folder": folders} if len(set(folders)) > 1 else {}
    doubts = () if fixed is None else (f"Every image is scaled to {_said(fixed)} pixels.",)
    return Found(
        np.array(rows),
        [path.stem for path in names],
        row_labels=labels,
        side=SIDE,
        image_shape=None if shape is None else (int(shape[0]), int(shape[1])),
        settings={"size": size},
        offers={"size": SIZES},
        doubts=doubts,
    )


def _pixels(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, fixed: tuple[int, ...] | None
) -> np.ndarray:
    """Grey levels from 0 to 1, (height, width)."""
    shown = clean_name(entry.filename, 60)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(member(archive, entry)), formats=DECODERS)
            if image.width * image.height > MOST_PIXELS:
                raise DataError(
                    f"{shown!r} has {image.width:,}×{image.height:,} pixels; at most "
                    f"{MOST_PIXELS:,} can be read."
                )
            grey = image.convert("L")
            if fixed is not None:
                grey = grey.resize(fixed[::-1])
            return np.asarray(grey, dtype=np.float64) / 255.0
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{shown!r} is no image that can be read.") from error


def _said(shape: tuple[int, ...]) -> str:
    return f"{shape[0]}×{shape[1]}"


def _is_image(name: str) -> bool:
    # What macOS puts beside every file of an archive.
    return name.lower().endswith(ENDINGS) and "__MACOSX" not in name


def _recognises(content: bytes, _: str) -> bool:
    return content.startswith(ZIP) and any(_is_image(name) for name in archive_names(content))


FORMAT = named_format("images", "a zip of images", _recognises, _find)
