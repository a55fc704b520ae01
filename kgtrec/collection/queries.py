"""Complex queries and triples -> a test collection whose questions are the queries."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.collection.questions import categorize, require_labels
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
    answered = replace(
        queries,
        anchors=np.append(code, np.int32(-1))[queries.anchors],
        answer=code[queries.answer],
        entities=Vocabulary(pa.array([f"e{place}" for place in entities.byte_order.tolist()])) if ids else entities,
    )
    hops = _relations(queries, splits)[queries.hops]
    _require_anchors(answered, splits)
    answered, missing = _with_links(answered, hops, splits)
    hard = answered.is_hard
    kept = np.flatnonzero(np.bincount(answered.query[hard], minlength=len(answered)))
    if len(kept) == 0:
        raise KgtrecError("expected at least one query with a hard answer, which needs test triples, found none")
    row = np.full(len(answered), -1, np.int32)
    row[kept] = np.arange(len(kept), dtype=np.int32)
    labels = Vocabulary.of(answered.labels().take(pa.array(kept)))
    relations = splits.relations.extended(labels.labels)
    train, valid, test = (replace(getattr(splits, name), relations=relations) for name in SPLITS)
    numbers = pa.array([f"tail{number}" for number in range(len(kept))], pa.string())
    questions = Questions(
        Vocabulary(numbers), np.zeros(len(kept), np.bool_), relations.encode(labels.labels), answered.anchors[kept, 0],
        entities, relations,
    )  # fmt: skip
    asked, answer = row[answered.query], answered.answer
    is_easy = ~hard & (asked >= 0)
    order = np.lexsort((answer[is_easy], asked[is_easy]))
    known = FilteredAnswers(asked[is_easy][order], answer[is_easy][order], np.zeros(len(order), np.int8))
    links = MissingLinks(asked[hard], answer[hard], missing)
    facts = (train, valid, test, questions.triples(links.question, links.entity))
    fingerprint = fingerprint_of(*facts, questions.triples(known.question, known.entity))
    named = answered.entities
    qrels = Qrels.of(links.question, links.entity, np.ones(len(missing), np.int32), questions.ids, named)
    report = _report(answered, kept, missing, splits) | {"options": {"ids": ids}}
    train, questions = replace(train, entities=named), replace(questions, entities=named)
    categories = categorize(Splits(train, *(replace(each, entities=named) for each in (valid, test))))
    own = report, entities if ids else None, fingerprint, links
    return Collection(questions, qrels, known, categories, train, *own)


def _relations(queries: Queries, splits: Splits) -> NDArray[np.int32]:
    """(relations of the queries + 1,) each one's code among the triples, plus their number if it is read backwards."""
    own = splits.relations
    code = own.encode(queries.relations.labels)
    for place in np.flatnonzero(code < 0):
        label = queries.relations[place]
        forwards = int(own.encode([label[1:]])[0]) if label.startswith("-") else -1
        if forwards < 0:
            raise KgtrecError(f"expected relations of the triples in queries, found {label!r}{nearest(label, own)}")
        code[place] = forwards + len(own)
    return np.append(code, np.int32(-1))


def _require_anchors(queries: Queries, splits: Splits) -> None:
    is_known = np.zeros(len(queries.entities) + 1, np.bool_)
    is_known[-1] = True
    for name in SPLITS:
        is_known[getattr(splits, name).head] = is_known[getattr(splits, name).tail] = True
    if len(wrong := queries.anchors[~is_known[queries.anchors]]):
        label = splits.entities[int(wrong[0])]
        raise KgtrecError(f"expected entities of the triples as anchors of queries, found {label!r}")


def _with_links(queries: Queries, hops: NDArray[np.int32], splits: Splits) -> tuple[Queries, NDArray[np.int8]]:
    """The queries with their answers, found if they have none; and the missing links of each hard answer."""
    facts = splits.train.joined(splits.valid, splits.test)
    is_test = np.arange(len(facts)) >= len(facts) - len(splits.test)
    backwards = facts.relation + np.int32(len(splits.relations))
    links = Links.of(
        np.append(facts.head, facts.tail), np.append(facts.relation, backwards), np.append(facts.tail, facts.head),
        np.append(is_test, is_test), len(splits.entities),
    )  # fmt: skip
    to_find = len(queries.query) == 0
    found: list[tuple[NDArray[Any], ...]] = []
    missing = []
    for name, rows in queries.by_structure():
        shape = STRUCTURES[name]
        asked = queries.anchors[rows, : letters(shape).count("e")], hops[rows, : letters(shape).count("r")]
        blocks = each_block(shape, *asked, links)
        known = each_block(shape, *asked, links.known()) if to_find else None
        for first, costs in blocks:
            begin = int(rows[0]) + first
            if known is not None:
                is_easy = next(known)[1] < NO_ANSWER
                query, answer = np.nonzero((costs < NO_ANSWER) | is_easy)
                is_hard = ~is_easy[query, answer]
                found.append((query + begin, answer, is_hard))
                count = costs[query[is_hard], answer[is_hard]]
            else:
                own = slice(*np.searchsorted(queries.query, [begin, begin + len(costs)]))
                hard = queries.is_hard[own]
                count = costs[queries.query[own][hard] - begin, queries.answer[own][hard]]
            missing.append(np.where(count < NO_ANSWER, count, 255).astype(np.int8))
    counts = np.concatenate(missing)
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


def _report(queries: Queries, kept: NDArray[np.intp], missing: NDArray[np.int8], splits: Splits) -> dict[str, Any]:
    structures = {}
    of_hard = queries.query[queries.is_hard]
    for name, rows in queries.by_structure():
        own = rows[np.isin(rows, kept)]
        if len(own) == 0:
            continue
        counts = Counter(missing[np.isin(of_hard, own)].tolist())
        structures[name] = {
            "queries": len(own),
            "hard": counts.total(),
            "easy": int(np.isin(queries.query[~queries.is_hard], own).sum()),
            "missing_links": {str(links) if links >= 0 else "none": counts[links] for links in sorted(counts)},
        }
    return {
        "triples": {name: len(getattr(splits, name)) for name in SPLITS},
        "entities": len(splits.entities),
        "relations": len(splits.relations),
        "structures": structures,
        "dropped": len(queries) - len(kept),
    }
