"""Complex queries and triples -> a test collection whose questions are the queries."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from itertools import repeat
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
    code = entities.encode(queries.entities.labels)
    queries = replace(queries, answer=code[queries.answer])
    codes = _codes(queries, code, splits)
    queries, missing = _with_links(queries, codes, splits)
    hard = queries.is_hard
    kept = np.flatnonzero(np.bincount(queries.query[hard], minlength=len(queries)))
    if len(kept) == 0:
        raise KgtrecError("expected at least one query with a hard answer, which needs test triples, found none")
    row = np.full(len(queries), -1, np.int32)
    row[kept] = np.arange(len(kept), dtype=np.int32)
    places = entities.byte_order[code].tolist()
    named = replace(queries, entities=Vocabulary.of([f"e{place}" for place in places])) if ids else queries
    labels = Vocabulary.of(named.labels().take(arrow_of(kept)))
    relations = splits.relations.extended(labels.labels)
    train, valid, test = (replace(getattr(splits, name), relations=relations) for name in SPLITS)
    numbers = Vocabulary.of([f"tail{number}" for number in range(len(kept))])
    anchor = np.concatenate([own[:, 0] for own in codes.values()])[kept]
    asks_head = np.zeros(len(kept), np.bool_)
    questions = Questions(numbers, asks_head, relations.encode(labels.labels), anchor, entities, relations)
    asked, answer = row[queries.query], queries.answer
    is_easy = ~hard & (asked >= 0)
    order = np.lexsort((answer[is_easy], asked[is_easy]))
    known = FilteredAnswers(asked[is_easy][order], answer[is_easy][order], np.zeros(len(order), np.int8))
    links = MissingLinks(asked[hard], answer[hard], missing)
    facts = (train, valid, test, questions.triples(links.question, links.entity))
    fingerprint = fingerprint_of(*facts, questions.triples(known.question, known.entity))
    report = _report(codes, (asked, hard), kept, missing, splits) | {"options": {"ids": ids}}
    categories = categorize(Splits(train, valid, test))
    if ids:
        names = Vocabulary.of([f"e{place}" for place in entities.byte_order.tolist()])
        train, questions = replace(train, entities=names), replace(questions, entities=names)
    qrels = Qrels.of(links.question, links.entity, np.ones(len(missing), np.int32), numbers, questions.entities)
    own = report, entities if ids else None, fingerprint, links
    return Collection(questions, qrels, known, categories, train, *own)


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
    is_known = np.zeros(len(splits.entities), np.bool_)
    for name in SPLITS:
        is_known[getattr(splits, name).head] = is_known[getattr(splits, name).tail] = True
    known = {"e": np.where(is_known[entity], entity, -1).astype(np.int32), "r": relation}
    codes = {}
    for structure, columns in queries.codes.items():
        kinds = letters(STRUCTURES[structure])
        codes[structure] = np.stack([known[kind][own] for kind, own in zip(kinds, columns.T, strict=True)], axis=1)
        if (codes[structure] < 0).any():
            column = int(np.argmax((codes[structure] < 0).any(axis=0)))
            wrong = int(columns[np.argmax(codes[structure][:, column] < 0), column])
            labels, what = (queries.entities, "entities") if kinds[column] == "e" else (queries.relations, "relations")
            hint = nearest(labels[wrong], own) if kinds[column] == "r" else ""
            raise KgtrecError(f"expected {what} of the triples in queries, found {labels[wrong]!r}{hint}")
    return codes


def _with_links(
    queries: Queries, codes: dict[str, NDArray[np.int32]], splits: Splits
) -> tuple[Queries, NDArray[np.int8]]:
    """The queries with their answers, found if they have none; and the missing links of each hard answer."""
    facts, n_relations, n = splits.train.joined(splits.valid, splits.test), len(splits.relations), len(splits.entities)
    is_test = np.tile(np.arange(len(facts)) >= len(facts) - len(splits.test), 2)
    relation = np.append(facts.relation, facts.relation + np.int32(n_relations)).astype(np.int64)
    key, tail = relation * n + np.append(facts.head, facts.tail), np.append(facts.tail, facts.head)
    links, to_find = Links.of(key, tail, is_test, n), len(queries.query) == 0
    found, missing, begin = [], [np.zeros(0, np.uint8)], 0
    for name, own in codes.items():
        known = each_block(STRUCTURES[name], own, links.known()) if to_find else repeat(None)
        for costs, easy in zip(each_block(STRUCTURES[name], own, links), known, strict=to_find):
            if easy is not None:
                query, answer = np.nonzero(np.minimum(costs, easy) < NO_ANSWER)
                is_hard = easy[query, answer] == NO_ANSWER
                found.append((query + begin, answer, is_hard))
                missing.append(costs[query[is_hard], answer[is_hard]])
            else:
                rows = slice(*np.searchsorted(queries.query, [begin, begin + len(costs)]))
                is_hard = queries.is_hard[rows]
                missing.append(costs[queries.query[rows][is_hard] - begin, queries.answer[rows][is_hard]])
            begin += len(costs)
    counts = np.concatenate(missing).astype(np.int8)
    counts[counts == NO_ANSWER] = -1
    for wrong, what in ((-1, "do not follow from the triples"), (0, "follow from train and valid alone")):
        if number := int((counts == wrong).sum()):
            warn(
                f"{number:,} of {len(counts):,} hard answers {what}; name the triples that the queries were made of "
                "(for valid queries TRAIN and VALID)"
            )
    if to_find:
        query, answer, is_hard = (np.concatenate(column) for column in zip(*found, strict=True))
        queries = replace(queries, query=query.astype(np.int32), answer=answer.astype(np.int32), is_hard=is_hard)
    return queries, counts


def _report(
    codes: dict[str, NDArray[np.int32]],
    answers: tuple[NDArray[np.int32], NDArray[np.bool_]],
    kept: NDArray[np.intp],
    missing: NDArray[np.int8],
    splits: Splits,
) -> dict[str, Any]:
    structure = np.repeat(np.arange(len(codes)), [*map(len, codes.values())])
    of_query = structure[kept]
    (asked, is_hard), structures = answers, {}
    of_answer = np.append(of_query, -1)[asked]
    for place, name in enumerate(codes):
        counts = Counter(missing[of_answer[is_hard] == place].tolist())
        structures[name] = {
            "queries": int((of_query == place).sum()),
            "hard": counts.total(),
            "easy": int((of_answer[~is_hard] == place).sum()),
            "missing_links": {str(links) if links >= 0 else "none": counts[links] for links in sorted(counts)},
        }
    return {
        "triples": {name: len(getattr(splits, name)) for name in SPLITS},
        "entities": len(splits.entities),
        "relations": len(splits.relations),
        "structures": {name: own for name, own in structures.items() if own["queries"]},
        "dropped": len(structure) - len(kept),
    }
