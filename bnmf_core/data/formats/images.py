"""Images: a zip of images of one size, each an observation; folders are classes."""

import io
import warnings
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.data.formats.format import Found, named_format, names_and_folders, pick
from bnmf_core.data.limits import archive_names, check_entries, member, open_archive
from bnmf_core.data.orientation import Side
from bnmf_core.lazy import lazy

Image = lazy("PIL.Image")
ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".ppm", ".tif", ".tiff")
# Formats that Pillow decodes itself; others would run external programs.
DECODERS = ("PNG", "JPEG", "BMP", "GIF", "PPM", "TIFF")
MOST_IMAGES = 50_000
MOST_PIXELS = 2**24
LEVELS_8, LEVELS_16 = 255.0, 65535.0
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
        several: list[str] = []
        levels: dict[bool, str] = {}
        for entry in entries:
            pixels, scaled, more = _pixels(archive, entry, fixed)
            shown = repr(clean_name(entry.filename, 60))
            levels.setdefault(scaled, shown)
            several += [shown] if more else []
            if shape is None:
                shape, first = pixels.shape, shown
            if pixels.shape != shape:
                raise DataError(
                    f"{shown} is {_size(pixels.shape)} pixels large, but {first} is "
                    f"{_size(shape)}; choose one size for all."
                )
            rows.append(pixels.ravel(order="F"))
            check_entries(len(entries), pixels.size)
    names, labels = names_and_folders([entry.filename for entry in entries])
    if len(levels) > 1:
        raise DataError(
            f"{levels[True]} has grey levels of 8 or 16 bits, and {levels[False]} numbers of 32 "
            "bits, whose largest level is not known; save all images in one way."
        )
    doubts = [] if fixed is None else [f"Every image is scaled to {_size(fixed)} pixels."]
    if False in levels:
        doubts.append("Pixels are numbers of 32 bits: read as they are, not as parts of a level.")
    if several:
        others = f" and {len(several) - 1:,} more" if len(several) > 1 else ""
        doubts.append(
            f"{several[0]}{others}: more than one page or frame, of which only the first is read. "
            "Save every page as an image of its own to read all."
        )
    return Found(
        np.array(rows),
        names,
        row_labels=labels,
        side=SIDE,
        image_shape=None if shape is None else (int(shape[0]), int(shape[1])),
        settings={"size": size},
        offers={"size": SIZES},
        doubts=tuple(doubts),
    )


def _pixels(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, fixed: tuple[int, ...] | None
) -> tuple[np.ndarray, bool, bool]:
    """Grey levels (height, width), whether they are fractions of a maximum, and if more follow."""
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
            largest = _largest_level(image)
            # Converting others would clip levels above 255.
            grey = np.asarray(image.convert("L") if largest == LEVELS_8 else image)
            if fixed is not None:
                levels = grey if largest == LEVELS_8 else grey.astype(np.float32)
                grey = np.asarray(Image.fromarray(levels).resize(fixed[::-1]))
            pixels = grey.astype(np.float64) / (largest or 1.0)
            return pixels, largest > 0, _has_more(image)
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{shown!r} is no image that can be read.") from error


def _has_more(image: Any) -> bool:
    """Whether there is a second page or frame; to count all would take a hostile one minutes."""
    try:
        image.seek(1)
    except EOFError:
        return False
    return True


def _largest_level(image: Any) -> float:
    """Maximum level of an image of 8 or 16 bits; 0 if unknown, for 32 bits."""
    if image.mode.startswith("I;16"):
        return LEVELS_16
    if image.mode == "I":
        # Of 16 bits in these formats, whatever their largest level; TIFF has any.
        return LEVELS_16 if image.format in ("PNG", "PPM") else 0.0
    return 0.0 if image.mode == "F" else LEVELS_8


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[0]}×{shape[1]}"


def _is_image(name: str) -> bool:
    # Extra files that macOS adds to archives.
    return name.lower().endswith(ENDINGS) and "__MACOSX" not in name


FORMAT = named_format(
    "images",
    "a zip of images",
    lambda content, _: any(map(_is_image, archive_names(content))),
    _find,
)
