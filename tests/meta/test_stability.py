from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning, MeasureError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.scoring import UNLISTED_ANSWERS
from kgtrec.measures.registry import registered
from kgtrec.meta.stability import SIZES, stability, subsample
from kgtrec.ranking.rank import Ranked, rank_scores
from tests.examples import examples
from tests.worlds import World

MICRO, MACRO, BINARY = (
    names.split()
    for names in (
        "micro.MR micro.MRR micro.Hits@2 micro.GMR micro.HMR micro.MedianRank micro.AMRI micro.ZMRR micro.AHits@1 "
        "micro.WMR pykeen.macro.MRR",
        "macro.MR macro.MRR macro.Hits@2 AP AP@2 nDCG nDCG@3 P@2 R@2 Rprec Bpref infAP RBP(rel=1) IPrec@0.5 Judged@3 "
        "gm_map NumRel G binG unj@2 SetP AP(judged_only=True)",
        "AAP AnDCG@3 macro.AMRR macro.ZHits@1",
    )
)


@dataclass(frozen=True)
class Named(World):
    """A world of a collection's questions and entities."""

    collection: Collection = None  # type: ignore[assignment]

    @property
    def questions(self) -> Vocabulary:
        return self.collection.questions.ids

    @property
    def entities(self) -> Vocabulary:
        return self.collection.entities

    def without(self, discarded: set[tuple[int, int]], *, stay: bool) -> Named:
        """The world in which some answers are none: candidates that stay in the list, or nothing."""
        every = range(len(self.scores))
        answers = [{e for e in self.answers[q] if (q, e) not in discarded} for q in every]
        filtered = self.filtered if stay else [self.filtered[q] | {e for p, e in discarded if p == q} for q in every]
        grades = {pair: grade for pair, grade in self.grades.items() if pair not in discarded}
        return replace(self, answers=answers, filtered=filtered, grades=grades)

    @property
    def complete(self) -> Named:
        """The world whose systems were ranked when all that is relevant now was known."""
        every = range(len(self.scores))
        found = [{e for (p, e), grade in self.grades.items() if p == q and grade >= 1} for q in every]
        return replace(self, answers=[self.answers[q] | found[q] for q in every])


def named_worlds(*, graded: bool = False) -> st.SearchStrategy[list[Named]]:
    """Three systems with many ties on the questions of a few triples; ``graded``: the qrels are not the answers."""
    return st.integers(0, 2**20).map(lambda seed: made(seed, graded=graded))


def made(seed: int, *, graded: bool) -> list[Named]:
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(2, 11))
    rows = {("abcdef"[a], "rs"[b], "abcdef"[c]) for a, b, c in rng.integers(0, [6, 2, 6], (n_rows, 3)).tolist()}
    train = [(label, "r", label) for label in "abcdef"] + [("a", "s", "b")]
    test = [row for row in sorted(rows) if row not in train] or [("b", "s", "a")]
    collection = build_questions(Triples.of(train), Triples.of([]), Triples.of(test))
    n_questions, n_entities = len(collection.questions), len(collection.entities)
    every = range(n_questions)
    filtered = [set(collection.filtered.entity[collection.filtered.question == q].tolist()) for q in every]
    answers = [set(collection.qrels.entity[collection.qrels.question == q].tolist()) for q in every]
    grades = {(q, e): 1 for q in every for e in answers[q]}
    if graded:
        for q in every:
            for e in sorted(set(range(n_entities)) - filtered[q]):
                grade = [None, None, 0, 1, 2][rng.integers(5)]
                grades |= {} if grade is None else {(q, e): grade}
    values = np.array([0.0, 1.0, 2.0, -np.inf, 0.5])
    scores = values[rng.integers(0, 5, (3, n_questions, n_entities))]
    return [Named(own.tolist(), filtered, answers, grades, collection) for own in scores]


def qrels_of(world: Named) -> Qrels:
    return replace(world, grades=world.grades).qrels()


def discarded_by(whole: Qrels, part: Qrels) -> set[tuple[int, int]]:
    """Relevant pairs of the whole that a subsample lacks."""
    left = {
        (part.questions[q], part.entities[e])
        for q, e, g in zip(part.question, part.entity, part.grade, strict=True)
        if g >= 1
    }
    return {
        (int(q), int(e))
        for q, e, g in zip(whole.question, whole.entity, whole.grade, strict=True)
        if g >= 1 and (whole.questions[q], whole.entities[e]) not in left
    }


def quietly(work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)
        return work()


def with_few_answers(*numbers: int) -> Iterator[int]:
    """Run what follows with other numbers of answers up to which the cases of a question are scored beforehand."""
    for few in numbers:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(import_module("kgtrec.meta.stability"), "_FEW_ANSWERS", few)
            yield few


def assert_like_evaluate(worlds, measures, systems_of, ties=None, sizes=(0.3, 0.8, 1.0), unlisted_answers="filtered"):
    """Every subsample's scores are those of evaluate with the subsample as qrels, of these systems under the same
    reading and of ``systems_of(discarded)``, which were ranked knowing what was discarded."""
    whole = qrels_of(worlds[0])
    collection = worlds[0].collection
    named = [system.renamed(f"s{place}") for place, system in enumerate(systems_of(set()))]
    repeats = 2
    options = {"collection": collection, "ties": ties, "seed": 4, "unlisted_answers": unlisted_answers}
    found, looked_up_less = (
        quietly(lambda: stability(whole, named, measures, sizes=sizes, repeats=repeats, **options))
        for _ in with_few_answers(7, 1)
    )
    np.testing.assert_allclose(looked_up_less.scores, found.scores, rtol=1e-12, atol=1e-14)
    for number, triples in enumerate(found.triples.tolist()):
        for repeat in range(repeats):
            part = subsample(whole, triples, collection=collection, seed=4, repeat=repeat)
            again = systems_of(discarded_by(whole, part))
            for place, systems in enumerate(zip(named, again, strict=True)):
                for system in systems:
                    expected = quietly(lambda part=part, system=system: evaluate(part, system, measures, **options))
                    np.testing.assert_allclose(
                        found.scores[:, number, repeat, place],
                        expected.values[0, :, 0],
                        rtol=1e-9,
                        atol=1e-12,
                        err_msg=str(list(zip(measures, expected.values[0, :, 0], strict=True))),
                    )


@pytest.mark.slow
@settings(max_examples=examples(12))
@given(named_worlds(), st.sampled_from([None, "optimistic", "pessimistic"]))
def test_discarded_answers_are_filtered_by_default(worlds, ties):
    """Lists close over them, and no rank counts them, as if they had been known when the scores were ranked."""
    assert_like_evaluate(
        worlds,
        (*MICRO, *MACRO, *BINARY),
        lambda discarded: [world.without(discarded, stay=False).answer_ranks() for world in worlds],
        ties=ties,
    )


@pytest.mark.slow
@settings(max_examples=examples(12))
@given(named_worlds(), st.sampled_from([None, "optimistic", "pessimistic"]))
def test_discarded_answers_may_stay_candidates(worlds, ties):
    """They stand in the lists, and ranks count them, as if nobody had known them when the scores were ranked."""
    assert_like_evaluate(
        worlds,
        (*MICRO, *MACRO, *BINARY),
        lambda discarded: [world.without(discarded, stay=True).answer_ranks() for world in worlds],
        ties=ties,
        unlisted_answers="candidates",
    )


@settings(max_examples=examples(8))
@given(named_worlds(), st.sampled_from(UNLISTED_ANSWERS))
def test_a_random_order_of_all_triples_is_that_of_evaluate(worlds, unlisted_answers):
    """Of fewer it is another draw there, since it depends on what is judged; here one order serves all subsamples."""
    assert_like_evaluate(
        worlds,
        (*MICRO, *MACRO, *BINARY),
        lambda _: [world.answer_ranks() for world in worlds],
        ties="nondeterministic",
        sizes=(1.0,),
        unlisted_answers=unlisted_answers,
    )


@pytest.mark.slow
@settings(max_examples=examples(16))
@given(
    named_worlds(graded=True),
    st.sampled_from([None, "optimistic", "pessimistic", "realistic"]),
    st.sampled_from(UNLISTED_ANSWERS),
)
def test_graded_and_wrong_judgements_follow_their_questions(worlds, ties, unlisted_answers):
    """Grades above 1 are drawn like others; what was judged wrong stays where its question has an answer left.
    Positives that are no answers of the collection are candidates when they are discarded, under either reading."""
    if not any(grade >= 1 for grade in worlds[0].grades.values()):
        return
    assert_like_evaluate(
        worlds,
        (*MICRO, *MACRO),
        lambda _: [world.answer_ranks() for world in worlds],
        ties=ties,
        unlisted_answers=unlisted_answers,
    )


@settings(max_examples=examples(8))
@given(named_worlds(), st.sampled_from(UNLISTED_ANSWERS))
def test_expected_ties_hold_on_subsamples(worlds, unlisted_answers):
    """The exact mean over all orders, where a measure has one."""
    measures = ("micro.MR", "micro.MRR", "micro.Hits@2", "micro.MedianRank", "macro.MR", "macro.MRR", "AP@2", "nDCG@3")
    stay = unlisted_answers == "candidates"
    assert_like_evaluate(
        worlds,
        measures,
        lambda discarded: [world.without(discarded, stay=stay).answer_ranks() for world in worlds],
        ties="expected",
        unlisted_answers=unlisted_answers,
    )


@settings(max_examples=examples(8))
@given(named_worlds(), st.sampled_from(UNLISTED_ANSWERS))
def test_raw_ranks_are_the_same_under_both_readings(worlds, unlisted_answers):
    """Where test triples were not filtered, discarded answers were candidates all along."""
    assert_like_evaluate(
        worlds,
        ("micro.MR", "micro.MRR", "AP"),
        lambda _: [world.answer_ranks(("train", "valid")) for world in worlds],
        unlisted_answers=unlisted_answers,
    )


def run_of(world: Named, cut: int) -> Run:
    run = world.run()
    starts = np.searchsorted(run.question, run.question)
    return run.take(np.arange(len(run)) - starts < cut)


@settings(max_examples=examples(5))
@given(
    named_worlds(graded=True), st.sampled_from([None, "realistic", "pessimistic"]), st.sampled_from(UNLISTED_ANSWERS)
)
def test_runs_follow_too(worlds, ties, unlisted_answers):
    """Under trec_eval's order of ties and others: whole lists, and cut ones where discarded answers stay in them."""
    if not any(grade >= 1 for grade in worlds[0].grades.values()):
        return
    cut = 4 if unlisted_answers == "candidates" else 99
    assert_like_evaluate(
        worlds,
        [name for name in MACRO if name != "macro.MR"],
        lambda _: [run_of(world, cut) for world in worlds],
        ties=ties,
        unlisted_answers=unlisted_answers,
    )


def test_cut_runs_are_refused_where_a_discarded_answer_may_shorten_them():
    """A list of four of seven has a third place without one of its two answers, but no fourth."""
    collection = build_questions(Triples.of([]), Triples.of([]), Triples.of([("a", "r", x) for x in "bcdefg"]))
    rows = {"tail0": {label: float(-place) for place, label in enumerate("bcxa")}}
    rows |= {f"head{number}": {"a": 1.0} for number in range(6)}
    runs = {"one": rows, "two": rows}
    with pytest.raises(CollectionError, match=r"nDCG@4 looks at the first 4 places, .* 1 cut list, such as"):
        quietly(lambda: stability(collection, runs, "nDCG@4", sizes=[0.5], repeats=1))
    assert quietly(lambda: stability(collection, runs, "nDCG@2", sizes=[0.5], repeats=1)).scores.shape == (1, 1, 1, 2)


def ranked(collection: Collection, scores: np.ndarray, name: str, depth: int = 0) -> Ranked:
    """The answer ranks of scores, and a run to this depth."""
    return rank_scores(collection, scores, questions=collection, entities=collection, depth=depth, name=name)


def study_set(n_systems: int = 5, n_triples: int = 60, seed: int = 3) -> tuple[Collection, list[AnswerRanks]]:
    """A collection of random triples, and systems of growing skill on it."""
    rng = np.random.default_rng(seed)
    rows = sorted(
        {(f"e{a}", f"r{b}", f"e{c}") for a, b, c in rng.integers(0, [30, 4, 30], (n_triples * 2, 3)).tolist()}
    )
    train = [(f"e{i}", "r0", f"e{i}") for i in range(30)] + [("e0", f"r{i}", "e1") for i in range(4)]
    test = [row for row in rows if row not in train][:n_triples]
    collection = build_questions(Triples.of(train), Triples.of([]), Triples.of(test))
    right = np.zeros((len(collection.questions), len(collection.entities)))
    right[collection.qrels.question, collection.qrels.entity] = 1
    skill = [(rng.normal(size=right.shape) + 0.25 * place * right).round(1) for place in range(n_systems)]
    return collection, [ranked(collection, scores, f"s{place}").answer_ranks for place, scores in enumerate(skill)]


STUDY = study_set()
MEASURES = ("micro.MRR", "micro.MR", "macro.MRR", "AP@20", "nDCG@20")


@pytest.mark.parametrize("coefficient", ["tau", "spearman", "rbo"])
def test_at_full_size_the_correlation_is_exactly_one(coefficient):
    """Not 0.9999: the full test set is scored by the same code."""
    found = stability(*STUDY, MEASURES, sizes=[1.0], repeats=3, coefficient=coefficient)
    assert np.all(found.correlation == 1.0)
    assert np.all(found.scores == found.full[:, None, None, :])


def test_the_full_scores_are_those_of_evaluate():
    """To the last digits that depend on the order of sums."""
    found = stability(*STUDY, MEASURES, sizes=[0.5], repeats=1)
    np.testing.assert_allclose(found.full.T, evaluate(*STUDY, MEASURES).values[:, :, 0], rtol=1e-13)


@pytest.fixture(scope="module")
def alone():
    """The scores that one process finds."""
    return stability(*STUDY, MEASURES, sizes=[0.2, 0.7], repeats=23)


@settings(max_examples=examples(10))
@given(st.integers(1, 4), st.integers(1, 23))
def test_any_workers_and_parts_of_any_size_give_the_same_bytes(alone, workers, at_a_time):
    """What is found does not depend on who did which repeats, nor on how many at a time."""
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(workers) as pool:
        patch.setattr(import_module("kgtrec.meta.stability"), "_AT_A_TIME", at_a_time)
        found = stability(*STUDY, MEASURES, sizes=[0.2, 0.7], repeats=23, executor=pool)
    assert found.scores.tobytes() == alone.scores.tobytes()
    assert found.correlation.tobytes() == alone.correlation.tobytes()


@pytest.mark.slow
def test_processes_give_the_same_bytes(alone, monkeypatch):
    monkeypatch.setattr(import_module("kgtrec.workers.results"), "_WORTH", 0)
    found = stability(*STUDY, MEASURES, sizes=[0.2, 0.7], repeats=23, workers=2)
    assert found.scores.tobytes() == alone.scores.tobytes()
    assert found.correlation.tobytes() == alone.correlation.tobytes()


def shuffled(qrels: Qrels, systems: list[AnswerRanks]) -> tuple[Qrels, list[AnswerRanks]]:
    """The same qrels and tables under other codes of questions and entities."""
    rng = np.random.default_rng(8)
    questions, entities = (
        Vocabulary(vocabulary.decode(rng.permutation(len(vocabulary))))
        for vocabulary in (qrels.questions, qrels.entities)
    )
    tables = [table.recoded(questions=questions, entities=entities) for table in (qrels, *systems)]
    again, *ranks = (table.take(np.lexsort((table.entity, table.question))) for table in tables)
    return again, ranks


@pytest.mark.parametrize("unlisted_answers", UNLISTED_ANSWERS)
@pytest.mark.parametrize("ties", [None, "pessimistic", "expected"])
def test_how_many_questions_are_looked_up_does_not_matter(monkeypatch, ties, unlisted_answers):
    """None, some or all of them; systems scored together or one by one."""
    measures = ("macro.MR", "macro.MRR", "AP@5", "nDCG@20", "P@5")
    found = []
    for few, together in ((0, 1), (0, 1 << 17), (2, 1), (2, 1 << 17), (7, 1 << 17)):
        monkeypatch.setattr(import_module("kgtrec.meta.stability"), "_FEW_ANSWERS", few)
        monkeypatch.setattr(import_module("kgtrec.meta.stability"), "_ROWS_AT_A_TIME", together)
        options = {"ties": ties, "unlisted_answers": unlisted_answers}
        found.append(stability(*STUDY, measures, sizes=[0.1, 0.9], repeats=3, **options).scores)
    assert all(np.array_equal(found[place], found[place + 1]) for place in (0, 2))
    for other in found:
        np.testing.assert_allclose(other, found[0], rtol=1e-13)


def test_a_table_that_would_be_too_large_has_fewer_questions(monkeypatch):
    """Its size is bounded; the scores are the same."""
    whole = stability(*STUDY, MEASURES, sizes=[0.5], repeats=3)
    monkeypatch.setattr(import_module("kgtrec.meta.stability"), "_MAX_CELLS", 3)
    np.testing.assert_allclose(stability(*STUDY, MEASURES, sizes=[0.5], repeats=3).scores, whole.scores, rtol=1e-13)


def test_systems_of_several_kinds_are_scored_beside_each_other():
    """A run and answer ranks follow other rules for ties; each scores as it does among its own kind."""
    collection, systems = STUDY
    scores = np.random.default_rng(0).random((len(collection.questions), 30))
    runs = [ranked(collection, scores.round(places), f"run{places}", 30).run for places in (1, 2)]
    mixed = [systems[0], runs[0], systems[1], runs[1]]
    together, ranks, cut = (
        stability(collection, own, ("macro.MRR", "AP@5"), sizes=[0.3], repeats=2) for own in (mixed, systems[:2], runs)
    )
    assert np.array_equal(together.scores[..., ::2], ranks.scores)
    assert np.array_equal(together.scores[..., 1::2], cut.scores)


def test_codes_and_line_order_do_not_matter():
    """Other codes of questions and entities: the same subsamples, and the same bytes."""
    qrels, tables = shuffled(STUDY[0].qrels, STUDY[1])
    one = stability(*STUDY, MEASURES, sizes=[0.3], repeats=5)
    two = stability(qrels, tables, MEASURES, collection=STUDY[0], sizes=[0.3], repeats=5)
    assert one.scores.tobytes() == two.scores.tobytes()


def test_a_subsample_hangs_on_its_own_size_and_number_alone():
    """More repeats, and other sizes beside it, change nothing; another seed does."""
    few = stability(*STUDY, MEASURES, sizes=[0.4], repeats=3)
    many = stability(*STUDY, MEASURES, sizes=[0.2, 0.4, 0.9], repeats=12)
    other = stability(*STUDY, MEASURES, sizes=[0.4], repeats=3, seed=1)
    assert few.scores[:, 0].tobytes() == np.ascontiguousarray(many.scores[:, 1, :3]).tobytes()
    assert not np.array_equal(few.scores, other.scores)


def test_a_subsample_has_both_sides_of_its_triples():
    """As many answers to head questions as to tail questions, twice the size together."""
    collection = STUDY[0]
    part = subsample(collection, 0.5, seed=2, repeat=1)
    is_head = collection.questions.is_head[collection.topics_of(part.questions)][part.question]
    assert (int(is_head.sum()), int((~is_head).sum())) == (30, 30)
    assert np.bincount(part.question, minlength=len(part.questions)).min() >= 1


def test_larger_samples_rank_more_alike():
    """Means of tau rise from 5% to 95% of the triples, and lie within their interval."""
    found = stability(*STUDY, MEASURES, sizes=[0.05, 0.5, 0.95], repeats=30, confidence=0.9)
    assert np.all(np.diff(found.mean, axis=1) > 0)
    low, high = found.interval
    assert np.all((low <= found.mean) & (found.mean <= high))


def test_taus_are_scipys():
    """Each repeat's correlation is kendalltau of its scores and the full ones."""
    from scipy.stats import kendalltau

    found = stability(*STUDY, MEASURES, sizes=[0.1], repeats=6)
    for place in range(len(MEASURES)):
        for repeat in range(6):
            tau = kendalltau(found.scores[place, 0, repeat], found.full[place]).statistic
            assert found.correlation[place, 0, repeat] == pytest.approx(tau)


def test_lower_is_better_counts_for_the_top():
    """tau_AP of the mean rank looks at the systems of low mean rank: it is that of its inverse."""
    found = stability(*STUDY, ("micro.MR", "micro.IMR"), sizes=[0.1], repeats=5, coefficient="tau_ap")
    np.testing.assert_allclose(found.correlation[0], found.correlation[1])


def test_undefined_correlations_are_told_once():
    """Two systems that are the same one score equally everywhere: NaN, and one line a measure."""
    collection, systems = STUDY
    same = [systems[0], systems[0].renamed("again")]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = stability(collection, same, ("micro.MRR", "AP"), sizes=[0.1, 0.5], repeats=3)
    assert np.all(np.isnan(found.correlation))
    assert np.all(np.isnan(found.mean))
    assert [str(warning.message) for warning in caught] == [
        f"{name}: 6 of 6 correlations are undefined and left out of the means: there all systems score equally, or one "
        "has no score"
        for name in ("micro.MRR", "AP")
    ]


def test_the_tables_tell_everything():
    """One row per measure and size; per repeat; per system."""
    found = stability(*STUDY, ("micro.MRR", "AP"), sizes=[0.1, 1.0], repeats=4)
    summary, repeats, scores = found.to_table(), found.repeats_table(), found.scores_table()
    assert summary.column_names == ["measure", "share", "triples", "repeats", "mean", "low", "high", "undefined"]
    assert summary.column("triples").to_pylist() == [6, 60, 6, 60]
    assert summary.column("mean").to_pylist()[1::2] == [1.0, 1.0]
    assert (repeats.num_rows, scores.num_rows) == (16, 20)
    assert found.to_frame()["mean"].iloc[0] == found.mean[0, 0]
    mean = found.scores[0, 0, :, 2].mean()
    assert scores.column("mean").to_pylist()[2] == pytest.approx(mean)


def test_every_measure_that_evaluate_takes_is_taken():
    """All registered ones, at the least size, with what they need."""
    collection, systems = STUDY
    names = []
    for measure in registered():
        at = {"none": "", "optional": "", "required": "@0.5" if measure.at in ("recall", "multiple") else "@5"}
        names.append(measure.name + at[measure.cutoff])
    slow = ("micro.AGMRI", "micro.ZGMR", "micro.AMedianRank", "micro.ZMedianRank")
    names = [name for name in names if name not in slow]
    found = quietly(lambda: stability(collection, systems[:2], names, sizes=[3], repeats=1))
    assert found.scores.shape == (len(names), 1, 1, 2)


def test_the_default_sizes_are_those_of_the_paper():
    assert len(SIZES) == 20
    assert (SIZES[0], SIZES[1], SIZES[-1]) == (0.01, 0.05, 0.95)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": [0.0]}, "1 to 60 test triples"),
        ({"sizes": [61]}, "1 to 60 test triples"),
        ({"sizes": [True]}, "1 to 60 test triples"),
        ({"sizes": []}, "one size"),
        ({"repeats": 0}, "repeats"),
        ({"seed": -1}, "seed"),
        ({"workers": 0}, "workers"),
        ({"unlisted_answers": "filter"}, "unlisted_answers"),
        ({"coefficient": "taub"}, "coefficients"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(KgtrecError, match=f"^expected .*{message}.*found"):
        stability(*STUDY, MEASURES, **{"sizes": [0.5], "repeats": 2} | options)


def test_what_cannot_be_had_is_refused_before_the_work():
    """One system; qrels without topics; micro measures of a run; another library's measure; graded chance forms."""
    collection, systems = STUDY
    with pytest.raises(KgtrecError, match="expected at least two systems"):
        stability(collection, systems[:1], MEASURES)
    with pytest.raises(KgtrecError, match="give a collection"):
        stability(collection.qrels, systems, MEASURES)
    shape = len(collection.questions), 30
    runs = [ranked(collection, np.random.default_rng(seed).random(shape), f"{seed}", 30).run for seed in range(2)]
    with pytest.raises(MeasureError, match=r"micro\.MRR needs exact ranks, which the cut run 0 does not have"):
        stability(collection, runs, "micro.MRR")
    with pytest.raises(MeasureError, match="ERR@5 is computed by another library"):
        stability(collection, systems, "ERR@5")


def test_workers_end_with_the_process_that_shares_out_the_work():
    """Killed, it cannot tell them; they hold its standard output, which is at its end only once they are gone."""
    program = """
import os, pickle, signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from kgtrec.workers.processes import _begin

with ProcessPoolExecutor(1, get_context("spawn"), _begin, (pickle.dumps(None),)) as pool:
    pool.submit(os.write, 1, b"at work").result()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    found = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, timeout=300, check=False)
    assert (found.stdout, found.returncode) == (b"at work", -9)
