"""What is drawn of observations are their entries, in the form that a person knows."""

import base64
import io

import numpy as np
import pytest
from PIL import Image
from scipy import sparse

from bnmf_core import Dataset, load_sample
from bnmf_core.analysis.described import described, dominant_lines, label_counts
from bnmf_core.core.names import in_digits
from bnmf_core.figures import observations as seen
from bnmf_core.figures.data import matrix_preview
from bnmf_core.figures.substitutions import SUBSTITUTIONS

RNG = np.random.default_rng(0)
TYPES = [f"{a}[{s}]{b}" for a in "ACGT" for b in "ACGT" for s in SUBSTITUTIONS]
SPECTRA = RNG.random((150, 12))
KINDS = {
    seen.IMAGES: Dataset.from_array(RNG.random((6, 40)), image_shape=(3, 2)),
    seen.MAP: Dataset.from_array(RNG.random((5, 24)), map_shape=(4, 6)),
    seen.WORDS: Dataset.from_array(
        sparse.csc_array(RNG.poisson(0.3, (200, 30))), features_are="words"
    ),
    seen.CURVES: Dataset.from_array(
        SPECTRA, features=[str(400 + 2 * d) for d in range(150)], labels=["a", "b"] * 6
    ),
    seen.BARS: Dataset.from_array(RNG.poisson(9, (96, 21)), features=TYPES),
    seen.TABLE: Dataset.from_array(
        RNG.random((3, 25)) * [[1], [30], [2000]], features=["hue", "ash", "proline"]
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_data_has_a_form(kind):
    assert seen.kind_of(KINDS[kind]) == kind


@pytest.mark.parametrize(
    ("sample", "kind"),
    [
        ("digits", seen.IMAGES),
        ("ink", seen.IMAGES),
        ("newsgroups", seen.WORDS),
        ("leukemia", seen.TABLE),
        ("signatures", seen.BARS),
    ],
)
def test_samples_look_as_their_field_draws_them(sample, kind):
    assert seen.kind_of(load_sample(sample)) == kind


def test_binary_data_with_names_are_a_table_of_yes_and_no():
    X = (RNG.random((5, 8)) < 0.5).astype(float)
    X[0, 0], X[1, 1] = 1.0, np.nan
    data = Dataset.from_array(X, features=list("abcde"), labels={"a": ["x", "y"] * 4})
    assert seen.kind_of(data) == seen.TABLE
    table = seen.as_in_a_file(data, np.arange(8))
    assert list(table.columns) == ["observation", "a", "a (2)", "b", "c", "d", "e"]
    assert table.loc[0, "a (2)"] == "yes" and table.loc[1, "b"] == ""
    assert table["e"].tolist() == ["yes" if value else "no" for value in X[4]]


def test_the_pixels_of_an_image_are_the_entries_of_its_column():
    data = KINDS[seen.IMAGES]
    chosen = np.array([3, 17])
    figure = seen.sample_images(data, chosen).to_dict()
    for n, drawn in zip(chosen, figure["layout"]["images"], strict=True):
        content = base64.b64decode(drawn["source"].split(",")[1])
        shown = np.asarray(Image.open(io.BytesIO(content)))
        scale = shown.shape[0] // 3
        expected = 255 * data.X[:, n].reshape((3, 2), order="F") / data.X.max()
        np.testing.assert_array_equal(shown[::scale, ::scale], expected.astype(np.uint8))


def test_a_missing_pixel_is_transparent():
    X = RNG.random((6, 40))
    X[4, 0] = np.nan
    data = Dataset.from_array(X, image_shape=(3, 2))
    drawn = seen.sample_images(data, np.array([0])).to_dict()["layout"]["images"][0]
    content = base64.b64decode(drawn["source"].split(",")[1])
    alpha = np.asarray(Image.open(io.BytesIO(content)))[..., 1][::21, ::21]
    assert (alpha == 0).sum() == 1 and alpha[1, 1] == 0


def test_curves_and_bars_are_the_entries_on_their_axis():
    data, chosen = KINDS[seen.CURVES], np.array([2, 5])
    figure = seen.sample_profiles(data, chosen)
    for trace, n in zip(figure.data, chosen, strict=True):
        np.testing.assert_array_equal(trace.y, SPECTRA[:, n])
        np.testing.assert_array_equal(trace.x, 400 + 2 * np.arange(150))
    assert [note.text for note in figure.layout.annotations] == [
        "observation 3 · a",
        "observation 6 · b",
    ]


@pytest.mark.parametrize("turn", [1, -1], ids=["rising", "falling"])
def test_few_places_of_a_spectrum_are_curves_over_their_unit(turn):
    names = [f"{nm} nm" for nm in range(300, 620, 4)][::turn]
    data = Dataset.from_array(RNG.random((80, 9)), features=names)
    assert seen.kind_of(data) == seen.CURVES
    figure = seen.sample_profiles(data, np.array([1, 4]))
    assert figure.layout.title.text == "Observations as curves"
    axis = figure.layout.xaxis
    assert (axis.title.text, axis.autorange) == ("nm", True if turn == 1 else "reversed")
    for trace, n in zip(figure.data, (1, 4), strict=True):
        assert trace.type == "scatter" and list(trace.x) == list(range(300, 620, 4))[::turn]
        np.testing.assert_array_equal(trace.y, data.X[:, n])


def test_accession_numbers_are_no_axis():
    names = [f"ENSG{3 + 7 * d:011d}" for d in range(150)]
    data = Dataset.from_array(RNG.random((150, 9)), features=names)
    assert data.axis is None and seen.kind_of(data) == seen.TABLE


def test_mutation_types_stand_by_substitution_and_keep_their_counts():
    data = KINDS[seen.BARS]
    (bars,) = seen.sample_profiles(data, np.array([4])).data
    by_name = dict(zip(data.features, data.X[:, 4], strict=True))
    names = [name.replace("&gt;", ">") for name in bars.hovertext]
    np.testing.assert_array_equal(bars.y, [by_name[name] for name in names])
    assert [name[2:5] for name in names] == sorted(name[2:5] for name in data.features)
    assert list(bars.marker.color) == [SUBSTITUTIONS[name[2:5]] for name in names]


def test_a_map_has_the_mean_of_each_pixel_in_its_place():
    data = KINDS[seen.MAP]
    chosen = seen.page_of(data)
    figure = seen.pixel_map(data, chosen)
    means = figure.data[0].z
    np.testing.assert_allclose(means, data.X.mean(axis=0).reshape((4, 6), order="F"))
    for i, n in enumerate(chosen):
        place = int(figure.data[1].y[i]) - 1, int(figure.data[1].x[i]) - 1
        assert means[place] == pytest.approx(data.X[:, n].mean())
        np.testing.assert_array_equal(figure.data[2 + i].y, data.X[:, n])


def test_texts_have_their_most_frequent_words_with_counts():
    data = KINDS[seen.WORDS]
    (found,) = seen.strongest_words(data, np.array([7]))
    name, labels, words = found
    assert (name, labels) == ("observation 8", "")
    told = [
        (data.features.index(one.rsplit(" ", 1)[0]), one.rsplit(" ", 1)[1])
        for one in words.split(" · ")
    ]
    column = data.dense()[:, 7]
    assert [float(count) for _, count in told] == sorted(column[column > 0])[::-1][: seen.STRONGEST]
    assert all(column[d] == float(count) for d, count in told)


@pytest.mark.parametrize("kind", KINDS)
def test_pages_show_every_observation_once(kind):
    data = KINDS[kind]
    if kind == seen.MAP:
        assert seen.pages(data) == 1 and len(seen.page_of(data)) == 4
        return
    shown = np.concatenate([seen.page_of(data, p + 1) for p in range(seen.pages(data))])
    assert shown.tolist() == list(range(data.N))
    some = seen.at_random(data, np.random.default_rng(1))
    assert len(set(some.tolist())) == seen.at_once(data) and (np.diff(some) > 0).all()


def test_what_is_shown_is_said():
    data = load_sample("digits")
    assert seen.describe_selection(data, seen.page_of(data)) == "Observations 1–24 of 1,797"
    assert seen.describe_selection(data, np.array([1, 5])) == "2 of 1,797 observations"
    assert seen.describe_selection(KINDS[seen.MAP], np.arange(0, 8, 2)) == "4 of 24 pixels"
    assert described(data) == [
        "64 pixels × 1,797 observations",
        "49 % zeros",
        "grey level",
        "digit (10 classes)",
    ]
    assert label_counts(data)[0].startswith("Label digit: 3: 183, ")


def test_colours_end_where_few_cells_are_far_larger_and_the_title_says_so():
    X = np.ones((50, 60))
    X[3, 4] = 18_230.0
    figure = matrix_preview(X, None, "counts", "genes")
    (heat,) = figure.data
    assert heat.zmax == 1.0 and heat.z.max() == 18_230.0
    assert figure.layout.title.text == "The matrix; one colour from 1 to 18,200"
    assert figure.layout.xaxis.title.text == "columns: 60 observations"
    assert figure.layout.yaxis.title.text == "rows: 50 genes"
    assert heat.colorbar.orientation == "h"
    assert (in_digits(0.30512), in_digits(924.4)) == ("0.305", "924")


@pytest.mark.parametrize("kind", KINDS)
def test_a_look_changes_nothing_of_the_data(kind):
    data = KINDS[kind]
    before = data.dense().copy()
    chosen = seen.page_of(data)
    seen.entries(data, chosen)
    if kind in (seen.CURVES, seen.BARS):
        seen.sample_profiles(data, chosen)
    np.testing.assert_array_equal(data.dense(), before)


@pytest.mark.parametrize("of", [np.asarray, sparse.csr_array])
def test_a_line_that_makes_most_of_the_sum_of_squares_is_named(of):
    X = np.ones((4, 5))
    assert dominant_lines(Dataset.from_array(of(X))) == ""
    X[:, 3] = 3.0  # 36 of 52
    assert dominant_lines(Dataset.from_array(of(X))).startswith("“observation 4” makes 69 %")
    few = np.ones((12, 40))
    few[[1, 7]] = [[20.0], [30.0]]  # 52,000 of 52,400
    sentence = dominant_lines(Dataset.from_array(of(few)))
    assert sentence.startswith("“feature 8” makes 69 %")
    few[1] = 28.0  # no longer one that makes half
    few[4] = 25.0
    sentence = dominant_lines(Dataset.from_array(of(few)))
    assert sentence.startswith("“feature 8”, “feature 2” and “feature 5” make 99.6 %")
    few[[3, 5, 9]] = 25.0  # six of twelve are not a few
    assert dominant_lines(Dataset.from_array(of(few))) == ""
    X[2] = 30.0  # 4,500 of 4,539
    assert "“feature 3” makes 99.1 %" in dominant_lines(Dataset.from_array(of(X)))
