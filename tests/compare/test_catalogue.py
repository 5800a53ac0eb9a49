"""Components beside a catalogue: matched by name, never by place, and told mode by mode."""

import numpy as np
import pytest

from bnmf_core.compare.catalogue import cosines, describe_entry, describe_nearest, nearest_entries
from bnmf_core.core.errors import DataError
from bnmf_core.data.catalogue import Catalogue, match_catalogue, read_catalogue
from bnmf_core.data.channels import CHANNELS

NAMES = [one.name for one in CHANNELS]
RNG = np.random.default_rng(8)
VALUES = RNG.dirichlet(np.full(96, 0.3), 3).T
ENTRIES = ["SBS1", "SBS4", "SBS5"]


def written(separator, head, rows, values=VALUES):
    lines = [separator.join(head)]
    for words, row in zip(rows, values, strict=True):
        lines.append(separator.join([*words, *(repr(float(value)) for value in row)]))
    return "\n".join(lines).encode()


@pytest.mark.parametrize("separator", ["\t", ",", ";"], ids=["tab", "comma", "semicolon"])
def test_a_file_in_the_layout_of_cosmic_is_read(separator):
    content = written(separator, ["Type", *ENTRIES], [[name] for name in NAMES])
    found = read_catalogue(content, "COSMIC.txt")
    assert (found.features, found.entries) == (tuple(NAMES), tuple(ENTRIES))
    np.testing.assert_allclose(found.values, VALUES, rtol=1e-12)


def test_a_single_entry_is_a_catalogue():
    content = written("\t", ["Type", "SBS4"], [[name] for name in NAMES], VALUES[:, 1:2])
    assert read_catalogue(content, "one.txt").entries == ("SBS4",)


@pytest.mark.parametrize(
    ("head", "rows"),
    [
        (["Type", "SubType"], [[one.substitution, one.context] for one in CHANNELS]),
        (
            ["Substitution Type", "Trinucleotide", "Somatic Mutation Type"],
            [[one.substitution, one.context, one.name] for one in CHANNELS],
        ),
    ],
    ids=["two columns", "three columns"],
)
def test_columns_of_words_name_a_channel_together(head, rows):
    found = read_catalogue(written(",", [*head, *ENTRIES], rows), "v3.csv")
    matched = match_catalogue(found, NAMES)
    np.testing.assert_allclose(matched.values, VALUES, rtol=1e-12)


def test_the_order_and_the_spelling_of_channels_change_no_similarity():
    order = RNG.permutation(96)
    spelled = [f"{CHANNELS[d].context}_{CHANNELS[d].substitution}".lower() for d in order]
    catalogue = Catalogue("c", tuple(spelled), tuple(ENTRIES), VALUES[order])
    matched = match_catalogue(catalogue, NAMES)
    np.testing.assert_array_equal(matched.values, VALUES)
    np.testing.assert_allclose(np.diag(cosines(VALUES, matched.values)), 1.0, rtol=1e-12)
    # Taken by place, signatures would be taken for others.
    assert np.diag(cosines(VALUES, VALUES[order])).max() < 0.9
    assert matched.summary == "All 96 features are in the catalogue, matched by name."


def test_other_data_are_matched_by_name_too():
    catalogue = Catalogue(
        "topics", ("Moon", "goal", "launch"), ("space",), np.array([[3], [0], [4]])
    )
    matched = match_catalogue(catalogue, ["launch", "moon"])
    assert matched.values.tolist() == [[4], [3]]
    assert matched.summary.endswith("1 of its rows are left out. Not a feature of the data: goal.")


def test_a_catalogue_without_all_features_is_refused_by_name():
    catalogue = Catalogue("short", (*NAMES[2:], "total"), ("a",), np.ones((95, 1)))
    with pytest.raises(DataError) as refused:
        match_catalogue(catalogue, NAMES)
    assert str(refused.value) == (
        "94 of 96 features are in the catalogue 'short'. Missing: A[C>A]A and A[C>A]C. "
        "Not a feature of the data: total."
    )


def test_a_catalogue_with_its_entries_in_rows_is_turned_and_a_name_in_rows_comes_first():
    turned = Catalogue("dyes", ("red", "blue"), ("b", "A", "c"), np.arange(6).reshape(2, 3))
    matched = match_catalogue(turned, ["a", "b"])
    assert matched.entries == ("red", "blue") and matched.values.tolist() == [[1, 4], [0, 3]]
    assert matched.summary == (
        "All 2 features are in the catalogue, matched by name. 1 of its columns are left out. Not "
        "a feature of the data: c. Its entries stand in rows, so it was turned."
    )
    with pytest.raises(DataError, match="1 of 2 features are in the catalogue 'dyes'. Missing: d"):
        match_catalogue(turned, ["a", "d"])
    both = Catalogue("both", ("a", "b"), ("b", "a"), np.array([[1, 2], [3, 4]]))
    assert match_catalogue(both, ["a", "b"]).values.tolist() == [[1, 2], [3, 4]]


def test_a_name_of_two_rows_is_refused():
    catalogue = Catalogue("twice", (*NAMES, "aca>aaa"), ("a",), np.ones((97, 1)))
    with pytest.raises(DataError, match=r"rows of one name: a\[c>a\]a"):
        match_catalogue(catalogue, [name.lower() for name in NAMES])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "'c.txt' cannot be read. The file is empty"),
        (b"hello", "Only one column"),
        (b"Type,a,b\nx,-1,2\ny,2,3\n", "negative"),
        (b"Type,a,b\nx,1,2\ny,2,\n", "empty cells, the first in row 'y', column 'b'; every"),
    ],
    ids=["empty", "words", "negative", "gap"],
)
def test_a_wrong_file_is_told_in_a_sentence(content, said):
    with pytest.raises(DataError, match=said):
        read_catalogue(content, "c.txt")


def test_similarities_are_of_every_mode_and_component():
    A = np.stack([VALUES[:, [1, 0]] * 7, VALUES[:, [2, 0]]])
    found = cosines(A, VALUES)
    assert found.shape == (2, 2, 3)
    table = nearest_entries(found, ENTRIES, ["mode 1", "mode 2"])
    assert table[["component", "entry"]].to_numpy().tolist() == [
        [0, "SBS4"],
        [0, "SBS5"],
        [1, "SBS1"],
    ]
    one, other = VALUES[:, 1], VALUES[:, 2]
    expected = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    np.testing.assert_allclose(table["mode 2"], [expected, 1, 1], rtol=1e-12)
    np.testing.assert_allclose(table["mode 1"], [1, expected, 1], rtol=1e-12)


def test_the_sentence_names_what_changes_between_modes():
    modes, called = ["mode 1", "mode 2"], ["1", "2"]
    found = np.array([[[0.71, 0.4], [0.9, 0.1]], [[0.5, 0.57], [0.8, 0.2]]])
    assert describe_nearest(found, ["SBS4", "SBS20"], modes, called) == (
        "The nearest entry depends on the mode for 1 of 2 components: component 1 is nearest to "
        "SBS4 (0.71) in mode 1 and SBS20 (0.57) in mode 2."
    )
    assert describe_nearest(found[:, 1:], ["SBS4", "SBS20"], modes, called[1:]) == (
        "The nearest entry of each component is the same in all 2 modes; cosine similarities are "
        "0.80 to 0.90."
    )
    assert describe_nearest(found[:1], ["SBS4", "SBS20"], modes[:1], called) == (
        "Nearest entries by component: 1: SBS4 (0.71) and 2: SBS4 (0.90)."
    )
    assert describe_entry([0.71, 0.568], "SBS4", modes) == "SBS4: 0.71 in mode 1, 0.57 in mode 2"
