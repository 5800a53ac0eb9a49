"""Small files as programs write them, and what each must become."""

import io
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Layout:
    """A file and its matrix: ``first`` is the first observation's column of X.

    said : parts of sentences that must be among the doubts; nothing is doubted where there are
    none, but which side the observations are on. chosen : what is told about the file.
    """

    name: str
    content: bytes
    features: tuple[str, ...]
    observations: tuple[str, ...]
    first: tuple[float, ...]
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    chosen: dict[str, object] = field(default_factory=dict)
    missing: int = 0
    filename: str = ""


VALUES = np.array([[5.1, 3.5, 1.4], [4.9, 3.0, 1.4], [6.3, 3.3, 6.0], [5.8, 2.7, 5.1]])
FIRST = (5.1, 3.5, 1.4)
COUNTS = np.array([[7, 0, 3], [2, 9, 1], [4, 4, 8], [3, 1, 6]])
ABC, PQRS = ("a", "b", "c"), ("p", "q", "r", "s")
NUMBERED = tuple(f"observation {n + 1}" for n in range(4))
FEATURES = tuple(f"feature {n + 1}" for n in range(3))
ZERO_ON = ("0", "1", "2", "3")
HEADS_COUNT = "Row 1 holds the numbers 0, 1, 2"
ROWS_COUNT = "counts 0, 1, 2, …: taken as names"
# "Which side" is doubted wherever nothing tells.
SIDE = "whether its rows or its columns are the observations"


def frame(columns=ABC, index=None, values=VALUES):
    return pd.DataFrame(values, columns=list(columns), index=index)


def csv(data, **options):
    return data.to_csv(**options).encode()


def with_column(data, position, name, values):
    data = data.copy()
    data.insert(position, name, values)
    return data


def text(words, encoding="utf-8"):
    return words.encode(encoding)


def saved(function, *arguments, **named):
    file = io.BytesIO()
    function(file, *arguments, **named)
    return file.getvalue()


COUNTING = frame(range(3))
GAPPY = frame().astype(object)
GAPPY.iloc[1] = np.nan
layout = partial(Layout, first=FIRST)
plain = partial(layout, features=ABC, observations=NUMBERED)

TABLES = [
    # As pandas writes them
    plain("header of words, no index", csv(frame(), index=False)),
    layout(
        "header and index of words",
        csv(frame(index=list(PQRS))),
        ABC,
        PQRS,
    ),
    layout("named index", csv(frame(index=pd.Index(PQRS, name="specimen"))), ABC, PQRS),
    layout("index of counts", csv(frame()), ABC, ZERO_ON, said=(ROWS_COUNT,)),
    layout(
        "numbers as header",
        csv(COUNTING, index=False),
        ("0", "1", "2"),
        NUMBERED,
        said=(HEADS_COUNT,),
    ),
    layout(
        "numbers as header and as index",
        csv(COUNTING),
        ("0", "1", "2"),
        ZERO_ON,
        said=(HEADS_COUNT, ROWS_COUNT),
    ),
    Layout(
        "counts below numbers as header",
        csv(frame(range(3), values=COUNTS), index=False),
        ("0", "1", "2"),
        NUMBERED,
        (7, 0, 3),
        said=(HEADS_COUNT,),
    ),
    layout(
        "no header, index of counts",
        csv(COUNTING, header=False),
        FEATURES,
        ZERO_ON,
        said=(ROWS_COUNT,),
    ),
    layout("numbers only", csv(COUNTING, header=False, index=False), FEATURES, NUMBERED),
    layout(
        "text ids beside years",
        csv(with_column(frame((2001, 2002, 2003)), 0, "country", PQRS), index=False),
        ("2001", "2002", "2003"),
        PQRS,
        said=("Row 1 holds years",),
    ),
    layout(
        "years above an index without a name",
        csv(frame((2001, 2002, 2003), index=list(PQRS))),
        ("2001", "2002", "2003"),
        PQRS,
        said=("Row 1 holds years",),
    ),
    layout(
        "ids counting from 0",
        csv(with_column(frame(), 0, "id", range(4)), index=False),
        ABC,
        ZERO_ON,
        said=("Column 1 ('id') counts 0, 1, 2, …: taken as names, not as a feature.",),
    ),
    layout(
        "ids counting from 1",
        csv(with_column(frame(), 0, "ID", range(1, 5)), index=False),
        ABC,
        ("1", "2", "3", "4"),
        said=("Column 1 ('ID') counts 1, 2, 3",),
    ),
    layout(
        "ids that count, one of them missing",
        text("id,a,b,c\n0,5.1,3.5,1.4\n,4.9,3,1.4\n2,6.3,3.3,6\n"),
        ABC,
        ("0", "row 2", "2"),
        said=(ROWS_COUNT.replace("counts", "('id') counts"), "Row 3 has no name"),
    ),
    plain(
        "ids that repeat",
        csv(with_column(frame(), 0, "patient_id", [7, 7, 9, 9]), index=False),
        labels={"patient_id": ("7", "7", "9", "9")},
        said=("('patient_id') is headed like names, and repeats: taken as a label.",),
    ),
    layout(
        "ids that are large numbers",
        csv(with_column(frame(), 0, "sample_id", [1007, 1003, 1021, 1001]), index=False),
        ABC,
        ("1007", "1003", "1021", "1001"),
        said=("holds whole numbers that all differ: taken as names",),
    ),
    layout(
        "Unnamed: 0, read back and written without index",
        csv(with_column(frame(), 0, "Unnamed: 0", range(4)), index=False),
        ABC,
        ZERO_ON,
        said=("('Unnamed: 0') counts 0, 1, 2",),
    ),
    layout(
        "Unnamed: 0, read back and written with another index",
        csv(with_column(frame(), 0, "Unnamed: 0", range(4))),
        ABC,
        ZERO_ON,
        said=(ROWS_COUNT, "Column 2 ('Unnamed: 0') counts the rows once more: left out."),
    ),
    plain(
        "numeric class column",
        csv(with_column(frame(), 3, "class", [0, 1, 1, 0]), index=False),
        labels={"class": ("0", "1", "1", "0")},
        said=("Column 4 ('class') holds 2 different whole numbers",),
    ),
    Layout(
        "a target that is no class",
        csv(with_column(frame(), 3, "target", [0.5, 1.5, 1.0, 7.25]), index=False),
        (*ABC, "target"),
        NUMBERED,
        (*FIRST, 0.5),
        said=("('target') is headed like a class: taken as a feature.",),
    ),
    plain(
        "numeric target in front",
        csv(with_column(frame(), 0, "target", [3, 7, 7, 3]), index=False),
        labels={"target": ("3", "7", "7", "3")},
        said=("('target') holds 2 different",),
    ),
    layout(
        "numeric classes below a header of numbers",
        csv(with_column(COUNTING, 3, 3, [0, 1, 1, 0]), index=False),
        ("0", "1", "2"),
        NUMBERED,
        labels={"3": ("0", "1", "1", "0")},
        said=(HEADS_COUNT, "taken as a label, not as a feature"),
    ),
    layout(
        "numeric classes without any header",
        csv(with_column(COUNTING, 3, 3, [0, 1, 1, 0]), index=False, header=False),
        FEATURES,
        NUMBERED,
        labels={"column 4": ("0", "1", "1", "0")},
        said=("taken as a label, not as a feature",),
    ),
    layout(
        "counting header beside a word",
        csv(with_column(COUNTING, 3, "target", [0, 1, 1, 0])),
        ("0", "1", "2"),
        ZERO_ON,
        labels={"target": ("0", "1", "1", "0")},
        said=(HEADS_COUNT, ROWS_COUNT, "('target') holds 2 different"),
    ),
    plain(
        "classes in words",
        csv(with_column(frame(), 3, "species", ["x", "y", "y", "x"]), index=False),
        labels={"species": ("x", "y", "y", "x")},
    ),
    layout(
        "an empty row keeps its number",
        csv(GAPPY, index=False),
        ABC,
        ("observation 1", "observation 3", "observation 4"),
        said=("Row 3 is empty: left out; the others keep their numbers.",),
    ),
    layout(
        "an empty row keeps names with their rows",
        csv(GAPPY.set_axis(list(PQRS))),
        ABC,
        ("p", "r", "s"),
        said=("Row 3 holds no number: left out.",),
    ),
    layout(
        "a missing first cell",
        csv(with_column(frame(), 0, "name", ["p", None, "r", "s"]), index=False),
        ABC,
        ("p", "row 2", "r", "s"),
        said=("Row 3 has no name",),
    ),
    layout(
        "dates as 20240101",
        csv(with_column(frame(), 0, "date", [20240101, 20240102, 20240105, 20240109]), index=False),
        ABC,
        ("20240101", "20240102", "20240105", "20240109"),
        said=("Column 1 ('date') holds dates: taken as names, not as a feature.",),
    ),
    plain(
        "dates that repeat",
        csv(with_column(frame(), 0, "date", [20240101, 20240101, 20240105, 20240105]), index=False),
        labels={"date": ("20240101", "20240101", "20240105", "20240105")},
        said=("holds dates: taken as a label",),
    ),
    layout(
        "dates as 2024-01-01",
        csv(frame(index=pd.date_range("2024-01-01", periods=4, name="date"))),
        ABC,
        ("2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"),
    ),
    layout(
        "dates as header",
        csv(frame((20240101, 20240102, 20240103), index=list(PQRS))),
        ("20240101", "20240102", "20240103"),
        PQRS,
        said=("Row 1 holds dates",),
    ),
    layout(
        "frames put together, whose index repeats",
        csv(frame(index=[0, 1, 0, 1])),
        ABC,
        ("0", "1", "0 (2)", "1 (2)"),
        said=("has no header and repeats itself: taken as names", "repeats names"),
    ),
    plain(
        "two levels of an index",
        csv(frame(index=pd.MultiIndex.from_product([["u", "v"], ["x", "y"]], names=["g", "h"]))),
        labels={"g": ("u", "u", "v", "v"), "h": ("x", "y", "x", "y")},
    ),
    layout(
        "wavelengths as header",
        csv(frame(np.arange(400.5, 409), values=np.tile(VALUES, 3)), index=False),
        tuple(str(400.5 + step) for step in range(9)),
        NUMBERED,
        first=FIRST * 3,
        said=("Row 1 holds numbers that rise from column to column",),
    ),
    plain(
        "an empty column",
        csv(with_column(frame(), 3, "note", [None] * 4), index=False),
        said=("('note') holds no value",),
    ),
    layout(
        "times that rise",
        csv(with_column(frame(), 0, "time", [0.0, 0.5, 1.0, 2.5]), index=False),
        ABC,
        ("0.0", "0.5", "1.0", "2.5"),
        said=("('time') holds numbers that rise",),
    ),
    plain(
        "missing cells",
        csv(
            with_column(
                frame(("a", "b"), values=VALUES[:, :2]), 2, "c", [1.4, np.nan, 6.0, np.nan]
            ),
            index=False,
        ),
        missing=2,
    ),
    # As other programs write them
    layout("R, write.csv", b'"","a","b","c"\n"p",5.1,3.5,1.4\n"q",4.9,3,1.4\n', ABC, ("p", "q")),
    layout("R, write.table", b'"a" "b" "c"\n"p x" 5.1 3.5 1.4\n"q" 4.9 3 1.4\n', ABC, ("p x", "q")),
    layout(
        "R, tabs and a short header",
        b"a\tb\tc\np\t5.1\t3.5\t1.4\nq\t4.9\t3\t1.4\n",
        ABC,
        ("p", "q"),
    ),
    plain("numpy.savetxt", saved(np.savetxt, VALUES), features=FEATURES),
    plain("numpy.savetxt with a header", saved(np.savetxt, VALUES, header="a b c")),
    plain("numpy.savetxt with commas", saved(np.savetxt, VALUES, header="a,b,c", delimiter=",")),
    plain("German spreadsheet", text("a;b;c\n5,1;3,5;1,4\n4,9;3;1,4\n"), observations=NUMBERED[:2]),
    plain("bars", text("a|b|c\n5.1|3.5|1.4\n4.9|3|1.4\n"), observations=NUMBERED[:2]),
    plain(
        "Excel's sep line",
        text("sep=;\na;b;c\n5,1;3,5;1,4\n4,9;3;1,4\n"),
        observations=NUMBERED[:2],
        said=("Row 1 stands above the table",),
    ),
    plain(
        "separators at the end",
        text("a,b,c\n5.1,3.5,1.4,\n4.9,3,1.4,\n"),
        observations=NUMBERED[:2],
    ),
    layout(
        "a title above",
        text("Iris,,,\nname,a,b,c\np,5.1,3.5,1.4\nq,4.9,3,1.4\n"),
        ABC,
        ("p", "q"),
        said=("Row 1 stands above",),
    ),
    plain(
        "UTF-16 with its mark",
        text("a\tb\tc\n5.1\t3.5\t1.4\n4.9\t3\t1.4\n", "utf-16"),
        observations=NUMBERED[:2],
    ),
    plain(
        "UTF-16 without its mark",
        text("a\tb\tc\n5.1\t3.5\t1.4\n4.9\t3\t1.4\n", "utf-16-le"),
        observations=NUMBERED[:2],
    ),
    layout(
        "Shift-JIS",
        text("温度,湿度,気圧\n5.1,3.5,1.4\n4.9,3,1.4\n", "cp932"),
        ("温度", "湿度", "気圧"),
        NUMBERED[:2],
        said=("taken as Shift-JIS, in which a word reads '温度'",),
    ),
    layout(
        "Windows-1252",
        text("Größe,Höhe,Länge\n5.1,3.5,1.4\n4.9,3,1.4\n", "cp1252"),
        ("Größe", "Höhe", "Länge"),
        NUMBERED[:2],
        said=("taken as Windows-1252, in which a word reads 'Größe'",),
    ),
    Layout(
        "mutation types",
        text("Mutation Types,S1,S2\nA[C>A]A,5,6\nA[C>A]C,7,8\nT[T>G]T,1,0\n"),
        ("A[C>A]A", "A[C>A]C", "T[T>G]T"),
        ("S1", "S2"),
        (5, 7, 1),
        said=("3 rows are named like mutation types: rows are features.",),
    ),
    Layout(
        "genes by samples",
        text("gene\tTCGA-A1-0001\tTCGA-A1-0002\nTP53\t5\t6\nBRCA1\t7\t8\nMYC\t1\t0\n"),
        ("TP53", "BRCA1", "MYC"),
        ("TCGA-A1-0001", "TCGA-A1-0002"),
        (5, 7, 1),
        said=("2 columns are named like samples of an archive: rows are features.",),
    ),
    Layout(
        "an OTU table",
        text("# Constructed from biom file\n#OTU ID\ts1\ts2\tt3\nO1\t5\t6\t2\nO2\t7\t8\t3\n"),
        ("O1", "O2"),
        ("s1", "s2", "t3"),
        (5, 7),
        said=("headed 'OTU ID': rows are features", "Row 1 stands above"),
    ),
    Layout(
        "votes of yes and no",
        text("Class,one,two,three\nrep,n,y,n\ndem,y,?,y\nrep,n,y,y\n"),
        ("one", "two", "three"),
        NUMBERED[:3],
        (0, 1, 0),
        labels={"Class": ("rep", "dem", "rep")},
        said=("3 columns hold yes and no in words: taken as 1 and 0.",),
        missing=1,
    ),
    Layout(
        "True and False",
        csv(frame(values=COUNTS > 3), index=False),
        ABC,
        NUMBERED,
        (1, 0, 0),
        said=("3 columns hold yes and no",),
    ),
    Layout(
        "one answer beside numbers",
        text("name,age,smoker,weight\np,1,yes,3\nq,4,no,6\nr,4,yes,6\n"),
        ("age", "weight"),
        PQRS[:3],
        (1, 3),
        labels={"smoker": ("yes", "no", "yes")},
        said=("('smoker') holds yes and no: taken as a label, not as 1 and 0.",),
    ),
    # As they are told to be
    layout(
        "a header that was taken for data",
        text("1,2,3\n5.1,3.5,1.4\n4.9,3,1.4\n"),
        ("1", "2", "3"),
        NUMBERED[:2],
        chosen={"header_row": 1},
    ),
    Layout(
        "a header that was none",
        csv(COUNTING, index=False),
        FEATURES,
        tuple(f"observation {n}" for n in range(1, 6)),
        (0, 1, 2),
        chosen={"header_row": None},
    ),
    Layout(
        "ids that are a feature",
        csv(with_column(frame(), 0, "id", range(4)), index=False),
        ("id", *ABC),
        NUMBERED,
        (0, *FIRST),
        chosen={"names_column": None},
    ),
    plain(
        "another word for missing",
        text("a,b,c\n5.1,3.5,1.4\n<LOD,3,1.4\n4,-,1\n"),
        observations=NUMBERED[:3],
        chosen={"missing_words": ("<LOD", "-")},
        missing=2,
    ),
    plain(
        "a number that means missing",
        text("a,b,c\n5.1,3.5,1.4\n-999,3,1.4\n"),
        observations=NUMBERED[:2],
        chosen={"missing_words": ("-999",)},
        missing=1,
    ),
    Layout(
        "columns chosen by name",
        csv(with_column(frame(), 0, "id", list(PQRS)), index=False),
        ("a", "c"),
        PQRS,
        (5.1, 1.4),
        chosen={"number_columns": ("a", "c"), "names_column": "id"},
    ),
    Layout(
        "columns as observations",
        csv(with_column(frame(), 0, "id", list(PQRS)), index=False),
        PQRS,
        ABC,
        (5.1, 4.9, 6.3, 5.8),
        chosen={"observations": "columns"},
    ),
    layout(
        "a second header row",
        text(",u,u,v\n,a,b,c\np,5.1,3.5,1.4\nq,4.9,3,1.4\n"),
        ABC,
        ("p", "q"),
        chosen={"header_row": 2},
        said=("Row 1 stands above",),
    ),
]
