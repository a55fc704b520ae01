"""Ranks that anybody computed, and the forms in which scores are taken away."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from kgtrec import evaluate, pool_runs, read_collection
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.run import Run
from kgtrec.data.triples import SPLITS
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.measures.names import parse_measure
from kgtrec.ranking import rank_system
from kgtrec.systems import read_system, triple_ranks
from tests.program import exit_code

CITIES = Path(__file__).parents[2] / "examples" / "cities"


@pytest.fixture
def ranks(tmp_path: Path) -> pd.DataFrame:
    """Ranks 1, 2, 3, 1, ... of the test triples of the cities, whose collection is C."""
    assert exit_code("questions", CITIES, "--out", tmp_path / "C") == 0
    triples = [line.split("\t") for line in (CITIES / "test.tsv").read_text().splitlines()]
    rows = [(*triple, side, 1 + row % 3) for side in ("head", "tail") for row, triple in enumerate(triples)]
    return pd.DataFrame(rows, columns=["head", "relation", "tail", "side", "rank"])


def test_own_ranks_are_answer_ranks(ranks: pd.DataFrame, tmp_path: Path):
    """The mean of their inverses, as a frame, a CSV file, and after pandas has read what was written."""
    collection, expected = read_collection(tmp_path / "C"), (1 / ranks["rank"]).mean()
    own = rank_system(collection, triple_ranks(ranks, "mine")).answer_ranks
    ranks.to_csv(tmp_path / "mine.ranks.csv", index=False)
    assert exit_code("rank", tmp_path / "C", tmp_path / "mine.ranks.csv", "--out", tmp_path) == 0
    again = AnswerRanks.from_frame(own.to_frame(), "mine")
    file = tmp_path / "mine.ranks.parquet"
    read = AnswerRanks.from_frame(pd.read_parquet(file), "mine", filtered_by=own.filtered_by)
    arrow = AnswerRanks.from_frame(pq.read_table(file), "mine")
    assert own.digest() == again.digest() == read.digest() == arrow.digest()
    assert (arrow.filtered_by, arrow.collection) == (own.filtered_by, own.collection) == (SPLITS, collection.stamp)
    for system in (own, again, read, arrow, {"mine": own.to_frame()}):
        assert evaluate(collection, system, "micro.MRR")["mine", "micro.MRR"] == pytest.approx(expected)


def test_a_frame_of_answer_ranks_is_no_run(ranks: pd.DataFrame, tmp_path: Path):
    """It has the columns of one, and scores by which every answer would be listed first."""
    frame = rank_system(read_collection(tmp_path / "C"), triple_ranks(ranks)).answer_ranks.to_frame()
    with pytest.raises(KgtrecError, match=r"found answer ranks; use AnswerRanks\.from_frame"):
        Run.from_frame(frame)
    with pytest.raises(KgtrecError, match="expected runs, found answer ranks of 'mine'"):
        pool_runs(read_collection(tmp_path / "C"), {"mine": frame})


def test_what_ranks_are_filtered_by_is_never_assumed(ranks: pd.DataFrame, tmp_path: Path):
    """Raw ranks would be shown as filtered ones."""
    frame = rank_system(read_collection(tmp_path / "C"), triple_ranks(ranks)).answer_ranks.to_frame()
    frame.attrs = {}
    with pytest.raises(KgtrecError, match=r"found no note of them; .*filtered_by=, collection="):
        evaluate(read_collection(tmp_path / "C"), {"mine": frame}, "micro.MRR")
    with pytest.raises(KgtrecError, match=r"found 'test'"):
        AnswerRanks.from_frame(frame, "mine", filtered_by="test")
    assert AnswerRanks.from_frame(frame, "mine", filtered_by=()).filtered_by == ()


@pytest.mark.parametrize(
    ("columns", "wrong"),
    [
        ({"above": -1}, "from 0 to 2,147,483,647 in column 'above', found -1"),
        ({"above": 1.5}, "column 'above', found 1.5 in row 0"),
        ({"above": float("inf")}, "column 'above', found inf"),
        ({"above": 2.0**31}, "column 'above'"),
        ({"answer": 2}, "from 0 to 1 in column 'answer'"),
        ({"above": 3, "n_other": 2}, "found other counts in row 0"),
        ({"query_id": "q", "doc_id": "a"}, "found one again in row 1"),
    ],
)
def test_a_frame_is_checked_like_a_file(ranks: pd.DataFrame, tmp_path: Path, columns: dict[str, object], wrong: str):
    """Counts that no ranking gives are refused, not cast."""
    frame = rank_system(read_collection(tmp_path / "C"), triple_ranks(ranks)).answer_ranks.to_frame()
    with pytest.raises(KgtrecError, match=wrong):
        AnswerRanks.from_frame(frame.assign(**columns), "mine")


@pytest.mark.parametrize(
    ("columns", "wrong"),
    [
        ({"rank": 1.5}, "in column 'rank', found 1.5{place}; for ranks of ties give columns optimistic"),
        ({"rank": float("inf")}, "found inf{place}"),
        ({"rank": 1e300}, "to 2,147,483,647 in column 'rank', found 1e.300{place}"),
        ({"optimistic": 1, "pessimistic": 2}, "found rank and optimistic and pessimistic; leave out"),
        ({"rank": None, "pessimistic": 2}, "expected a column 'optimistic'"),
        ({"rank": None, "optimistic": 1}, "expected a column 'pessimistic'"),
        ({"rank": None, "optimistic": 3, "pessimistic": 2}, "up to the pessimistic ones, found 3 and 2{place}"),
        ({"side": "left"}, "expected head or tail as side, found 'left'{place}"),
    ],
)
def test_own_ranks_that_are_refused(ranks: pd.DataFrame, tmp_path: Path, columns: dict[str, object], wrong: str):
    """By row in a data frame, by line in a file."""
    frame = ranks.assign(**{name: value for name, value in columns.items() if value is not None})
    frame = frame.drop(columns=[name for name, value in columns.items() if value is None])
    with pytest.raises(KgtrecError, match=wrong.format(place=" in row 0")):
        triple_ranks(frame)
    path = tmp_path / "mine.ranks.csv"
    path.write_text(frame.to_csv(index=False).replace("\n", "\n\n", 1))
    place = ":3" * ("{place}" in wrong)
    with pytest.raises(FormatError, match=f"^{path}{place}: .*{wrong.format(place='')}") as found:
        read_system(path)
    assert "data frame" not in str(found.value)


def test_ranks_of_ties_are_two_columns(ranks: pd.DataFrame):
    """The best and the worst."""
    tied = triple_ranks(ranks.drop(columns="rank").assign(optimistic=1, pessimistic=2))
    assert (tied.above.max(), tied.tied.min()) == (0, 1)


def test_tabs_and_semicolons_are_named(ranks: pd.DataFrame, tmp_path: Path):
    """Rather than one column with a long name."""
    for mark, name in (("\t", "tabs"), (";", "semicolons")):
        ranks.to_csv(tmp_path / "mine.ranks.csv", index=False, sep=mark)
        with pytest.raises(FormatError, match=f"mine.ranks.csv:1: expected commas between columns, found {name}"):
            read_system(tmp_path / "mine.ranks.csv")


@pytest.mark.parametrize("thing", [[{"rank": 1}], {"rank": [1]}, "ranks.csv"])
def test_what_is_no_frame_is_refused(thing: object):
    """By one error, for both."""
    for take in (triple_ranks, AnswerRanks.from_frame):
        with pytest.raises(KgtrecError, match="expected a data frame of pandas, polars or pyarrow, found"):
            take(thing, "mine")


def test_scores_are_looked_up_sorted_and_written():
    """The better system is first, and in bold."""
    runs = {"x": {"q": {"a": 0.1, "b": 0.2}}, "y": {"q": {"a": 0.3, "b": 0.2}}}
    scores = evaluate({"q": {"a": 1}}, runs, ["RR", "macro.MR"])
    assert scores["x", "RR"] == 0.5
    assert scores.to_dict() == {"x": {"RR": 0.5, "macro.MR": 2.0}, "y": {"RR": 1.0, "macro.MR": 1.0}}
    assert list(scores.to_frame(wide=True).columns) == ["system", "RR", "macro.MR"]
    assert scores.sorted_by("macro.MR").systems == scores.sorted_by("RR").systems == ("y", "x")
    assert scores["x", "RetrievalMRR"] == 0.5
    assert (
        scores.sorted_by(parse_measure("macro.MR")).systems == scores.sorted_by("reciprocal_rank").systems == ("y", "x")
    )
    assert "| y | **1.0000** | **1.00" in scores.to_markdown()
    assert r"y & \textbf{1.0000}" in scores.to_latex()
    of_questions = evaluate(
        {"p": {"a": 1}, "q": {"a": 1}}, {"x": {"p": {"a": 1.0}, "q": {"b": 1.0}}}, "RR", confidence=0.9
    )
    for text in (of_questions.to_markdown(), of_questions.to_latex()):
        assert "90% intervals over other test sets of as many questions like these" in text


def test_scores_are_no_sequence():
    """One error says how a score is looked up, where Python would unpack a text or count from 0."""
    scores = evaluate({"q": {"a": 1}}, {"x": {"q": {"a": 0.1}}}, "RR")
    for key in ("x", "ab", 0, ("x", "RR", 1)):
        with pytest.raises(KgtrecError, match=r'expected scores\["SYSTEM", "MEASURE"\], found'):
            scores[key]
    with pytest.raises(TypeError, match="not iterable"):
        list(scores)
    with pytest.raises(KgtrecError, match="expected a measure of RR, found 'P@5'"):
        scores["x", "P@5"]


def test_the_measure_to_sort_by_is_checked_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """In each spelling that ``-m`` takes, and before anything is read."""
    runs = [tmp_path / "x.run", tmp_path / "y.run"]
    for run, score in zip(runs, (0, 2), strict=True):
        run.write_text(f"q Q0 a 1 {score} s\nq Q0 b 2 1 s\n")
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("q 0 a 1\n")
    assert exit_code("evaluate", qrels, *runs, "-m", "hit_rate@1", "--sort", "hit_rate@1", "--format", "csv") == 0
    assert [row.partition(",")[0] for row in capsys.readouterr().out.splitlines()] == ["system", "y", "x"]
    qrels.write_text("no qrels")
    for words, wrong in (
        (("-m", "RR", "--sort", "P@5"), "expected --sort to be one of RR, found 'P@5'"),
        (("-m", "RR", "--sort", "RR", "--per", "question"), "expected --sort without --per"),
    ):
        assert exit_code("evaluate", qrels, *runs, *words) == 2
        assert wrong in capsys.readouterr().err
