"""The shipped samples: shapes, labels and facts about their content."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bnmf_core.core.errors import NotFoundError
from bnmf_core.data.samples import FOLDER, SAMPLES, load_sample, sample_names

SHAPES = {
    "faces": (644, 400),
    "digits": (64, 1797),
    "newsgroups": (1000, 2400),
    "leukemia": (5000, 38),
    "signatures": (96, 21),
    "ink": (64, 1797),
}


@pytest.fixture(scope="module")
def samples():
    return {name: load_sample(name) for name in sample_names()}


def test_the_names_are_the_registry():
    assert sample_names() == list(SAMPLES) == list(SHAPES)
    assert all(key == sample.key for key, sample in SAMPLES.items())


@pytest.mark.parametrize("name", SHAPES)
def test_shape_names_and_origin(samples, name):
    dataset = samples[name]
    assert dataset.X.shape == SHAPES[name]
    assert len(set(dataset.features)) == dataset.D
    assert len(set(dataset.observations)) == dataset.N
    assert dataset.unit and dataset.source
    assert dataset.missing == 0
    assert 2 <= SAMPLES[name].suggested_rank <= min(dataset.X.shape)
    assert load_sample(name).hash == dataset.hash


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(NotFoundError, match="faces, digits, newsgroups, leukemia, signatures, ink"):
        load_sample("swimmer")


def test_the_shipped_files_are_small_and_documented():
    files = [path for path in FOLDER.iterdir() if path.suffix in (".npz", ".csv")]
    assert sum(path.stat().st_size for path in files) < 8_000_000
    sources = (FOLDER / "SOURCES.md").read_text(encoding="utf-8")
    assert all(path.name in sources for path in files)
    assert {path.stem for path in files} | {"digits", "ink"} == set(SAMPLES)


def test_faces_are_ten_pictures_of_forty_people(samples):
    faces = samples["faces"]
    people, counts = np.unique(faces.labels["person"], return_counts=True)
    assert set(people) == {f"s{i}" for i in range(1, 41)}
    assert (counts == 10).all()
    assert faces.image_shape == (28, 23)
    assert faces.X.max() <= 255
    np.testing.assert_array_equal(faces.X, np.round(faces.X))


def test_a_face_unfolds_column_by_column(samples):
    # Neighbouring pixels resemble each other only when the picture is put together rightly.
    column = samples["faces"].X[:, 0]
    right = column.reshape((28, 23), order="F")
    wrong = column.reshape((28, 23), order="C")

    def roughness(image):
        return np.abs(np.diff(image, axis=0)).mean() + np.abs(np.diff(image, axis=1)).mean()

    assert roughness(right) < 0.7 * roughness(wrong)
    assert samples["faces"].features[1] == "row 2, column 1"


def test_ink_is_where_a_digit_is_at_least_half_dark(samples):
    ink, digits = samples["ink"], samples["digits"]
    np.testing.assert_array_equal(ink.X, digits.X >= 8)
    assert ink.image_shape == (8, 8) and ink.hash != digits.hash
    np.testing.assert_array_equal(ink.labels["digit"], digits.labels["digit"])


def test_digits_unfold_column_by_column(samples):
    digits = samples["digits"]
    source = load_digits()
    for n in (0, 5, 1796):
        np.testing.assert_array_equal(
            digits.X[:, n].reshape(digits.image_shape, order="F"), source.images[n]
        )
    np.testing.assert_array_equal(digits.labels["digit"].astype(int), source.target)


def test_newsgroups_are_sparse_counts_of_sixteen_groups(samples):
    posts = samples["newsgroups"]
    assert posts.is_sparse
    assert posts.stored_entries < 0.05 * posts.D * posts.N
    np.testing.assert_array_equal(posts.X.data, np.round(posts.X.data))
    assert posts.X.sum(axis=0).min() >= 10
    assert posts.X.sum(axis=1).min() > 0
    categories, counts = np.unique(posts.labels["category"], return_counts=True)
    assert dict(zip(categories, counts, strict=True)) == dict.fromkeys(
        ["comp", "rec", "sci", "talk"], 600
    )
    groups, counts = np.unique(posts.labels["group"], return_counts=True)
    assert len(groups) == 16 and (counts == 150).all()
    tops = [group.split(".")[0] for group in posts.labels["group"]]
    assert tops == posts.labels["category"].tolist()
    assert not {"edu", "com", "subject", "writes", "the"} & set(posts.features)


@pytest.mark.parametrize("term, group", [("hockey", "rec.sport.hockey"), ("nasa", "sci.space")])
def test_a_telling_term_is_most_frequent_in_its_group(samples, term, group):
    posts = samples["newsgroups"]
    counts = posts.X[[posts.features.index(term)], :].toarray().ravel()
    groups = np.unique(posts.labels["group"])
    totals = [counts[posts.labels["group"] == name].sum() for name in groups]
    assert groups[np.argmax(totals)] == group


def test_leukemia_has_the_published_classes(samples):
    leukemia = samples["leukemia"]
    assert np.unique(leukemia.labels["diagnosis"], return_counts=True)[1].tolist() == [27, 11]
    kinds, counts = np.unique(leukemia.labels["subtype"], return_counts=True)
    assert kinds.tolist() == ["ALL-B-cell", "ALL-T-cell", "AML"]
    assert counts.tolist() == [19, 8, 11]
    assert leukemia.X.min() == 20


def test_signatures_are_counts_in_the_usual_order(samples):
    genomes = samples["signatures"]
    bases = "ACGT"
    expected = [
        f"{before}[{substitution}]{after}"
        for substitution in ("C>A", "C>G", "C>T", "T>A", "T>C", "T>G")
        for before in bases
        for after in bases
    ]
    assert list(genomes.features) == expected
    assert all(name.startswith("PD") for name in genomes.observations)
    assert genomes.X[:, genomes.observations.index("PD4120a")].sum() == 70_690
