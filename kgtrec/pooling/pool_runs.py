"""From runs to a pool: the triples that people are asked to judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection, require_collection
from kgtrec.data.columns import Columns
from kgtrec.data.identity import entity_names
from kgtrec.data.pair_set import PairSet
from kgtrec.data.pool import Pool, home_questions
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import AnyRun, Run
from kgtrec.data.triples import Triples, label_hashes, triple_keys
from kgtrec.data.vocabulary import Codes, Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, one_of, require, warn, whole_number
from kgtrec.evaluation.belonging import Belonging, of_collection, warn_mixed_runs
from kgtrec.evaluation.given import Runs, each_run, judgements_of
from kgtrec.kernels.integer_keys import begins, distinct, is_among_sorted
from kgtrec.kernels.sampling import fusion
from kgtrec.kernels.sampling.pooling import first_candidates, first_distinct, sampled, stratum_of
from kgtrec.kernels.sampling.random_order import hashed, places_by_key

Cut = Literal["filtered", "raw"]
CUTS: tuple[Cut, ...] = get_args(Cut)
DEFAULT_STRATA = ((10, 1.0), (100, 0.1))
DEFAULT_LEAST = 2  # per question and stratum; one alone gives no estimate of the variance
_ROWS = 1 << 20  # contributions that are looked at together, to bound the memory
_LAST_RANK = int(np.iinfo(np.int32).max)  # the largest rank in a pool; no run is longer


@dataclass(frozen=True, slots=True, eq=False)
class Contributions(Columns):
    """The contributions of the runs, one row per (run, question, entity), in no particular order."""

    run: NDArray[np.int32]  # (c,) index of the run
    question: NDArray[np.int32]  # (c,) row in the collection's questions
    entity: NDArray[np.int32]  # (c,) row in its entities
    rank: NDArray[np.int32]  # (c,) 1-based
    is_open: NDArray[np.bool_]  # (c,) False: filtered or an answer, so that it need not be judged
    score: NDArray[np.float64] | None = None  # (c,) in the run; None if no strategy needs it


@dataclass(frozen=True, slots=True)
class Lists:
    """All contributions to the distinct (question, entity) pairs of a pool, by which a strategy scores the pairs."""

    contributions: Contributions
    pair: NDArray[np.intp]  # (c,) the pair of each contribution
    pair_question: NDArray[np.int32]  # (n_pairs,)
    options: Mapping[str, float]  # k and p

    @property
    def code(self) -> NDArray[np.intp]:
        """(c,) the list of each contribution: of a run for a question."""
        question = self.contributions.question
        key = self.contributions.run.astype(np.int64) * (int(question.max(initial=0)) + 1) + question
        return np.unique(key, return_inverse=True)[1].reshape(-1)

    def fused(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Add up the points of the contributions to each pair, (n_pairs,)."""
        return fusion.fused(self.pair, points, len(self.pair_question))


Rule = Callable[[Lists], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Strategy:
    """One way to choose the triples that people judge; CLI choices, help, docs and tests read it."""

    name: str
    description: str  # one sentence
    source: str  # citation
    depth: int = 100  # default number of ranks
    # (n_pairs,) score of each pair, higher first; None where all down to the depth are taken
    score: Rule | None = None
    parameters: tuple[str, ...] = ()  # of pool_runs, that only this strategy uses
    takes_turns: bool = True  # whether questions take turns to give their best; else the best of all are first
    needs_scores: bool = False  # those of the runs, not their ranks alone
    design: bool = False  # of the whole pool people judge a sample: kgtrec.pooling.designs
    interactive: bool = False  # asks for one judgement at a time: kgtrec.pooling.interactive

    @property
    def needs_budget(self) -> bool:
        """Whether it takes a given number of triples, or all down to the depth."""
        return self.score is not None or self.interactive


def _borda(lists: Lists) -> NDArray[np.int64]:
    code, candidates = lists.code, np.bincount(lists.pair_question)
    return lists.fused(
        fusion.borda_points(lists.contributions.rank, np.bincount(code)[code], candidates[lists.contributions.question])
    )


_STRATEGIES = (
    Strategy(
        "depth", "All candidates down to a depth, of every run and question.", "Zhou et al. 2022, section 4", depth=10
    ),
    Strategy(
        "take",
        "A budget of triples, those of the lowest rank first; by question, if wanted.",
        "Cormack, Palmer, Clarke 1998",
        score=lambda lists: fusion.least_rank(lists.contributions.rank, lists.pair, len(lists.pair_question)),
        parameters=("by_question",),
        takes_turns=False,
    ),
    Strategy(
        "rrf",
        "A budget of triples, by the sum of 1 / (k + rank) over the runs.",
        "Cormack, Clarke, Buettcher 2009",
        score=lambda lists: lists.fused(fusion.reciprocal_rank_points(lists.contributions.rank, lists.options["k"])),
        parameters=("k",),
    ),
    Strategy(
        "borda", "A budget of triples, by the sum of Borda points over the runs.", "Aslam, Montague 2001", score=_borda
    ),
    Strategy(
        "combsum",
        "A budget of triples, by the sum of the scores, scaled to 0..1 in each list.",
        "Fox, Shaw 1994; Lee 1997",
        score=lambda lists: lists.fused(fusion.min_max_points(np.asarray(lists.contributions.score), lists.code)),
        needs_scores=True,
    ),
    Strategy(
        "rbp",
        "A budget of triples, by the sum of the weights that rank-biased precision gives the ranks.",
        "Moffat, Webber, Zobel 2007, method A",
        score=lambda lists: lists.fused(fusion.rank_biased_points(lists.contributions.rank, lists.options["p"])),
        parameters=("p",),
    ),
    Strategy(
        "stratified",
        "A random sample of each question's strata of ranks, with known probabilities.",
        "Yilmaz, Kanoulas, Aslam 2008",
        parameters=("strata", "least"),
    ),
    Strategy(
        "two-level",
        "A share of the depth pool: some triples in some questions, those that matter most likely, for estimates.",
        "Cochran 1977, chapter 10",
        depth=10,
        parameters=("share",),
        design=True,
    ),
    Strategy(
        "whole-questions",
        "A share of the depth pool: all triples of some questions, for estimates.",
        "Cochran 1977, chapter 7",
        depth=10,
        parameters=("share",),
        design=True,
    ),
    Strategy(
        "mtf",
        "A budget of triples, asked for one at a time: the run that last found an answer goes on.",
        "Cormack, Palmer, Clarke 1998",
        interactive=True,
    ),
    Strategy(
        "thompson",
        "A budget of triples, asked for one at a time: the run of the best random draw goes on.",
        "Losada, Parapar, Barreiro 2016",
        interactive=True,
    ),
    Strategy(
        "max-mean",
        "A budget of triples, asked for one at a time: the run with the best record goes on.",
        "Losada, Parapar, Barreiro 2016",
        interactive=True,
    ),
    Strategy(
        "first-yes",
        "Triples asked for one at a time, of each list down to its first answer: enough for macro.MRR.",
        "exact for macro.MRR by its definition",
        interactive=True,
    ),
)
STRATEGIES: dict[str, Strategy] = {strategy.name: strategy for strategy in _STRATEGIES}


def strategy_of(name: str) -> Strategy:
    """Look up a strategy.

    Raises
    ------
    KgtrecError
        If there is none.
    """
    one_of("a strategy of", name, STRATEGIES)
    return STRATEGIES[name]


def pool_runs(
    collection: Collection,
    runs: Runs,
    *,
    strategy: str = "depth",
    depth: int | None = None,
    budget: int | None = None,
    cut: Cut = "filtered",
    questions: NDArray[np.int32] | None = None,
    known_answers: Any = None,
    seed: int = 0,
    by_question: bool = False,
    k: float = 60,
    p: float = 0.8,
    strata: Sequence[tuple[int, float]] = DEFAULT_STRATA,
    least: int = DEFAULT_LEAST,
    progress: Callable[[int], None] | None = None,
) -> Pool:
    """Choose the triples to be judged, and note which run contributed each at which rank.

    Every run is ranked by score, equal scores by a hash of seed, question and entity label, so that a pool depends
    neither on the order of runs or lines nor on the order of entities. Filtered triples are never included, and neither
    are the answers, which are judged already; but answers keep their rank.

    Parameters
    ----------
    collection : Collection
        The questions, their answers, and what is filtered.
    runs : Run, path, DataFrame or mapping, or several of them
        As for :func:`kgtrec.evaluate`, with different names; read one at a time, and only contributions are kept.
    strategy : {"depth", "take", "rrf", "borda", "combsum", "rbp", "stratified"}
        See ``STRATEGIES``. With a budget, each question's candidates are ordered by the strategy's score, the questions
        take turns, and the first distinct triples are pooled; ``take`` goes down the ranks of all questions together
        instead. The interactive strategies need judgements: see :mod:`kgtrec.pooling.interactive`.
    depth : int, optional
        Last rank that is used. Default: 10 for ``depth``, 100 for others.
    budget : int, optional
        How many triples; for the strategies that need it.
    cut : {"filtered", "raw"}
        Whether filtered triples are removed from the lists before ranks are given, or only afterwards: Zhou et al.
        (2022) did the latter, which leaves few or no triples for questions where the runs reproduce their training
        data well.
    questions : (n,) int array, optional
        Rows of the collection's questions that are pooled for. Default: all.
    known_answers : Qrels, optional
        The answers known before, or what :func:`kgtrec.evaluate` takes as qrels. Default: those of the collection. If
        these are only some of them, the others count as filtered triples.
    seed : int
        Random seed of the order of ties, of the turns of questions and of samples.
    by_question : bool
        For ``take``: the questions take turns, so that one with few candidates of low rank gives as many as others.
    k : float
        For reciprocal rank fusion.
    p : float
        For rank-biased precision.
    strata : sequence of (last rank, fraction)
        For ``stratified``: the share of each question's triples whose lowest rank is in the stratum that is sampled. A
        triple of two questions is sampled with the one where its rank is lowest.
    least : int
        For ``stratified``: the lowest number of triples to sample from each question and stratum.
    progress : function, optional
        Called with 1 after each run.

    Returns
    -------
    Pool

    Raises
    ------
    KgtrecError
        If an option is invalid, there is no run, or two have one name.
    CollectionError
        If a run has no question or no entity in common with the collection.

    Warns
    -----
    KgtrecWarning
        If a run has some questions or entities that the collection lacks; they are left out. With a raw cut, if some
        runs list filtered triples down to the depth and others none.

    See Also
    --------
    kgtrec.pooling.asking : Choose one triple after the other, by the verdicts so far.
    kgtrec.pooling.draw_design : Judge a sample of a pool.

    References
    ----------
    Zhou et al. (2022), SIGIR, section 4, for pools of triples; ``STRATEGIES`` names the others.

    Examples
    --------
    >>> from kgtrec.collection.questions import build_questions
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam"), ("cid", "likes", "tea")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> list(collection.questions.ids), list(collection.entities)
    (['head0', 'tail0'], ['ann', 'tea', 'bob', 'jam', 'cid'])
    >>> import pandas as pd
    >>> rows = {"query_id": ["tail0"] * 3, "doc_id": ["tea", "jam", "cid"], "score": [3.0, 2.0, 1.0]}
    >>> pool = pool_runs(collection, [Run.from_frame(pd.DataFrame(rows), "mine")])
    >>> [(collection.entities[entity], rank) for entity, rank in zip(pool.entity, pool.rank.tolist())]
    [('cid', 2)]
    """
    require_collection(collection)
    chosen = strategy_of(strategy)
    if chosen.interactive:
        raise KgtrecError(f"strategy {strategy} asks for judgements one at a time: see kgtrec.pooling.interactive")
    if chosen.design:
        raise KgtrecError(f"strategy {strategy} draws from a depth pool after rules have judged: see draw_design")
    depth = _require_options(chosen, depth, budget, cut, k, p, seed)
    strata = tuple((int(last), float(fraction)) for last, fraction in strata)
    if strategy == "stratified":
        depth = _require_strata(strata)
        least = whole_number("least", least, 1)
    rows = _require_rows(questions, len(collection.questions))
    candidates = _candidates(collection, rows, _answers_of(collection, known_answers))
    names, contributions = _contributions_of(runs, candidates, chosen, depth, cut, seed, progress)
    if strategy == "stratified":
        contributions, probability = _sample(candidates, contributions, strata, least, seed)
        return _pool(candidates, names, contributions, probability, tuple(last for last, _ in strata))
    if chosen.score is not None:
        takes_turns, options = chosen.takes_turns or by_question, {"k": k, "p": p}
        kept = _first_triples(candidates, contributions, chosen.score, options, seed, int(budget or 0), takes_turns)
        is_kept = contributions.is_open.copy()
        for first in range(0, len(contributions), _ROWS):
            some = slice(first, first + _ROWS)
            triples = collection.questions.triples(contributions.question[some], contributions.entity[some])
            is_kept[some] &= is_among_sorted(triples.keys(), kept)
        contributions = contributions.take(is_kept)
    return _pool(candidates, names, contributions)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Which candidates of the collection's questions are open, and the hashes of their labels."""

    collection: Collection
    rows: NDArray[np.int32]  # (n,) the questions pooled for, ascending
    filtered: PairSet  # pairs that are not candidates
    answers: NDArray[np.int64]  # (m,) keys of the triples that are answers, ascending
    question_hash: NDArray[np.uint64]  # (questions,) of the labels
    entity_hash: NDArray[np.uint64]  # (entities,)


def _pool(
    candidates: Candidates,
    names: tuple[str, ...],
    chosen: Contributions,
    probability: NDArray[np.float64] | None = None,
    strata: tuple[int, ...] = (),
) -> Pool:
    """The pool of some contributions; ``probability`` of each of them, all 1 by default."""
    asked = candidates.collection.questions
    every = asked.triples(chosen.question, chosen.entity)
    # by relation, then head, then tail, which is the order of a pool
    n_entities = len(asked.entities)
    key = (every.relation.astype(np.int64) * n_entities + every.head) * n_entities + every.tail
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    is_first = np.ones(len(order), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    triple = (np.cumsum(is_first) - 1).astype(np.int32)
    first = order[is_first]
    row_of = np.full(len(asked), -1, np.int32)
    row_of[candidates.rows] = np.arange(len(candidates.rows), dtype=np.int32)
    return Pool.of(
        every.take(first),
        triple,
        row_of[chosen.question[order]],
        chosen.run[order],
        chosen.rank[order],
        names,
        asked.take(candidates.rows),
        None if probability is None else probability[first],
        strata,
    )


def _contributions_of(
    runs: Runs,
    candidates: Candidates,
    strategy: Strategy,
    depth: int,
    cut: Cut,
    seed: int,
    progress: Callable[[int], None] | None,
) -> tuple[tuple[str, ...], Contributions]:
    """The names of the runs, in byte order, and the contributions of each down to ``depth``.

    Filtered triples and answers are left out, or marked where the strategy scores whole lists.
    """
    collection, keep_scores = candidates.collection, strategy.needs_scores
    filtered = PairSet(collection.filtered.question, collection.filtered.entity, len(collection.entities))
    filtered_listed: dict[str, int] = {}
    belongs = Belonging(collection)
    names: list[str] = []
    parts: list[Contributions] = []
    for run in each_run(runs):
        if run.name in names:
            raise KgtrecError(f"expected runs of different names, found {run.name!r} more than once; rename one")
        names.append(run.name)
        belongs.check_collection(run)
        if cut == "raw":
            belongs.check_filter(run)
        part = _CodedRun(run, collection).contributions(candidates, depth, cut, seed)
        if cut == "raw":
            filtered_listed[run.name] = int(filtered.holds(part.question, part.entity).sum())
        if not keep_scores:
            part = replace(part, score=None)
        parts.append(part.take(part.is_open) if strategy.score is None else part)
        if progress is not None:
            progress(1)
    if not names:
        raise KgtrecError("expected at least one run, found none")
    warn_mixed_runs(filtered_listed)
    ordered = sorted(range(len(names)), key=lambda run: names[run].encode())
    sizes = [len(parts[run]) for run in ordered]
    joined = ["question", "entity", "rank", "is_open", *["score"] * keep_scores]
    by_column = {name: [getattr(parts[run], name) for run in ordered] for name in joined}
    parts.clear()  # each column is freed once it is joined
    columns: dict[str, Any] = {name: np.concatenate(by_column.pop(name)) for name in joined}
    columns["run"] = np.repeat(np.arange(len(names), dtype=np.int32), sizes)
    return tuple(names[run] for run in ordered), Contributions(**columns)


class _CodedRun:
    """A run whose labels have the codes of a collection, -1 where that lacks them."""

    def __init__(self, run: AnyRun, collection: Collection) -> None:
        self._run = run
        self._question = _codes(run, run.questions, collection.questions.ids, "question", "questions")
        self._entity = _codes(run, run.entities, collection.entities, "entity", "entities")

    def contributions(self, candidates: Candidates, depth: int, cut: Cut, seed: int) -> Contributions:
        """The first candidates for the questions pooled for; their ``run`` is 0."""
        parts = (self._contributions_in(part, candidates, depth, cut, seed) for part in self._run.parts())
        return next(parts).joined(*parts)

    def _contributions_in(self, run: Run, candidates: Candidates, depth: int, cut: Cut, seed: int) -> Contributions:
        is_asked = np.zeros(len(candidates.collection.questions) + 1, np.bool_)
        is_asked[candidates.rows] = True  # the last element is that of code -1
        first = np.flatnonzero(begins(run.question))
        length = np.diff(np.append(first, len(run)))
        kept = is_asked[self._question[run.question[first]]]

        def pairs(row: NDArray[np.intp]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
            return self._question[run.question[row]], self._entity[run.entity[row]]

        def left_out(row: NDArray[np.intp]) -> NDArray[np.bool_]:
            question, entity = pairs(row)
            unknown = entity < 0
            return unknown if cut == "raw" else unknown | candidates.filtered.holds(question, entity)

        def key(row: NDArray[np.intp]) -> NDArray[np.uint64]:
            question, entity = pairs(row)
            return hashed(seed, candidates.question_hash[question], candidates.entity_hash[entity])

        row, rank = first_candidates(first[kept], length[kept], run.score, depth, left_out, key)
        question, entity = pairs(row)
        triples = candidates.collection.questions.triples(question, entity)
        is_open = ~is_among_sorted(triples.keys(), candidates.answers)
        if cut == "raw":
            is_open &= ~candidates.filtered.holds(question, entity)
        return Contributions(np.zeros(len(row), np.int32), question, entity, rank, is_open, run.score[row])


def _codes(run: AnyRun, own: Vocabulary, others: Vocabulary, one: str, many: str) -> Codes:
    """Codes of a run's labels in the collection, -1 where it lacks them."""
    code = others.codes_of(own)
    missing = np.flatnonzero(code < 0)
    if len(missing) == len(own) and len(own):
        raise CollectionError(
            f"{run.name} has no {one} of the collection (its first is {own[0]!r}, the collection's "
            f"{others[0]!r}): they are of different collections"
        )
    if len(missing):
        shown = ", ".join(own[row] for row in missing[:3].tolist()) + (", ..." if len(missing) > 3 else "")
        warn(
            f"{run.name}: {len(missing)} of its {len(own)} {many} are not in the collection and are left out ({shown})"
        )
    return code


def _candidates(collection: Collection, rows: NDArray[np.int32], known_answers: Qrels) -> Candidates:
    asked, qrels, filtered = collection.questions, collection.qrels, collection.filtered
    n_entities = len(asked.entities)
    answer, own = qrels.grade >= 1, known_answers.grade >= 1
    known_pairs = PairSet(known_answers.question[own], known_answers.entity[own], n_entities)
    # other answers than the known answers are positive too, though not from this campaign: they are filtered
    others = answer & ~known_pairs.holds(qrels.question, qrels.entity)
    pairs = PairSet(
        np.concatenate([filtered.question, qrels.question[others]]),
        np.concatenate([filtered.entity, qrels.entity[others]]),
        n_entities,
    )
    answers = asked.triples(
        np.concatenate([qrels.question[answer], known_answers.question[own]]),
        np.concatenate([qrels.entity[answer], known_answers.entity[own]]),
    )
    hashes = label_hashes(asked.ids), label_hashes(asked.entities)
    return Candidates(collection, rows, pairs, distinct(answers.keys()), *hashes)


def _answers_of(collection: Collection, known_answers: Any) -> Qrels:
    """The answers known before, in the collection's terms; those of its qrels if none are given."""
    if known_answers is None:
        return collection.qrels
    qrels = of_collection(judgements_of(known_answers), collection)
    ids, entities = collection.questions.ids, collection.entities
    if qrels.questions.same_as(ids) and qrels.entities.same_as(entities):
        return qrels
    own = qrels.recoded(questions=ids, entities=entities)

    def error(row: int) -> KgtrecError:
        pair = qrels.questions[qrels.question[row]], qrels.entities[qrels.entity[row]]
        return KgtrecError(f"expected known answers of the collection's questions, found ({pair[0]}, {pair[1]})")

    require((own.question >= 0) & (own.entity >= 0), error)
    return Qrels.of(own.question, own.entity, own.grade, ids, entities)


def known_answers_of(pool: Pool, collection: Collection, known_answers: Any = None) -> Qrels:
    """Find the answers known before the campaign, for the pool's questions and with their ids.

    Parameters
    ----------
    pool : Pool
    collection : Collection
        For which the pool was made.
    known_answers : Qrels, optional
        As given to :func:`pool_runs`.
    """
    known_answers = _answers_of(collection, known_answers)
    row = pool.questions.ids.encode(collection.questions.ids.labels)[known_answers.question]
    kept = (row >= 0) & (known_answers.grade >= 1)
    return Qrels.of(
        row[kept], known_answers.entity[kept], known_answers.grade[kept], pool.questions.ids, pool.questions.entities
    )


def known_answers_of_triples(collection: Collection, triples: Triples) -> tuple[NDArray[np.int32], Qrels]:
    """Find the questions that some triples answer, and make qrels of these answers: the input of a pool for them.

    Parameters
    ----------
    collection : Collection
        With the questions that the triples may answer.
    triples : Triples
        May be repeated, with any vocabularies, and with labels of entities also if the collection has ids for them.

    Returns
    -------
    questions : (n,) int array
        Rows of the collection's questions, ascending.
    known_answers : Qrels
        With the collection's vocabularies, every grade 1.

    Raises
    ------
    CollectionError
        If a triple's head or tail question is not in the collection.
    """
    asked = collection.questions
    names = asked.entities if triples.entities is asked.entities else entity_names(collection)
    own = triples.recoded(entities=names, relations=asked.relations)
    sides = np.array([[True], [False]]).repeat(len(own), axis=1).ravel()
    row = asked.rows(sides, np.tile(own.relation, 2), np.concatenate([own.tail, own.head]))
    unknown = (row.reshape(2, -1) < 0).any(axis=0)
    if unknown.any():
        raise CollectionError(
            "expected known answers whose head and tail questions are the collection's, found "
            f"{' '.join(triples.labels_at(int(unknown.argmax())))!r} and {unknown.sum() - 1} more; build the "
            "collection with them among its test triples"
        )
    pair = distinct(row * len(asked.entities) + np.concatenate([own.head, own.tail]))
    question, answer = (part.astype(np.int32) for part in np.divmod(pair, len(asked.entities)))
    known_answers = Qrels.of(question, answer, np.ones(len(pair), np.int32), asked.ids, asked.entities)
    return np.unique(question), known_answers


def _first_triples(
    candidates: Candidates,
    contributions: Contributions,
    rule: Rule,
    options: Mapping[str, float],
    seed: int,
    budget: int,
    takes_turns: bool,
) -> NDArray[np.int64]:
    """Keys of the first ``budget`` distinct triples, ascending: the best of all, or of each question in turn.

    Some questions at a time are scored, and of their open pairs only those are kept that can be among the first: a
    triple belongs to two questions, so that twice as many pairs as triples are enough.
    """
    asked, n_entities = candidates.collection.questions, len(candidates.collection.entities)
    turn = np.argsort(np.argsort(hashed(seed, candidates.question_hash), kind="stable")).astype(np.uint64)
    none = np.empty(0, np.int64)
    parts: list[tuple[NDArray[Any], ...]] = [(none.astype(np.uint64), none, none)]  # two keys of order, and the triple

    def joined() -> tuple[NDArray[Any], ...]:
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        row = np.lexsort(columns[:2])[: 2 * budget]
        return tuple(column[row] for column in columns)

    part_of = (np.cumsum(np.bincount(contributions.question)) // _ROWS).astype(np.int32)[contributions.question]
    for number in np.unique(part_of):  # some questions at a time
        some = contributions.take(np.flatnonzero(part_of == number))
        key = some.question.astype(np.int64) * n_entities + some.entity
        every, first, pair = np.unique(key, return_index=True, return_inverse=True)
        score = rule(Lists(some, pair.reshape(-1), some.question[first], options))
        is_open = some.is_open[first]
        question, entity = (part.astype(np.int32) for part in np.divmod(every[is_open], n_entities))
        tie = hashed(seed, candidates.question_hash[question], candidates.entity_hash[entity])
        major, minor = -score[is_open], tie
        if takes_turns:
            row = np.lexsort((minor, major, question))
            question, entity = question[row], entity[row]
            major, minor = places_by_key(question, np.arange(len(question), dtype=np.uint64)), turn[question]
        parts.append((minor, major, asked.triples(question, entity).keys()))
        if sum(len(part[0]) for part in parts) > 4 * budget:
            parts = [joined()]
    return first_distinct(joined()[2], budget)


def _sample(
    candidates: Candidates, contributions: Contributions, strata: tuple[tuple[int, float], ...], least: int, seed: int
) -> tuple[Contributions, NDArray[np.float64]]:
    """The contributions to a stratified sample of the triples, and each one's probability."""
    asked = candidates.collection.questions
    every = asked.triples(contributions.question, contributions.entity)
    _, first, triple = np.unique(every.keys(), return_index=True, return_inverse=True)
    depth = np.full(len(first), np.iinfo(np.int32).max, np.int32)
    np.minimum.at(depth, triple, contributions.rank)
    bounds, fractions = zip(*strata, strict=True)
    home = home_questions(triple, contributions.question, contributions.rank, asked)
    cell = home.astype(np.int64) * len(strata) + stratum_of(depth, bounds)
    cells, stratum = np.unique(cell, return_inverse=True)
    share = np.array(fractions)[cells % len(strata)]
    is_in, probability = sampled(stratum.reshape(-1), share, least, triple_keys(every.take(first), seed))
    kept = is_in[triple]
    return contributions.take(kept), probability[triple[kept]]


def _require_options(
    strategy: Strategy, depth: int | None, budget: int | None, cut: str, k: float, p: float, seed: int
) -> int:
    """The depth, after a check of all options."""
    one_of("cut to be one of", cut, CUTS)
    depth = strategy.depth if depth is None else depth
    depth = whole_number("depth", depth, 1)
    if strategy.needs_budget:
        if budget is None:
            raise KgtrecError(f"strategy {strategy.name} needs a budget: how many triples to pool")
        whole_number("budget", budget, 1)
    elif budget is not None:
        others = ", ".join(other.name for other in STRATEGIES.values() if other.needs_budget)
        raise KgtrecError(f"strategy {strategy.name} takes no budget; the ones that do are {others}")
    if not 0 <= k < np.inf:
        raise KgtrecError(f"expected k of reciprocal rank fusion to be 0 or more, found {k}")
    if not 0 <= p < 1:
        raise KgtrecError(f"expected p of rank-biased precision from 0 to below 1, found {p}")
    whole_number("seed", seed, least=None)
    return min(depth, _LAST_RANK)


def _require_strata(strata: tuple[tuple[int, float], ...]) -> int:
    """The last rank of the last stratum."""
    lasts = [last for last, _ in strata]
    if not strata or lasts[0] < 1 or any(later <= last for last, later in pairwise(lasts)):
        raise KgtrecError(f"expected strata that end at ever greater ranks from 1 on, found {lasts}")
    if lasts[-1] > _LAST_RANK:
        raise KgtrecError(f"expected strata that end at rank {_LAST_RANK} at most, found {lasts}")
    for last, fraction in strata:
        if not 0 < fraction <= 1:
            raise KgtrecError(
                f"expected a fraction above 0 and up to 1 of the stratum to rank {last}, found {fraction}"
            )
    return lasts[-1]


def _require_rows(questions: NDArray[np.int32] | None, n: int) -> NDArray[np.int32]:
    if questions is None:
        return np.arange(n, dtype=np.int32)
    rows = np.asarray(questions)
    if not np.issubdtype(rows.dtype, np.integer) or rows.ndim != 1 or not len(rows):
        raise KgtrecError(
            f"expected rows of questions, at least one, found an array of {rows.dtype}, shape {rows.shape}"
        )
    if rows.min() < 0 or rows.max() >= n:
        raise KgtrecError(f"expected rows of questions in 0 to {n - 1}, found {rows.min()} to {rows.max()}")
    return distinct(rows.astype(np.int64)).astype(np.int32)
