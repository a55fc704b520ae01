"""Ranks that anybody computed, and the forms in which scores are taken away."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from kgtrec import evaluate, read_collection
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.errors import KgtrecError
from kgtrec.ranking import rank_system
from kgtrec.systems import triple_ranks
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
    read = AnswerRanks.from_frame(pd.read_parquet(tmp_path / "mine.ranks.parquet"), "mine")
    assert own.digest() == again.digest() == read.digest()
    for system in (own, again, read):
        assert evaluate(collection, system, "micro.MRR")["mine", "micro.MRR"] == pytest.approx(expected)


def test_a_half_rank_is_refused(ranks: pd.DataFrame):
    """The ends of a tie are two columns."""
    with pytest.raises(KgtrecError, match=r"found 1.5 to 1.5 in row 0; for ranks of ties give columns optimistic"):
        triple_ranks(ranks.assign(rank=1.5))
    tied = triple_ranks(ranks.assign(optimistic=1, pessimistic=2))
    assert (tied.above.max(), tied.tied.min()) == (0, 1)


def test_scores_are_looked_up_sorted_and_written():
    """The better system is first, and in bold."""
    runs = {"x": {"q": {"a": 0.1, "b": 0.2}}, "y": {"q": {"a": 0.3, "b": 0.2}}}
    scores = evaluate({"q": {"a": 1}}, runs, ["RR", "macro.MR"])
    assert scores["x", "RR"] == 0.5
    assert scores.to_dict() == {"x": {"RR": 0.5, "macro.MR": 2.0}, "y": {"RR": 1.0, "macro.MR": 1.0}}
    assert list(scores.to_frame(wide=True).columns) == ["system", "RR", "macro.MR"]
    assert scores.sorted_by("macro.MR").systems == scores.sorted_by("RR").systems == ("y", "x")
    assert "| y | **1.0000** | **1.00" in scores.to_markdown()
    assert r"y & \textbf{1.0000}" in scores.to_latex()
