"""Every public verb that takes runs or qrels takes them as frames, as dicts of dicts and as named tuples too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError, KgtrecError
from kgtrec.evaluation import compare_ties, item_scores
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.given import each_run, each_system, files_of_folder
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.trec.runs import write_run
from kgtrec.meta import between_measures, compare, correlate, label_scores, power, stability, subsample, swaps
from kgtrec.openworld import estimate_missing
from kgtrec.pooling import replay
from kgtrec.pooling.pool_runs import pool_runs
from kgtrec.ranking.rank import rank_scores

pytestmark = pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")
MEASURES = ["macro.MRR", "AP@20"]


@cache
def world() -> tuple[Collection, dict[str, Run], Qrels]:
    """A collection, the runs of three systems, and judgements that hold one more answer."""
    people, food = ["ann", "bob", "cid", "dee", "eve", "fay"], ["tea", "jam", "pie", "nut", "fig"]
    likes = [(who, "likes", what) for place, who in enumerate(people) for what in food[place % 5 :]]
    train, test = Triples.of(likes[::2]), Triples.of(likes[1::2])
    collection = build_questions(train, Triples.of([]), test)
    rng, own = np.random.default_rng(5), {"questions": collection, "entities": collection}
    runs = {}
    for name in ("one", "two", "three"):
        scores = rng.integers(0, 6, (len(collection.questions), len(collection.entities))).astype(float)
        found = rank_scores(collection, scores, **own, name=name, depth=8).run
        # as read from a file: no collection, vocabularies of its own
        runs[name] = Run.from_frame(as_frame(found), name)
    rows = collection.qrels.to_frame()
    rows.attrs.clear()
    question, entity = next(
        (question, entity)
        for question, listed in runs["one"].to_dict().items()
        for entity in listed
        if entity not in collection.qrels.to_dict()[question]
    )
    rows.loc[len(rows)] = [question, entity, 1]
    return collection, runs, Qrels.from_frame(rows)


def as_tuples(thing: Run | Qrels) -> list[Any]:
    kind = ir_measures.ScoredDoc if isinstance(thing, Run) else ir_measures.Qrel
    return [kind(*row) for row in thing.to_frame().itertuples(index=False)]


def as_frame(thing: Run | Qrels) -> Any:
    frame = thing.to_frame()
    frame.attrs.clear()
    return frame


KINDS: dict[str, Callable[[Any], Any]] = {
    "frame": as_frame,
    "PyTerrier's frame": lambda thing: as_frame(thing).rename(
        columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"}
    ),
    "dict of dicts": lambda thing: thing.to_dict(),
    "named tuples": as_tuples,
}
#: verb -> what it gives for (collection, qrels, judged, runs); the last two go through one of KINDS, and so do qrels
VERBS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "evaluate": lambda c, q, j, r: evaluate(q, r, MEASURES),
    "evaluate, one": lambda c, q, j, r: evaluate(q, {"one": r["one"]}, MEASURES),
    "evaluate, collection": lambda c, q, j, r: evaluate(c, r, MEASURES, per="relation"),
    "compare_ties": lambda c, q, j, r: compare_ties(q, r, MEASURES),
    "item_scores": lambda c, q, j, r: item_scores(q, r, MEASURES),
    "pool_runs": lambda c, q, j, r: pool_runs(c, r, depth=3),
    "pool_runs, known": lambda c, q, j, r: pool_runs(c, r, depth=3, known_answers=q),
    "replay": lambda c, q, j, r: replay(c, r, j, budget=4),
    "power": lambda c, q, j, r: power(q, r, MEASURES),
    "compare": lambda c, q, j, r: compare(q, {name: r[name] for name in ("one", "two")}, MEASURES, resamples=10),
    "stability": lambda c, q, j, r: stability(
        q, r, MEASURES, collection=c, sizes=[4], repeats=2, unlisted_answers="candidates"
    ),
    "subsample": lambda c, q, j, r: subsample(q, 4, collection=c),
    "between_measures": lambda c, q, j, r: between_measures(q, r, MEASURES),
    "correlate": lambda c, q, j, r: correlate(q, j, r, MEASURES),
    "swaps": lambda c, q, j, r: swaps(q, j, r, MEASURES),
    "label_scores": lambda c, q, j, r: label_scores({"sparse": q, "fuller": j}, r, MEASURES),
    "estimate_missing": lambda c, q, j, r: estimate_missing(q, j, r, depth=3),
}


def told(found: Any) -> str:
    """All that it holds, in the order of labels where codes may differ."""
    if isinstance(found, Qrels):
        return repr(sorted((question, sorted(own.items())) for question, own in found.to_dict().items()))
    if isinstance(found, Pool):
        rows = zip(found.triple, found.question, found.run, found.rank, strict=True)
        triples = found.triples.to_frame().to_numpy().tolist()
        ids = found.questions.ids
        return repr(sorted((triples[row], ids[question], found.runs[run], rank) for row, question, run, rank in rows))
    if isinstance(found, dict):
        return repr({name: each.value.tolist() for name, each in found.items()})
    if hasattr(found, "tables"):
        return repr([table.data.to_pydict() for table in found.tables()])
    return repr(found.to_table().to_pydict())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_takes_what_a_caller_has(verb: str, kind: str):
    """And gives what it gives for kgtrec's own types."""
    collection, runs, judged = world()
    change = KINDS[kind]
    named = {name: change(run) for name, run in runs.items()}
    if verb == "compare":  # a pair of systems, of which only kgtrec's own have names
        runs = {
            name: run.renamed(shown) for (name, run), shown in zip(runs.items(), ("first", "second", "_"), strict=True)
        }
    qrels = Qrels.from_frame(as_frame(collection.qrels))
    expected = VERBS[verb](collection, qrels, judged, runs)
    found = VERBS[verb](collection, change(qrels), change(judged), named)
    assert told(found) == told(expected)


def test_known_answers_have_their_own_codes():
    """Qrels that were read from elsewhere are matched by label; a pair that the collection lacks is refused."""
    collection, runs, _ = world()
    rows = as_frame(collection.qrels).iloc[::-1]
    assert Qrels.from_frame(rows).questions.labels != collection.questions.ids.labels
    assert told(pool_runs(collection, runs, known_answers=rows)) == told(pool_runs(collection, runs))
    other = replace(Qrels.from_frame(rows), collection="0" * 16)
    with pytest.raises(CollectionError, match=r"expected qrels of collection \w+, found those of collection 0{16}"):
        pool_runs(collection, runs, known_answers=other)
    with pytest.raises(KgtrecError, match=r"expected known answers of the collection's questions, found \(x, tea\)"):
        pool_runs(collection, runs, known_answers={"x": {"tea": 1}})


def test_pools_are_of_runs():
    """Answer ranks have no lists."""
    collection, _, _ = world()
    zeros = np.zeros((len(collection.questions), len(collection.entities)))
    ranks = rank_scores(collection, zeros, questions=collection, entities=collection, name="flat").answer_ranks
    with pytest.raises(KgtrecError, match="expected runs, found answer ranks of 'flat'"):
        pool_runs(collection, ranks)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The three runs, and what is no system."""
    found = tmp_path / "systems"
    found.mkdir()
    for name, run in world()[1].items():
        write_run(found / f"{name}.run.gz", run)
    (found / "notes.txt").write_text("about these systems\n")
    (found / ".one.run").write_text("hidden\n")
    return found


@pytest.mark.parametrize("verb", [name for name in VERBS if name not in ("evaluate, one", "compare")])
@pytest.mark.parametrize("kind", [str, Path])
def test_a_verb_takes_a_folder_of_systems(folder: Path, verb: str, kind: type):
    """By name, as on the command line."""
    collection, runs, judged = world()
    qrels = Qrels.from_frame(as_frame(collection.qrels))
    expected = VERBS[verb](collection, qrels, judged, dict(sorted(runs.items())))
    assert told(VERBS[verb](collection, qrels, judged, kind(folder))) == told(expected)


def test_a_folder_with_both_gives_answer_ranks_where_they_do(folder: Path):
    """Pools need lists, which answer ranks do not have."""
    collection, _, _ = world()
    zeros = np.zeros((len(collection.questions), len(collection.entities)))
    ranks = rank_scores(collection, zeros, questions=collection, entities=collection, name="flat").answer_ranks
    write_answer_ranks(folder / "flat.ranks.parquet", ranks)
    assert [system.name for system in each_system(folder)] == ["flat"]
    assert [run.name for run in each_run(folder)] == ["one", "three", "two"]
    assert [system.name for system in each_system([folder, folder / "two.run.gz"])] == ["flat", "two"]


def test_a_folder_of_one_table_is_one_system(tmp_path: Path):
    """As other programs write it in parts."""
    run = world()[1]["one"]
    (tmp_path / "table").mkdir()
    write_run(tmp_path / "table" / "part-0.parquet", run)
    qrels = as_frame(world()[0].qrels)
    assert (
        evaluate(qrels, tmp_path / "table", MEASURES).values.tolist() == evaluate(qrels, run, MEASURES).values.tolist()
    )


def test_a_folder_without_systems_is_refused(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("nothing here\n")
    with pytest.raises(KgtrecError, match=r"expected a folder of NAME.ranks.parquet or NAME.run files, found neither$"):
        files_of_folder(tmp_path)
    with pytest.raises(KgtrecError, match=r"expected a folder of NAME.run files, found none$"):
        list(each_run(str(tmp_path)))
