"""Systems on several graphs: values by hand, the folder, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.cli import main
from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection
from kgtrec.errors import KgtrecError, KgtrecWarning
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.graphs import evaluate_graphs
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.collections import write_collection
from kgtrec.ranking.rank import rank_scores

N = 6  # entities a, b, ...


def graph(name: str, rank: int, **options: object) -> tuple[Collection, object]:
    """A graph with the test triple (a, likes, b), whose answers have a rank of 1 to 3 on each side."""
    train = [("c", "likes", "d"), ("d", "likes", "e"), ("e", "fears", "f")]
    collection = build_questions(train, test=[("a", "likes", "b")], **options)
    scores, qrels = np.zeros((len(collection.questions), N)), collection.qrels
    for question, entity in zip(qrels.question, qrels.entity, strict=True):
        scores[question, np.delete(np.arange(N), entity)[: rank - 1]] = 2
        scores[question, entity] = 1
    ranks = rank_scores(collection, scores, questions=collection, entities=collection, name=name, depth=0)
    return collection, ranks.answer_ranks


def test_the_mean_over_graphs_and_its_interval_by_hand():
    """MRR 1, 1/2 and 1/2: mean 2/3, standard deviation .28868, t of 2 degrees of freedom 4.30265, n = 3."""
    graphs = {f"g{rank}{place}": graph("mine", rank) for place, rank in enumerate((1, 2, 2))}
    found = evaluate_graphs(graphs, "micro.MRR")
    (row,) = found["means"].to_pylist()
    half = 4.302653 * 0.2886751 / 3**0.5
    assert row == {
        "system": "mine",
        "measure": "micro.MRR",
        "graphs": 3,
        "value": pytest.approx(2 / 3),
        "low": pytest.approx(2 / 3 - half, rel=1e-6),
        "high": pytest.approx(2 / 3 + half, rel=1e-6),
    }
    assert found["graphs"]["value"].to_pylist() == [1, 0.5, 0.5]


@pytest.mark.slow
@given(st.lists(st.integers(1, 5), min_size=2, max_size=5))
def test_means_are_those_of_the_values_of_each_graph(ranks: list[int]):
    """Whatever the order of the graphs; each value is that of evaluate alone."""
    graphs = {f"g{place}": graph("mine", rank) for place, rank in enumerate(ranks)}
    found = evaluate_graphs(graphs, ["micro.MRR", "micro.Hits@2"])
    turned = evaluate_graphs(dict(reversed(graphs.items())), ["micro.MRR", "micro.Hits@2"])
    alone = np.array([evaluate(*own, ["micro.MRR", "micro.Hits@2"]).values[0, :, 0] for own in graphs.values()])
    assert found["means"]["value"].to_pylist() == pytest.approx(alone.mean(axis=0).tolist())
    assert turned["means"]["low"].to_pylist() == pytest.approx(found["means"]["low"].to_pylist())


def test_differences_are_those_on_the_same_graph():
    """Reciprocal ranks 1 and 1/2 against 1/2 and 1/4: 1/2 and 1/4, mean 3/8; t of one degree of freedom 12.7062."""
    graphs = {}
    for name, one, other in (("g", 1, 2), ("h", 2, 4)):
        collection, ranks = graph("one", one)
        graphs[name] = collection, [ranks, graph("other", other)[1]]
    (row,) = evaluate_graphs(graphs, "micro.MRR")["differences"].to_pylist()
    half = 12.706205 * (0.25 / 2**0.5) / 2**0.5
    assert list(row.values()) == [
        "one",
        "other",
        "micro.MRR",
        2,
        0.375,
        *map(pytest.approx, (0.375 - half, 0.375 + half)),
    ]


def test_one_graph_has_no_interval_and_a_lacking_system_is_named():
    one = evaluate_graphs({"g": graph("mine", 1)}, "micro.MRR")["means"].to_pylist()[0]
    assert [one["graphs"], one["value"]] == [1, 1]
    assert np.isnan([one["low"], one["high"]]).all()
    with pytest.warns(KgtrecWarning, match="mine, other: no value for some of 2 graphs"):
        evaluate_graphs({"g": graph("mine", 1), "h": graph("other", 1)}, "micro.MRR")
    with pytest.raises(KgtrecError, match="found none"):
        evaluate_graphs({})


def test_a_folder_of_collections_one_of_which_asks_for_tails_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Ranks are in a folder of each collection, which stays when the collection is written again."""
    monkeypatch.chdir(tmp_path)
    for name, options in (("both", {}), ("tails", {"sides": "tail"})):
        collection, ranks = graph("mine", 2, **options)
        write_collection(f"all/{name}", collection)
        Path(f"all/{name}/ranks").mkdir()
        write_answer_ranks(f"all/{name}/ranks/mine.ranks.parquet", ranks)
        write_collection(f"all/{name}", collection, force=True)
    main(["evaluate", "all", "-m", "micro.MRR", "--format", "csv"])
    said = capsys.readouterr().out
    assert said.startswith("system,graph,measure,value\nmine,both,micro.MRR,0.5\nmine,tails,micro.MRR,0.5\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "expected SYSTEMS, or a folder of collections of several graphs"),
        (("--per", "side"), "expected options that have an effect, found --per with several graphs"),
        (("--ties", "all"), "expected one order of ties with several graphs"),
        (("-m", "micro.MRR"), "expected a folder of answer ranks; kgtrec rank writes it"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], args: tuple[str], message: str
):
    monkeypatch.chdir(tmp_path)
    write_collection("all/one", graph("mine", 1)[0])
    with pytest.raises(SystemExit):
        main(["evaluate", "all" if args else "all/one", *args])
    assert message in capsys.readouterr().err
