"""What the files of a released version hold, as plain values, whatever types hold them today."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from kgtrec import open_run, read_answer_ranks, read_collection, read_qrels, read_run, read_score_matrix, read_topics
from kgtrec.campaign import read_campaign, read_machine, read_tasks
from kgtrec.data.campaign import PERSON_ROLES
from kgtrec.formats.campaign.expert_samples import read_expert_sample
from kgtrec.formats.chance_tables import read_chance_table
from kgtrec.formats.factor_folders import read_factor_folder
from kgtrec.formats.queries import read_queries
from kgtrec.formats.score_tables import read_score_table
from kgtrec.formats.trec.origins import read_origin
from kgtrec.formats.triples import read_triples
from kgtrec.study import read_study
from tests.campaign_folders import said


def rows(*columns: Any) -> list[list[Any]]:
    """Columns, of numpy, Arrow or lists, as rows."""
    values = (list(column) if isinstance(column, list | tuple) else _listed(column) for column in columns)
    return [list(row) for row in zip(*values, strict=True)]


def _listed(column: Any) -> list[Any]:
    return column.to_pylist() if hasattr(column, "to_pylist") else column.tolist()


def triples_in(found: Any) -> list[list[str]]:
    """Head, relation and tail of each."""
    entities, relations = found.entities, found.relations
    return rows(entities.decode(found.head), relations.decode(found.relation), entities.decode(found.tail))


def pairs_in(found: Any, *columns: str) -> list[list[Any]]:
    """Question and entity of each row, and the columns named."""
    named = found.questions.decode(found.question), found.entities.decode(found.entity)
    return rows(*named, *(getattr(found, name) for name in columns))


def in_collection(folder: Path) -> dict[str, Any]:
    """Questions, answers, what is filtered, triples, and what only some collections have."""
    found = read_collection(folder)
    asked, filtered = found.questions, found.filtered
    held = {
        "stamp": found.stamp,
        "questions": rows(asked.ids.labels, asked.is_head, asked.relations.decode(asked.relation)),
        "qrels": pairs_in(found.qrels, "grade"),
        "filtered": rows(asked.ids.decode(filtered.question), found.entities.decode(filtered.entity), filtered.split),
        "train": triples_in(found.train),
        "labels": None if found.labels is None else list(found.labels),
        "categories": found.categories.category.tolist(),
        "training": None if found.training is None else triples_in(found.training),
        "held": None if found.held is None else [triples_in(part) for part in found.held],
    }
    if (links := found.missing_links) is not None:
        held["links"] = rows(asked.ids.decode(links.question), found.entities.decode(links.entity), links.count)
    if (candidates := found.candidates) is not None:
        held["candidates"] = rows(candidates.place, found.entities.decode(candidates.entity))
    return held


def in_ranks(path: Path) -> dict[str, Any]:
    """Counts, from which all ranks follow."""
    found = read_answer_ranks(path)
    about = {"name": found.name, "filtered_by": list(found.filtered_by), "collection": found.collection}
    cut = None if found.cut is None else found.cut.tolist()
    return {**about, "rows": pairs_in(found, "answer", "above", "tied", "n_other", "score"), "cut": cut}


def in_run(path: Path) -> dict[str, Any]:
    """Ranked lists, and which collection they are of."""
    found = next(open_run(path).parts()) if path.is_dir() else read_run(path)
    return {"name": found.name, "collection": found.collection, "rows": pairs_in(found, "score")}


def in_qrels(path: Path) -> dict[str, Any]:
    """Grades, and which collection they are of."""
    found = read_qrels(path)
    return {"collection": found.collection, "rows": pairs_in(found, "grade")}


def in_campaign(folder: Path) -> dict[str, Any]:
    """What was pooled, who judged, and what they said."""
    found = read_campaign(folder)
    pool, people, shares, gold = found.pool, found.people, found.assignments, found.gold
    held = {
        "pool": triples_in(pool.triples),
        "runs": list(pool.runs),
        "ranks": rows(pool.triple, pool.questions.ids.decode(pool.question), pool.run, pool.rank),
        "known": pairs_in(found.known_answers, "grade"),
        "automatic": rows(found.automatic.rule),
        "people": rows(people.names.decode(people.person), [PERSON_ROLES[role] for role in people.role]),
        "assigned": rows(shares.annotators.decode(shares.annotator), shares.triple),
        "judgements": [list(event) for event in said(found.judgements)],
        "templates": dict(found.templates),
        "sources": list(found.sources),
        "names": dict(found.names),
        "gold": [*rows(triples_in(gold.triples), gold.verdict, gold.explanation)],
    }
    if (design := found.design) is not None:
        held["design"] = rows(design.triple, design.theta, design.pi, design.is_opened, design.is_drawn)
    if (folder / "expert_sample.tsv").exists():
        sample = read_expert_sample(folder, pool)
        held["expert sample"] = rows(sample.triple, sample.verdict, sample.probability)
    if (folder / "machine").exists():
        machine = read_machine(folder, "m", pool)
        held["machine"] = rows(machine.triple, machine.verdict, machine.probability, machine.reason, machine.model)
    return held


def in_tasks(path: Path) -> list[list[Any]]:
    """What people have filled in."""
    found = read_tasks(path)
    return [[one.task, one.person, one.head, one.relation, one.tail, one.verdict] for one in found.incoming]


def in_factors(folder: Path) -> dict[str, Any]:
    """Vectors and their labels."""
    found = read_factor_folder(folder)
    arrays = {name: np.asarray(getattr(found, name)[:]).tolist() for name in ("E", "R")}
    labels = {"entities": list(found.entities), "relations": list(found.relations)}
    return {"score": found.score, "parameters": dict(found.parameters), **arrays, **labels}


def in_queries(path: Path) -> Any:
    """Complex queries and their answers."""
    found = read_queries(path)
    labels = {"entities": list(found.entities), "relations": list(found.relations)}
    return {**labels, "rows": rows(found.query, found.entities.decode(found.answer), found.is_hard)}


def in_topics(path: Path) -> Any:
    """Ids and what they stand for."""
    found = read_topics(path)
    return rows(found.ids.labels, found.anchor, found.relation)


def in_scores(path: Path) -> Any:
    """Values by system and measure."""
    found = read_score_table(path, keys=("question",))
    names = [(system, measure) for system in found.systems for measure in found.measures]
    return {
        "of": rows(names),
        "keys": {name: list(own) for name, own in found.keys.items()},
        "values": found.values.tolist(),
    }


def in_chance(path: Path) -> Any:
    """What measures are at chance level."""
    found = read_chance_table(path)
    return rows(found.measure, found.side, found.items, found.expectation, found.variance)


def in_study(folder: Path) -> dict[str, Any]:
    """All tables that it shows."""
    found = read_study(folder)
    return {"title": found.title, "tables": {name: table.to_pylist() for name, table in found.tables.items()}}


#: name in the folder -> how it is read
READERS: Mapping[str, Callable[[Path], Any]] = {
    "collection": in_collection,
    "with-ids": in_collection,
    "inductive": in_collection,
    "timed": in_collection,
    "restricted": in_collection,
    "complex": in_collection,
    "qrels": in_collection,
    "ranks/rules.ranks.parquet": in_ranks,
    "ranks/predictions.ranks.parquet": in_ranks,
    "ranks/rules.run.gz": in_run,
    "ranks/popularity.run": in_run,
    "ranks/random.parquet": in_run,
    "ranks/parts.run": in_run,
    "qrels/qrels.depth1.txt": in_qrels,
    "qrels-alone/qrels.txt": in_qrels,
    "qrels.parquet": in_qrels,
    "qrels-alone/topics.tsv": in_topics,
    "campaign": in_campaign,
    "sampled": in_campaign,
    "tasks.csv": in_tasks,
    "tasks.jsonl": in_tasks,
    "tasks.xlsx": in_tasks,
    "label-studio/tasks.json": lambda path: path.read_text(encoding="utf-8"),
    "factors": in_factors,
    "queries.jsonl": in_queries,
    "triples.tsv": lambda path: triples_in(read_triples(path)),
    "scores.npy": lambda path: [
        [read_origin(path, "scores").collection],
        *(scores.tolist() for _, scores in read_score_matrix(path, read_collection(path.parent / "collection"))),
    ],
    "scores.csv": in_scores,
    "scores.json": lambda path: json.loads(path.read_text()),
    "scores.parquet": lambda path: pq.read_table(path).to_pylist(),
    "chance.csv": in_chance,
    "study": in_study,
}


def contents_of(folder: Path, name: str) -> Any:
    """What one of the files or folders holds."""
    return READERS[name](folder / name)
