from __future__ import annotations

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.data.scores import Scores, ScoreTable
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning
from kgtrec.formats.score_tables import looks_like_table, read_score_table
from kgtrec.report.show import shown
from tests.examples import examples


def written(folder: Path, data: str | bytes, name: str = "scores.csv") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_a_wide_table_has_a_measure_in_each_column(tmp_path: Path):
    """Systems and measures keep their spelling and order; an empty cell is undefined."""
    table = read_score_table(written(tmp_path, "System,micro_mrr,map_cut_20\nNA,0.5,1e-3\n007,,-2\n"))
    assert (table.systems, table.measures, table.name) == (("NA", "007"), ("micro_mrr", "map_cut_20"), "scores")
    np.testing.assert_array_equal(table.values[:, :, 0], [[0.5, 0.001], [np.nan, -2]])
    assert not table.keys
    assert table.key_rows == ((),)


@pytest.mark.parametrize(
    "data",
    [
        "System,MRR,H@10,RR,macro.MRR\na,1,2,3,4\n",
        "system,measure,value\na,MRR,1\na,H@10,2\na,RR,3\na,macro.MRR,4\n",
        "a MRR all 1\na H@10 all 2\na RR all 3\na macro.MRR all 4\n",
    ],
)
def test_a_bare_name_is_a_measure_over_answers(tmp_path: Path, data: str):
    """As papers report it, in each form of table; one warning says so. RR and macro.MRR are what they are."""
    path = written(tmp_path, data)
    with pytest.warns(KgtrecWarning) as told:
        table = read_score_table(path)
    assert table.measures == ("micro.MRR", "micro.Hits@10", "RR", "macro.MRR")
    assert table.values[0, :, 0].tolist() == [1, 2, 3, 4]
    assert [str(each.message) for each in told] == [
        f"{path}: read MRR, H@10 as micro.MRR, micro.Hits@10, over answers, as link-prediction papers report them"
    ]


def test_known_key_columns_need_not_be_named(tmp_path: Path):
    """Whole numbers are put in order, other labels stay in that of the file."""
    table = read_score_table(written(tmp_path, "System,Depth,map\na,10,0.1\na,2,0.2\nb,2,0.3\n"))
    assert table.keys == {"Depth": ("2", "10")}
    np.testing.assert_array_equal(table.values[:, 0], [[0.2, 0.1], [0.3, np.nan]])
    sides = read_score_table(written(tmp_path, "System,QuestionType,RelationType,map\na,tail,nn,1\na,head,1n,2\n"))
    assert sides.key_rows == (("tail", "nn"), ("head", "1n"))


def test_other_key_columns_are_named(tmp_path: Path):
    """Without --key their labels are no numbers, or rows seem to be repeated; both messages tell of it."""
    path = written(tmp_path, "System,Fold,map\na,one,0.1\na,two,0.2\n")
    assert read_score_table(path, keys=["fold"]).keys == {"Fold": ("one", "two")}
    with pytest.raises(FormatError, match=r"scores.csv:2: expected a number under 'Fold', found 'one'; if the column"):
        read_score_table(path)
    path = written(tmp_path, "System,Fold,map\na,1,0.1\na,2,0.2\n")
    with pytest.raises(FormatError, match=r"scores.csv:3: expected each row once, found a here and on line 2"):
        read_score_table(path)
    with pytest.raises(FormatError, match=r"scores.csv:1: expected a key column 'Depht'"):
        read_score_table(path, keys=["Depht"])


def test_a_long_table_is_what_evaluate_writes(tmp_path: Path):
    """Every column besides system, measure, value, low and high is a key."""
    scores = Scores(("a,b", 'q"'), ("micro.MR", "RR"), np.array([[[1.5], [np.nan]], [[2.0], [0.25]]]))
    table = read_score_table(written(tmp_path, shown(scores, "csv")))
    assert (table.systems, table.measures) == (scores.systems, scores.measures)
    np.testing.assert_array_equal(table.values, scores.values)
    text = "system,measure,side,value,low,high\na,RR,head,0.5,0.1,0.9\na,RR,tail,0.25,0.1,0.9\n"
    table = read_score_table(written(tmp_path, text))
    assert (table.measures, table.keys, table.values.tolist()) == (("RR",), {"side": ("head", "tail")}, [[[0.5, 0.25]]])


label = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6).filter(
    lambda text: text.strip()
)


@settings(max_examples=examples(40))
@given(
    st.lists(label, min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(["RR", "AP@20", "micro.MR", "P@5"]), min_size=1, unique=True),
    st.data(),
)
def test_whatever_evaluate_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, systems: list[str], measures: list[str], data: st.DataObject
):
    """Labels with commas, quotes and blanks, and every digit of the values."""
    value = st.floats(-1e300, 1e300) | st.just(float("nan"))
    shape = len(systems), len(measures), 1
    values = np.array([data.draw(value) for _ in range(len(systems) * len(measures))]).reshape(shape)
    path = written(tmp_path_factory.mktemp("long"), shown(Scores(tuple(systems), tuple(measures), values), "csv"))
    table = read_score_table(path)
    assert (table.systems, table.measures) == (tuple(systems), tuple(measures))
    np.testing.assert_array_equal(table.values, values)


def test_marks_carriage_returns_tabs_and_compression_are_read_through(tmp_path: Path):
    """A byte order mark, CRLF, blank lines, tabs for commas, and gzip."""
    plain = read_score_table(written(tmp_path, "System,map\na,0.5\nb,0.25\n"))
    for data in (
        "\ufeffSystem,map\r\na,0.5\r\n\r\nb,0.25\r\n",
        "System\tmap\na\t0.5\nb\t 0.25",
        "\nsystem,map\na,.5\nb,+0.25\n",
    ):
        other = read_score_table(written(tmp_path, data))
        assert other.systems == plain.systems
        np.testing.assert_array_equal(other.values, plain.values)
    (tmp_path / "scores.csv.gz").write_bytes(gzip.compress(b"System,map\na,0.5\nb,0.25\n"))
    np.testing.assert_array_equal(read_score_table(tmp_path / "scores.csv.gz").values, plain.values)


def test_a_table_is_told_from_qrels_by_its_header(tmp_path: Path):
    """A column System, however capitalised or quoted; not a system called so."""
    for data in ("System,map\n", '\ufeff"SYSTEM"\tmap\r\n', "\n\nmap,system\n"):
        assert looks_like_table(written(tmp_path, data))
    for data in ("", "system 0 a 1\n", "tail0 Q0 a 1 0.5 system\n", "q1\t0\ta\t1\n"):
        assert not looks_like_table(written(tmp_path, data))


def test_at_keeps_the_rows_of_a_label():
    """Other keys stay; unknown columns and labels are told."""
    keys = {"side": ("h", "h", "t", "t"), "Depth": ("0", "1", "0", "1")}
    table = ScoreTable(("s",), ("RR",), np.arange(4.0).reshape(1, 1, 4), keys)
    assert table.at(side="t").keys == {"Depth": ("0", "1")}
    assert table.at(side="t").values.tolist() == [[[2.0, 3.0]]]
    assert table.at(side="t", Depth=1).values.tolist() == [[[3.0]]]
    with pytest.raises(KgtrecError, match=r"expected a Depth of the table \(0, 1\), found '2'"):
        table.at(Depth=2)
    with pytest.raises(KgtrecError, match=r"expected a key column of the table \(side, Depth\), found 'depth'"):
        table.at(depth=2)
    assert list(table.to_frame().columns) == ["system", "measure", "side", "Depth", "value"]


def test_keys_of_any_length_are_put_in_order(tmp_path: Path):
    """Python reads whole numbers of 4,300 digits at most; as texts they have no end."""
    labels = ["9" * 5000, "10", "007", "1" + "0" * 5000, "0", "9"]
    path = written(tmp_path, "System,Depth,map\n" + "".join(f"a,{label},1\n" for label in labels))
    assert read_score_table(path).keys["Depth"] == ("0", "007", "9", "10", "9" * 5000, "1" + "0" * 5000)


@given(st.lists(st.integers(0, 10**6).map(str), min_size=1, unique=True))
def test_keys_are_put_in_the_order_of_their_numbers(labels: list[str]):
    with TemporaryDirectory() as folder:
        path = written(Path(folder), "System,key,m\n" + "".join(f"s,{label},0\n" for label in labels))
        assert read_score_table(path).keys["key"] == tuple(sorted(labels, key=int))
