"""Complex queries and triples -> a test collection whose questions are the queries."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.collection.questions import categorize, require_labels
from kgtrec.data.arrow import arrow_of
from kgtrec.data.collection import Collection, FilteredAnswers, MissingLinks
from kgtrec.data.qrels import Qrels
from kgtrec.data.queries import Queries
from kgtrec.data.questions import Questions
from kgtrec.data.triples import SPLITS, Splits, Triples, fingerprint_of
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, in_file, nearest, warn
from kgtrec.formats.files import PathLike
from kgtrec.formats.queries import is_pickled, numbered, read_queries
from kgtrec.kernels.integer_keys import is_among_sorted
from kgtrec.kernels.triples.queries import NO_ANSWER, STRUCTURES, Links, each_block, letters


def build_queries(
    queries: Queries | PathLike, train: Any, valid: Any = None, test: Any = None, *, ids: bool = False
) -> Collection:
    """Build the test collection of complex queries: a tail question for each, its hard answers, and the easy ones.

    A question's anchor is the first anchor of its query, and its relation the structure, qualified by the whole query
    as JSON: ``2i @ [["ann", ["likes"]], ["bob", ["likes"]]]``. Hard answers are the qrels. Easy answers are filtered as
    triples of train are, since both are known when the query is asked; which of them need valid triples the files do
    not say. Queries without hard answers are left out.

    Parameters
    ----------
    queries : Queries or path
        See :func:`kgtrec.formats.queries.read_queries`. If they have no answers, these are found: easy ones follow from
        train and valid, hard ones from all triples, but not from these alone.
    train, valid, test : Triples, or what Triples.of takes
        ``test`` has the links to predict: for valid queries, ``build_queries(queries, train, test=valid)``. Numbers, as
        in BetaE's folders, get the names of the queries' numbers.
    ids : bool
        Name the entities ``e0, e1, ...``, by the byte order of their labels.

    Returns
    -------
    Collection
        With the missing links of every hard answer.

    Raises
    ------
    KgtrecError
        If there is no query with a hard answer, a query is there twice, or has an anchor or a relation that no triple
        has. ``-R`` is relation R from tail to head where no triple has ``-R``.

    Warns
    -----
    KgtrecWarning
        If hard answers do not follow from the triples, or follow from train and valid alone.

    References
    ----------
    Ren and Leskovec (2020), arXiv:2010.11465.

    Examples
    --------
    >>> train = [("ann", "knows", "bob"), ("bob", "likes", "tea"), ("ann", "knows", "cid")]
    >>> test = [("cid", "likes", "jam")]
    >>> queries = Queries.of([{"structure": "2p", "query": ["ann", ["knows", "likes"]]}])
    >>> collection = build_queries(queries, train, test=test)
    >>> collection.qrels.decoded("entity").to_pylist(), collection.missing_links.count.tolist()
    (['jam'], [1])
    """
    path = queries if isinstance(queries, str | os.PathLike) else None
    with nullcontext() if path is None else in_file(path):
        given = [Triples.of([] if split is None else split) for split in (train, valid, test)]
        if not isinstance(queries, Queries):
            queries = read_queries(queries)
            given = [numbered(split, queries) if is_pickled(path or "") else split for split in given]
        return _built(queries, Splits.of(*given), ids)


def _built(queries: Queries, splits: Splits, ids: bool) -> Collection:
    entities = splits.entities.extended(queries.entities.labels)
    splits = Splits(*(replace(getattr(splits, name), entities=entities) for name in SPLITS))
    require_labels(splits, ids)
    code, n = entities.encode(queries.entities.labels), len(entities)
    codes = _codes(queries, code, splits)
    easy, hard, missing = _answers(queries, codes, code, splits)
    kept = np.flatnonzero(np.bincount(hard // n, minlength=len(queries)))
    if len(kept) == 0:
        raise KgtrecError("expected at least one query with a hard answer, which needs test triples, found none")
    row = np.full(len(queries), -1, np.int32)
    row[kept] = np.arange(len(kept), dtype=np.int32)
    (asked, answer), (of_easy, known) = ((row[key // n], (key % n).astype(np.int32)) for key in (hard, easy))
    of_easy, known = of_easy[of_easy >= 0], known[of_easy >= 0]
    names = Vocabulary.of([f"e{place}" for place in entities.byte_order.tolist()]) if ids else entities
    labels = Vocabulary.of(replace(queries, entities=Vocabulary(names.decode(code))).labels().take(arrow_of(kept)))
    relations = splits.relations.extended(labels.labels)
    splits = Splits(*(replace(getattr(splits, name), relations=relations) for name in SPLITS))
    questions = Questions(
        Vocabulary.of([f"tail{number}" for number in range(len(kept))]), np.zeros(len(kept), np.bool_),
        relations.encode(labels.labels), np.concatenate([own[:, 0] for own in codes.values()])[kept],
        entities, relations,
    )  # fmt: skip
    facts = splits.train, splits.valid, splits.test, questions.triples(asked, answer), questions.triples(of_easy, known)
    structure = np.repeat(np.arange(len(codes)), [*map(len, codes.values())])[kept]
    structures = {}
    for place in np.unique(structure).tolist():
        counts = Counter(missing[structure[asked] == place].tolist())
        structures[[*codes][place]] = {
            "queries": int((structure == place).sum()),
            "hard": counts.total(),
            "easy": int((structure[of_easy] == place).sum()),
            "missing_links": {str(links) if links > 0 else "unknown": counts[links] for links in sorted(counts)},
        }
    report = {
        "triples": {name: len(getattr(splits, name)) for name in SPLITS},
        "entities": n,
        "relations": len(relations) - len(labels),
        "structures": structures,
        "dropped": len(queries) - len(kept),
        "options": {"ids": ids},
    }
    qrels = Qrels.of(asked, answer, np.ones(len(hard), np.int32), questions.ids, names)
    filtered = FilteredAnswers(of_easy, known, np.zeros(len(known), np.int8))
    questions, train = replace(questions, entities=names), replace(splits.train, entities=names)
    own = report, entities if ids else None, fingerprint_of(*facts)
    links = MissingLinks(asked, answer, missing)
    return Collection(questions, qrels, filtered, categorize(splits), train, *own, missing_links=links)


def _codes(queries: Queries, entity: NDArray[np.int32], splits: Splits) -> dict[str, NDArray[np.int32]]:
    """The anchors and relations of each structure's queries under the vocabularies of the triples.

    A relation that is read backwards has the code of the relation plus their number.
    """
    own = splits.relations
    relation = own.encode(queries.relations.labels)
    for place in np.flatnonzero(relation < 0).tolist():
        label = queries.relations[place]
        forwards = int(own.encode([label[1:]])[0]) if label.startswith("-") else -1
        relation[place] = forwards + len(own) if forwards >= 0 else -1
    facts = splits.train.joined(splits.valid, splits.test)
    is_known = np.isin(entity, np.append(facts.head, facts.tail))
    known = {"e": np.where(is_known, entity, -1).astype(np.int32), "r": relation}
    codes = {}
    for structure, columns in queries.codes.items():
        kinds = letters(STRUCTURES[structure])
        codes[structure] = np.stack([known[kind][own] for kind, own in zip(kinds, columns.T, strict=True)], axis=1)
        for row, column in np.argwhere(codes[structure] < 0)[:1].tolist():
            label = (queries.entities if kinds[column] == "e" else queries.relations)[int(columns[row, column])]
            expected = "expected entities and relations of the triples in queries"
            raise KgtrecError(f"{expected}, found {label!r}{nearest(label, splits.relations)}")
    return codes


def _answers(
    queries: Queries, codes: dict[str, NDArray[np.int32]], entity: NDArray[np.int32], splits: Splits
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """Easy and hard answers, found if there are none, as query * n_entities + entity; the links that hard ones lack."""
    facts, n = splits.train.joined(splits.valid, splits.test), len(splits.entities)
    is_test = np.tile(np.arange(len(facts)) >= len(facts) - len(splits.test), 2)
    relation = np.append(facts.relation, facts.relation + np.int32(len(splits.relations))).astype(np.int64)
    key, tail = relation * n + np.append(facts.head, facts.tail), np.append(facts.tail, facts.head)
    links = Links.of(key, tail, is_test, n)

    def found(links: Links, least: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        parts, begin = [], 0
        for name, own in codes.items():
            for costs in each_block(STRUCTURES[name], own, links):
                query, answer = np.nonzero((costs >= least) & (costs < NO_ANSWER))
                parts.append(((query + begin) * n + answer, costs[query, answer]))
                begin += len(costs)
        keys, counts = zip(*parts, strict=True)
        return np.concatenate(keys), np.concatenate(counts)

    keys, counts = found(links, least=1)
    if len(queries.query):
        pairs = queries.query.astype(np.int64) * n + entity[queries.answer]
        easy, hard = (np.sort(pairs[queries.is_hard == is_hard]) for is_hard in (False, True))
    else:
        easy = found(links.known(), least=0)[0]
        hard = keys[~is_among_sorted(keys, easy)]
    is_found = is_among_sorted(hard, keys)
    missing = np.full(len(hard), -1, np.int8)
    missing[is_found] = counts[np.searchsorted(keys, hard[is_found])]
    if wrong := int((~is_found).sum()):
        warn(
            f"{wrong:,} of {len(hard):,} hard answers do not follow from the triples, or from train and valid alone; "
            "name the triples that the queries were made of (for valid queries TRAIN and VALID)"
        )
    return easy, hard, missing
