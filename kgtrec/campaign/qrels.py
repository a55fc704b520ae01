"""From the settled triples of a pool to qrels, at question level or at triple level, down to any depth of the pool.

People judge triples, and qrels judge entities for questions. Whether a triple is true does not depend on the question
for which it was pooled, so its judgement holds for both its questions. The two levels differ in the questions:

- question level: those that the pool was made for, as in TREC. More judgements, the same topics.
- triple level: those that a positive triple answers, as if it were a test triple. So there are topics without pooled
  triples, with one or a few answers and few judged non-answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgtrec.campaign.machines import is_by_machine
from kgtrec.data.arrow import values_of
from kgtrec.data.campaign import Automatic
from kgtrec.data.collection import Collection, FilteredAnswers
from kgtrec.data.identity import entity_names
from kgtrec.data.judgements import AGREED, STATES, Decisions
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES, Questions, completed_rows, completions
from kgtrec.data.table import Column, Result, Table
from kgtrec.data.triples import SPLITS, Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, require
from kgtrec.kernels.integer_keys import distinct, first_places, is_among
from kgtrec.pooling.summary import triples_of
from kgtrec.pooling.trivial import require_labels, triples_under

LEVELS = ("question", "triple")
_UNSETTLED = {
    "open": "to be judged",
    "conflict": "annotators disagree",
    "doubted": "an annotator is unsure",
    "undecidable": "the adjudicator is unsure",
    "not drawn": "not in the sample",
}


@dataclass(frozen=True, slots=True, eq=False)
class QrelsReport(Result):
    """The judgements, who made them, and how much each depth of the pool added.

    Positives and negatives are counted in triples, each once, even if it is judged for both its questions;
    ``judgements`` are the rows of the qrels.
    """

    level: str  # of LEVELS
    depth: int  # pooled triples down to this depth count
    questions: int
    never_pooled: int  # of them: the pool was not made for them
    pooled_questions: int  # questions that the pool was made for
    nothing_pooled: int  # of these: without pooled triples
    without_positive: int  # of these: without a positive, so that the triple level does not have them
    judgements: int
    positives_from: Mapping[str, int]  # known answers, agreed, adjudicated, a machine
    negatives_from: Mapping[str, int]  # agreed, adjudicated: by people; "rule: NAME": by a rule
    unjudged: Mapping[str, int]  # undecided pooled triples, by what they wait for
    depths: pa.Table  # triples by pool depth: 0 (the known answers), 1, 2, ...

    @property
    def positives(self) -> int:
        """Positive triples, including known answers."""
        return sum(self.positives_from.values())

    @property
    def negatives(self) -> int:
        """Negative triples."""
        return sum(self.negatives_from.values())

    def to_dict(self) -> dict[str, Any]:
        """Convert it to plain numbers, for JSON."""
        counts = "questions never_pooled pooled_questions nothing_pooled without_positive judgements"
        triples = "positives positives_from negatives negatives_from unjudged"
        numbers = {name: getattr(self, name) for name in f"level depth {counts} {triples}".split()}
        return {**numbers, "depths": self.depths.to_pylist()}

    def tables(self) -> tuple[Table, ...]:
        """Make tables of ``sources``, where judgements came from, and ``depths``, what each depth of the pool added."""
        described = (
            f"{self.questions:,} questions, those that were pooled for"
            if self.level == "question"
            else f"{self.questions:,} questions of the positive triples, {self.never_pooled:,} of them never pooled for"
        )
        caption = (
            f"{self.level} level, pool depth {self.depth}\n{described}\n"
            f"{self.pooled_questions:,} questions were pooled for, {self.nothing_pooled:,} of them without any "
            f"candidate; {self.without_positive:,} have no positive\n"
            f"{self.judgements:,} judgements of entities for questions, from these triples:"
        )
        rows = []
        for what, parts in (
            ("positive", self.positives_from),
            ("negative", self.negatives_from),
            ("unjudged", {_UNSETTLED[name]: count for name, count in self.unjudged.items()}),
        ):
            rows.append((what, sum(parts.values()), False))
            rows += [(name, count, True) for name, count in parts.items() if count]
        source, triples, is_part = zip(*rows, strict=True)
        share = np.array(triples) / max(1, sum(count for _, count, part in rows if not part))
        data = pa.table({"source": source, "triples": triples, "share": share, "is_part": is_part})
        columns = (
            Column("source", "triples", parts="is_part"),
            Column("triples", " "),
            Column("share", form="share", digits=1),
        )
        sources = Table("sources", "", caption, data, columns)
        by_depth = (
            Column("depth", names={"0": "seeds"}),
            *map(Column, ("pooled", "judged", "positive")),
            Column("new_positives_down_to", "new down to here"),
            *map(Column, ("negative", "questions")),
        )
        named = self.depths.set_column(0, "depth", self.depths.column("depth").cast(pa.string()))
        return sources, Table("depths", "", "", self.depths, by_depth, view=named)


def question_level(pool: Pool, known_answers: Qrels, decisions: Decisions, depth: int | None = None) -> Qrels:
    """Make qrels of the questions that the pool was made for, with all their judgements so far.

    Each settled triple gives its grade, 1 or 0, to those of its two questions that are among them, even if it was
    pooled for only one. Undecided triples stay unjudged.

    Parameters
    ----------
    pool : Pool
        n triples.
    known_answers : Qrels
        The answers known before, with the vocabularies of the pool's questions.
    decisions : Decisions
        For the n triples; those judged by a rule are N.
    depth : int, ranks, optional
        Only triples whose pool depth, see :attr:`Pool.depth`, is at most this. 0: only the known answers. Default: all.

    Returns
    -------
    Qrels
        With the vocabularies of the pool's questions.

    Raises
    ------
    KgtrecError
        If the depth is negative.
    CollectionError
        If known answers or decisions are of another pool, or a known answer is pooled too.

    References
    ----------
    Voorhees, Harman (2005), TREC: Experiment and Evaluation in Information Retrieval, ch. 3.

    Examples
    --------
    >>> triples = Triples.of([("ann", "likes", "tea"), ("ann", "likes", "jam"), ("bob", "likes", "jam")])
    >>> tail0 = Questions(Vocabulary.of(["tail0"]), np.array([False]), np.array([0]), np.array([0]),
    ...                   triples.entities, triples.relations)
    >>> known_answers = Qrels.of(  # ann likes tea
    ...     np.array([0]), np.array([1]), np.array([1]), tail0.ids, triples.entities
    ... )
    >>> one = np.array([0])
    >>> pool = Pool.of(triples.take(np.array([1])), one, one, one, one + 3, ["mine"], tail0)  # ann likes jam?
    >>> said_no = Decisions(np.array([AGREED]), np.array([0]))
    >>> qrels = question_level(pool, known_answers, said_no)
    >>> qrels.entities.decode(qrels.entity).to_pylist(), qrels.grade.tolist()
    (['tea', 'jam'], [1, 0])
    >>> len(question_level(pool, known_answers, said_no, depth=2))
    1
    """
    settled, grade = _settled(pool, decisions, depth)
    questions, known = pool.questions, _known_triples(pool, known_answers)
    question, entity, row = completed_rows(questions, pool.triples.take(settled))
    answered, answer, _ = completed_rows(questions, known)
    n = np.int64(len(questions.entities))
    # a known answer may be written for only one of its questions, or with a grade above 1
    more = ~is_among(answered * n + answer, known_answers.question * n + known_answers.entity)
    return Qrels.of(
        np.concatenate([known_answers.question, answered[more], question]),
        np.concatenate([known_answers.entity, answer[more], entity]),
        np.concatenate([known_answers.grade, np.ones(np.count_nonzero(more), np.int32), grade[row]]),
        questions.ids,
        questions.entities,
        collection=known_answers.collection,
    )


def triple_level(
    pool: Pool, known_answers: Qrels, decisions: Decisions, depth: int | None = None, *, named: Questions | None = None
) -> tuple[Questions, Qrels]:
    """Make questions of the positive triples, known answers and those judged Y, with all their judgements so far.

    Pooled questions keep their ids. Others are named ``head-new0``, ``tail-new0``, ... by the depth at which they first
    occur, so that a question has one name at all depths of a pool. Pooled questions without a positive are left out.

    Parameters
    ----------
    pool, known_answers, decisions, depth
        As in :func:`question_level`. Triples settled as N have grade 0 for those of their questions that exist.
    named : Questions, optional
        Those of a collection or of a topics file, whose ids are then kept too, with any vocabularies.

    Returns
    -------
    questions : Questions
        Head questions, then tail questions; in both the pooled ones in the order of the pool, then the others.
    qrels : Qrels
        With the vocabularies of these questions.

    Raises
    ------
    KgtrecError, CollectionError
        As :func:`question_level`; or if ``named`` gives the id of a pooled question to another one.

    References
    ----------
    Zhou et al. (2022), SIGIR, section 4.

    Examples
    --------
    >>> triples = Triples.of([("ann", "likes", "tea"), ("ann", "likes", "jam")])
    >>> tail0 = Questions(Vocabulary.of(["tail0"]), np.array([False]), np.array([0]), np.array([0]),
    ...                   triples.entities, triples.relations)
    >>> known_answers = Qrels.of(  # ann likes tea
    ...     np.array([0]), np.array([1]), np.array([1]), tail0.ids, triples.entities
    ... )
    >>> one = np.array([0])
    >>> pool = Pool.of(triples.take(np.array([1])), one, one, one, one + 3, ["mine"], tail0)  # ann likes jam?
    >>> questions, qrels = triple_level(pool, known_answers, Decisions(np.array([AGREED]), np.array([1])))
    >>> list(questions.ids), qrels.entities.decode(qrels.entity).to_pylist()
    (['head-new0', 'head-new1', 'tail0'], ['ann', 'ann', 'tea', 'jam'])
    """
    settled, settled_grade = _settled(pool, decisions, depth)
    known, triples = _known_triples(pool, known_answers), pool.triples.take(settled)
    # known answers first, then by depth and label, so that a new question's number does not depend on the depth
    entity_place, relation_place = triples.entities.byte_order, triples.relations.byte_order
    by_label = entity_place[triples.tail], entity_place[triples.head], relation_place[triples.relation]
    order = np.lexsort((*by_label, pool.depth[settled]))
    positive = known.joined(triples.take(order[settled_grade[order] == 1]))
    questions = _questions_of(positive, pool.questions, named)
    judged = positive.joined(triples.take(settled_grade == 0))
    grade = (np.arange(len(judged)) < len(positive)).astype(np.int32)
    question, entity, row = completed_rows(questions, judged)
    whose = known_answers.collection if named is None else ""
    return questions, Qrels.of(question, entity, grade[row], questions.ids, questions.entities, collection=whose)


def report_qrels(
    pool: Pool,
    known_answers: Qrels,
    automatic: Automatic,
    decisions: Decisions,
    depth: int | None = None,
    *,
    level: str = "question",
) -> QrelsReport:
    """Report the sources of the judgements of :func:`question_level` or :func:`triple_level`, and each depth's part.

    Parameters
    ----------
    pool, known_answers, decisions, depth
        As there.
    automatic : Automatic
        The triples that are N, and by which rule.
    level : {"question", "triple"}
        Whether judgements are counted by question and answer, or by triple.

    Returns
    -------
    QrelsReport

    Raises
    ------
    KgtrecError, CollectionError
        As there.
    """
    if level not in LEVELS:
        raise KgtrecError(f"expected level to be 'question' or 'triple', found {level!r}")
    deepest = deepest_rank(pool) if depth is None else depth
    within = pool.depth <= deepest
    known = triples_of(known_answers, pool.questions)
    positive, negative = (within & (decisions.verdict == verdict) for verdict in (1, 0))
    true = known.joined(pool.triples.take(positive))
    if level == "triple":
        questions, qrels = triple_level(pool, known_answers, decisions, depth)
        pooled = pool.questions.rows(questions.is_head, questions.relation, questions.anchor) >= 0
        question, _, row = completed_rows(questions, true)
        first = np.full(len(questions), deepest)
        np.minimum.at(first, question, np.append(np.zeros(len(known), np.int32), pool.depth[positive])[row])
    else:
        questions, qrels = pool.questions, question_level(pool, known_answers, decisions, depth)
        pooled, first = np.ones(len(questions), np.bool_), np.zeros(len(questions), np.intp)
    n_pooled, n_positive, n_negative = (
        np.bincount(pool.depth[rows], minlength=deepest + 1) for rows in (within, positive, negative)
    )
    depths = {
        "depth": np.arange(deepest + 1),
        "pooled": n_pooled,
        "judged": n_positive + n_negative,
        "positive": n_positive,
        "negative": n_negative,
        "new_positives_down_to": np.cumsum(n_positive),
        "questions": np.cumsum(np.bincount(first, minlength=deepest + 1)),
    }
    for name in ("judged", "positive"):
        depths[name][0] = len(known)
    by_rule = negative & automatic.is_automatic
    answered, _ = completions(pool.questions, true)
    return QrelsReport(
        level=level,
        depth=deepest,
        questions=len(questions),
        never_pooled=int(np.count_nonzero(~pooled)),
        pooled_questions=len(pool.questions),
        nothing_pooled=len(pool.questions) - len(np.unique(pool.question[pool.rank <= deepest])),
        without_positive=len(pool.questions) - len(np.unique(answered)),
        judgements=len(qrels),
        positives_from={"seeds": len(known)} | _by_state(decisions, positive),
        negatives_from=_by_state(decisions, negative & ~by_rule)
        | {
            f"rule: {name}": int(np.count_nonzero(by_rule & (automatic.rule == code)))
            for code, name in enumerate(automatic.rules)
        },
        unjudged={
            name: int(np.count_nonzero(within & (decisions.verdict < 0) & (decisions.state == code)))
            for code, name in enumerate(STATES)
            if name in _UNSETTLED
        },
        depths=pa.table(depths),
    )


def with_judgements(collection: Collection, pool: Pool, decisions: Decisions, depth: int | None = None) -> Collection:
    """Add the settled triples of a pool to a collection's judgements; questions and stamp are unchanged.

    Each settled triple gives its grade to those of its two questions that are in the collection, even if the pool was
    not made for them.

    Parameters
    ----------
    collection : Collection
        To whose judgements the triples are added.
    pool : Pool
        With any vocabularies.
    decisions, depth
        As in :func:`question_level`.

    Returns
    -------
    Collection

    Raises
    ------
    CollectionError
        If an entity or a relation of a settled triple is not in the collection, a settled triple is one of train or
        valid, or the collection's qrels have another grade for it.
    """
    settled, settled_grade = _settled(pool, decisions, depth)
    triples = triples_under(collection, pool.triples.take(settled))
    question, entity, row = completed_rows(collection.questions, triples)
    n = np.int64(len(collection.entities))
    added = question * n + entity
    is_filtered = is_among(added, collection.filtered.question * n + collection.filtered.entity)
    _require_candidates(collection.questions, question, entity, is_filtered)
    own, grade = collection.qrels, settled_grade[row]
    there = own.question * n + own.entity
    _, at_own, at_added = np.intersect1d(there, added, assume_unique=True, return_indices=True)

    def error(row: int) -> CollectionError:
        pair = own.questions[own.question[at_own[row]]], own.entities[own.entity[at_own[row]]]
        return CollectionError(
            f"expected judgements that agree with the collection's qrels, found ({pair[0]}, {pair[1]}) of grade "
            f"{own.grade[at_own[row]]} there and {grade[at_added[row]]} here"
        )

    require((own.grade[at_own] >= 1) == (grade[at_added] >= 1), error)
    new = ~is_among(added, there)
    merged = Qrels.of(
        np.concatenate([own.question, question[new]]),
        np.concatenate([own.entity, entity[new]]),
        np.concatenate([own.grade, grade[new]]),
        own.questions,
        own.entities,
    )
    return replace(collection, qrels=merged)


def of_topics(collection: Collection, questions: Questions, qrels: Qrels, further: Triples | None = None) -> Collection:
    """Make a collection of other questions with the same entities and the filtered triples of a collection.

    Parameters
    ----------
    collection : Collection
        Its train triples and filtered answers are filtered for the new questions too. It has only those valid triples
        that answer one of its own questions; the others can be given.
    questions, qrels
        As given by :func:`triple_level`, with labels that the collection has.
    further : Triples, optional
        Further triples to filter, such as the valid split, with any vocabularies, and with labels of entities also if
        the collection has ids for them. Labels that the collection does not have are ignored.

    Returns
    -------
    Collection
        Answers of the collection that are not in the qrels are filtered, as test triples that were left out.

    Raises
    ------
    CollectionError
        If a question's anchor or relation, or a judged entity, is not in the collection, or an answer is a
        filtered triple.
    """
    entities, relations = collection.entities, collection.relations
    own = Triples(questions.anchor, questions.relation, questions.anchor, questions.entities, questions.relations)
    own = triples_under(collection, own)
    asked = Questions(questions.ids, questions.is_head, own.relation, own.head, entities, relations)
    code = entities.encode(qrels.entities.labels)[qrels.entity]
    require_labels(code, qrels.decoded("entity"), "entity")
    judged = Qrels.of(qrels.question, code, qrels.grade, asked.ids, entities)
    # filtered answers of the collection's own questions are triples, which may answer one of these too
    filtered = collection.questions.triples(collection.filtered.question, collection.filtered.entity)
    parts = [(filtered.take(collection.filtered.split == split), split) for split in range(len(SPLITS))]
    answers = triples_of(collection.qrels, collection.questions)
    parts += [(collection.train, 0), (answers, 2)]
    if further is not None:
        own = further.recoded(entities=entity_names(collection), relations=relations)
        own = own.take((own.head >= 0) & (own.relation >= 0) & (own.tail >= 0))
        parts.append((replace(own, entities=entities), 1))
    n = np.int64(len(entities))
    pairs = judged.question * n + judged.entity
    rows = []
    for triples, split in parts:
        question, entity = completions(asked, triples)
        keys = question * n + entity
        is_judged = is_among(keys, pairs)
        if split < 2:  # a left-out answer that is judged is an answer here
            _require_candidates(asked, question, entity, is_judged)
        rows.append(keys[~is_judged] * len(SPLITS) + split)
    pair, of_split = np.divmod(distinct(np.concatenate(rows)), len(SPLITS))
    question, entity = np.divmod(pair, n)
    everything = FilteredAnswers(question.astype(np.int32), entity.astype(np.int32), of_split.astype(np.int8))
    return Collection(
        asked, judged, everything, collection.categories, collection.train, {}, collection.labels,
        training=collection.training, held=collection.held, candidates=collection.candidates,
    )  # fmt: skip


def deepest_rank(pool: Pool) -> int:
    """Find the greatest pool depth of any triple; 0 for an empty pool."""
    return int(pool.depth.max(initial=0))


def _by_state(decisions: Decisions, rows: NDArray[np.bool_]) -> dict[str, int]:
    """How many of ``rows`` the annotators agreed on, an adjudicator settled, and a machine has filled in, if any."""
    agreed, filled = decisions.state == AGREED, is_by_machine(decisions)
    n_agreed, n_filled, n_others = (int(np.count_nonzero(rows & own)) for own in (agreed, filled, ~agreed & ~filled))
    return {"agreed": n_agreed, "adjudicated": n_others} | ({"machine": n_filled} if n_filled else {})


def _known_triples(pool: Pool, known_answers: Qrels) -> Triples:
    """The triples of the answers known before, none of which is pooled."""
    asked = pool.questions
    if not (known_answers.questions.same_as(asked.ids) and known_answers.entities.same_as(asked.entities)):
        raise CollectionError("expected known answers with the vocabularies of the pool's questions, found other ones")
    known = triples_of(known_answers, asked)
    message = "expected a pool without the answers known before, found {} in both"
    is_pooled = is_among(known.keys(), pool.triples.keys())
    require(~is_pooled, lambda row: CollectionError(message.format(known.labels_at(row))))
    return known


def _require_candidates(
    questions: Questions, question: NDArray[np.int32], entity: NDArray[np.int32], is_filtered: NDArray[np.bool_]
) -> None:
    def error(row: int) -> CollectionError:
        return CollectionError(
            f"expected judgements of candidates only, found ({questions.ids[question[row]]}, "
            f"{questions.entities[entity[row]]}), which is a filtered triple of the collection; was the pool made for "
            "another collection?"
        )

    require(~is_filtered, error)


def _settled(pool: Pool, decisions: Decisions, depth: int | None) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Rows of the triples that have a decision, Y or N, and are within the depth, and their grades."""
    if depth is not None and depth < 0:
        raise KgtrecError(f"expected a depth of 0 or more, found {depth}")
    if len(decisions) != len(pool):
        raise CollectionError(f"expected decisions on the pool's {len(pool):,} triples, found {len(decisions):,}")
    is_within = np.True_ if depth is None else pool.depth <= depth
    rows = np.flatnonzero((decisions.verdict >= 0) & is_within)
    return rows, decisions.verdict[rows].astype(np.int32)


def _questions_of(positive: Triples, pooled: Questions, named: Questions | None) -> Questions:
    """The questions of positive triples, with their ids, or new ones by first appearance."""
    is_head = np.repeat([True, False], len(positive))
    relation = np.tile(positive.relation, 2)
    anchor = np.concatenate([positive.tail, positive.head])
    key = (is_head.astype(np.int64) * len(positive.relations) + relation) * len(positive.entities) + anchor
    first = first_places(key)
    is_head, relation, anchor = is_head[first], relation[first], anchor[first]
    row = pooled.rows(is_head, relation, anchor)
    order = np.lexsort((np.where(row >= 0, row, len(pooled) + np.arange(len(row))), ~is_head))
    is_head, relation, anchor, row = is_head[order], relation[order], anchor[order], row[order]
    ids = pooled.ids.decode(np.maximum(row, 0)) if len(pooled) else pa.nulls(len(row), pa.string())
    ids = pc.if_else(pa.array(row >= 0), ids, pa.scalar(None, pa.string()))
    asked = Questions(Vocabulary.of([]), is_head, relation, anchor, positive.entities, positive.relations)
    if named is not None:
        there = asked.rows_in(named)
        others = pc.if_else(pa.array(there >= 0), named.ids.decode(np.maximum(there, 0)), pa.scalar(None, pa.string()))
        taken = values_of(pc.and_(pc.is_null(ids), pc.fill_null(pc.is_in(others, value_set=pooled.ids.labels), False)))
        if taken.any():
            raise CollectionError(
                f"expected the ids of the pool, found {others[int(np.argmax(taken))].as_py()!r} for a "
                "question of the pool and for another one; use the topics that the pool was made for"
            )
        ids = pc.coalesce(ids, others)
    is_new = values_of(pc.is_null(ids))
    number = np.where(is_head, np.cumsum(is_new & is_head), np.cumsum(is_new & ~is_head)) - 1
    side = pc.if_else(pa.array(is_head), f"{SIDES[0]}-new", f"{SIDES[1]}-new")
    names = pc.coalesce(ids, pc.binary_join_element_wise(side, pc.cast(pa.array(number), pa.string()), ""))
    return replace(asked, ids=Vocabulary.of(names))
