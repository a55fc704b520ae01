"""The example of a ranking file, as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection
from kgtrec.data.questions import SIDES
from kgtrec.data.triples import Triples
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.formats.triples import find_splits, read_triples
from kgtrec.ranking.rank import Ranked, rank_scores
from kgtrec.systems.baselines import baseline_blocks

EXAMPLES = Path(__file__).parents[2] / "examples"
PREDICTIONS = EXAMPLES / "anyburl" / "predictions.txt"
MOST = 2  # so that some answers are below the ends of their lists


@pytest.fixture(scope="module")
def test_triples() -> Triples:
    return read_triples(find_splits(EXAMPLES / "cities")[2])


@pytest.fixture(scope="module")
def collection(test_triples: Triples) -> Collection:
    train, valid, _ = map(read_triples, find_splits(EXAMPLES / "cities"))
    return build_questions(train, valid, test_triples)


@pytest.fixture(scope="module")
def rules(collection: Collection) -> Ranked:
    """The baseline's exact ranks, and its run."""
    blocks = baseline_blocks("rules", collection)
    return rank_scores(collection, blocks, questions=collection, entities=collection)


def predictions(collection: Collection, rules: Ranked, test: Triples) -> str:
    """What the rules predict for each test triple, other answers left out, as a ranking file."""
    questions, entities, run = collection.questions, list(collection.entities), rules.run
    lists: dict[tuple[bool, str, str], list[tuple[str, float]]] = {}
    for question, entity, score in zip(run.question, run.entity, run.score, strict=True):
        key = (
            bool(questions.is_head[question]),
            entities[questions.anchor[question]],
            questions.relations[questions.relation[question]],
        )
        if score > 0:
            lists.setdefault(key, []).append((entities[entity], score))
    triples = list(
        zip(
            *(
                labels.to_pylist()
                for labels in (
                    test.entities.decode(test.head),
                    test.relations.decode(test.relation),
                    test.entities.decode(test.tail),
                )
            ),
            strict=True,
        )
    )
    answers: dict[tuple[bool, str, str], set[str]] = {}
    for head, relation, tail in triples:
        answers.setdefault((True, tail, relation), set()).add(head)
        answers.setdefault((False, head, relation), set()).add(tail)
    lines = []
    for head, relation, tail in triples:
        lines.append(f"{head} {relation} {tail}")
        for is_head, anchor, answer in ((True, tail, head), (False, head, tail)):
            key = is_head, anchor, relation
            listed = [row for row in lists.get(key, []) if row[0] == answer or row[0] not in answers[key]][:MOST]
            word = SIDES[not is_head].capitalize()
            lines.append(f"{word}s: " + "".join(f"{entity}\t{score:.6g}\t" for entity, score in listed))
    return "\n".join(lines) + "\n"


def test_the_file_holds_what_the_rules_baseline_predicts(collection, rules, test_triples):
    """The first two entities of each list of kgtrec rank --baseline rules, other answers left out."""
    assert PREDICTIONS.read_text() == predictions(collection, rules, test_triples)


@pytest.mark.slow
def test_the_example_runs_without_glue(tmp_path, rules):
    """An answer that the rules predict has the rank that they give it, ties broken; the others have bounds."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", str(EXAMPLES / "anyburl.sh"), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ranked heads and tails of 12 triples, as AnyBURL, PyClause and SAFRAN write them" in done.stderr
    assert (tmp_path / "out" / "scores.txt").read_text() in done.stdout
    found, exact = read_answer_ranks(tmp_path / "out" / "ranks" / "predictions.ranks.parquet"), rules.answer_ranks
    for vocabulary, column in (("questions", "question"), ("entities", "entity")):
        labels = [getattr(table, vocabulary).decode(getattr(table, column)).to_pylist() for table in (found, exact)]
        assert labels[0] == labels[1]
    assert 0 < found.cut.sum() < len(found)
    assert (found.above + found.tied >= exact.above)[found.cut].all()
    assert (found.above >= exact.above)[~found.cut].all()
    assert (found.above + found.tied <= exact.above + exact.tied)[~found.cut].all()


def test_the_example_asks_for_a_folder():
    done = subprocess.run(["bash", str(EXAMPLES / "anyburl.sh")], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "usage: bash examples/anyburl.sh FOLDER" in done.stderr
