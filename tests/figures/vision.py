"""How far apart two colours look, also to eyes that lack one of the three kinds of cones.

What such eyes see is simulated as Machado, Oliveira and Fernandes (2009) do, "A
physiologically-based model for simulation of color vision deficiency", at full severity; how far
apart two colours look is CIEDE2000, as Sharma, Wu and Dalal (2005) write it down, with the pairs
that they check it by.
"""

from itertools import combinations

import numpy as np

# Of linear red, green and blue, as seen by eyes that see all colours and by those that do not.
SEEN_BY = {
    "all": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
# From linear sRGB to CIE XYZ, whose white is D65.
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def linear(color: str) -> np.ndarray:
    """Linear red, green and blue (3,) of a colour such as ``#0072B2``."""
    parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(color: str, eyes: str = "all") -> np.ndarray:
    """CIE L*, a* and b* (3,) of a colour as these eyes see it."""
    ratios = TO_XYZ @ np.clip(SEEN_BY[eyes] @ linear(color), 0, 1) / TO_XYZ.sum(axis=1)
    edge = 6 / 29
    bent = np.where(ratios > edge**3, np.cbrt(ratios), ratios / (3 * edge**2) + 4 / 29)
    return np.array([116 * bent[1] - 16, 500 * (bent[0] - bent[1]), 200 * (bent[1] - bent[2])])


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """CIEDE2000 between two colours in CIE L*, a*, b*; 1 is about what can just be seen."""
    chroma = np.mean([np.hypot(*color[1:]) for color in (one, other)])
    stretched = 1 + 0.5 * (1 - np.sqrt(chroma**7 / (chroma**7 + 25.0**7)))
    (light, strong, hue), (other_light, other_strong, other_hue) = (
        (L, np.hypot(stretched * a, b), np.degrees(np.arctan2(b, stretched * a)) % 360)
        for L, a, b in (one, other)
    )
    turned = (other_hue - hue + 180) % 360 - 180
    middle_hue = (hue + turned / 2) % 360
    middle_light, middle_strong = (light + other_light) / 2, (strong + other_strong) / 2
    weight = (
        1
        - 0.17 * np.cos(np.radians(middle_hue - 30))
        + 0.24 * np.cos(np.radians(2 * middle_hue))
        + 0.32 * np.cos(np.radians(3 * middle_hue + 6))
        - 0.20 * np.cos(np.radians(4 * middle_hue - 63))
    )
    off_middle = (middle_light - 50) ** 2
    lighter = (other_light - light) / (1 + 0.015 * off_middle / np.sqrt(20 + off_middle))
    stronger = (other_strong - strong) / (1 + 0.045 * middle_strong)
    apart = 2 * np.sqrt(strong * other_strong) * np.sin(np.radians(turned / 2))
    apart /= 1 + 0.015 * middle_strong * weight
    rotation = np.radians(60 * np.exp(-(((middle_hue - 275) / 25) ** 2)))
    rotation = -2 * np.sqrt(middle_strong**7 / (middle_strong**7 + 25.0**7)) * np.sin(rotation)
    return float(np.sqrt(lighter**2 + stronger**2 + apart**2 + rotation * stronger * apart))


def nearest(one: str, other: str) -> float:
    """How far two colours are apart to the eyes that tell them least."""
    return min(difference(lab(one, eyes), lab(other, eyes)) for eyes in SEEN_BY)


def least(colors) -> float:
    """How far the two nearest of these colours are apart to the eyes that tell them least."""
    return min(nearest(one, other) for one, other in combinations(colors, 2))
