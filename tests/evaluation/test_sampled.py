"""Estimates from a sample of the judgements: equal to the whole where all is judged, unbiased over all samples."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel

import kgtrec
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.run import Run
from kgtrec.data.sampled_qrels import SampledQrels
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, KgtrecWarning, MeasureError
from kgtrec.evaluation.sampled import sample_estimates
from kgtrec.evaluation.scoring import Scoring
from kgtrec.meta import power
from tests.examples import examples

MACRO = ["nDCG@5", "nDCG", "AP@5", "P@3", "R@3", "RR", "Success@2", "Rprec", "Bpref", "RBP", "SetR", "binG"]
MACRO += ["AP(judged_only=True)", "relative_P@3", "Rprec_mult@1.5", "macro.MRR", "macro.Hits@2"]
MACRO += ["Q", "Q(beta=0.5)@4", "RBP(judged_only=True)"]
MICRO = ["micro.MRR", "micro.MR", "micro.Hits@2", "micro.logMRR", "micro.pMRR", "pykeen.macro.MRR", "macro.MR"]


class World:
    """Random candidates of some questions, with labels, ranked by some systems without ties."""

    def __init__(self, seed: int, n_questions: int = 12, n_entities: int = 9, n_systems: int = 3, share: float = 0.4):
        rng = np.random.default_rng(seed)
        self.questions, self.entities = (
            Vocabulary.of([f"{kind}{row}" for row in range(n)]) for kind, n in (("q", n_questions), ("e", n_entities))
        )
        self.order = np.argsort(rng.random((n_systems, n_questions, n_entities)), axis=2)
        is_pair = rng.random((n_questions, n_entities)) < 0.6
        is_pair[:, 0] = True
        self.question, self.entity = (part.astype(np.int32) for part in np.nonzero(is_pair))
        self.label = (rng.random(len(self.question)) < share).astype(float)
        self.label[self.entity == 0] = 1.0
        self.is_uncertain = (rng.random(len(self.question)) < 0.7) & (self.entity > 0)
        self.rate = np.where(self.is_uncertain, rng.choice([0.4, 0.7, 1.0], len(self.question)), 1.0)
        self.prediction = np.where(self.is_uncertain, 0.3, self.label)

    def qrels(self) -> dict[str, dict[str, int]]:
        graded: dict[str, dict[str, int]] = {}
        for question, entity, label in zip(self.question, self.entity, self.label, strict=True):
            graded.setdefault(self.questions[question], {})[self.entities[entity]] = int(label)
        return graded

    def runs(self, depth: int = 6) -> list[Run]:
        """Lists of the first entities."""
        made = []
        for row, order in enumerate(self.order):
            question = np.repeat(np.arange(len(order), dtype=np.int32), depth)
            score = np.tile(-np.arange(depth, dtype=float), len(order))
            entity = order[:, :depth].ravel().astype(np.int32)
            made.append(Run.of(f"s{row}", question, entity, score, self.questions, self.entities))
        return made

    def ranks(self) -> list[AnswerRanks]:
        """The ranks of all entities."""
        made = []
        for row, order in enumerate(self.order):
            rank = np.argsort(order, axis=1)
            frame = {
                "query_id": np.repeat([*self.questions], rank.shape[1]),
                "doc_id": np.tile([*self.entities], len(rank)),
                "answer": False,
                "above": rank.ravel(),
                "tied": 0,
                "n_other": rank.shape[1] - 1,
                "score": -rank.ravel().astype(float),
            }
            filtered_by = ("train", "valid", "test")
            made.append(AnswerRanks.from_frame(pd.DataFrame(frame), f"s{row}", filtered_by=filtered_by))
        return made

    def sample(self, opened=None, drawn=None, rate=None) -> SampledQrels:
        """What is judged if some questions are opened (default: all) and some pairs drawn (default: all)."""
        n = len(self.question)
        is_opened = np.isin(self.question, range(len(self.questions)) if opened is None else opened)
        is_judged = ~self.is_uncertain | (is_opened & (np.ones(n, bool) if drawn is None else drawn))
        return SampledQrels(
            self.question,
            self.entity,
            np.where(is_judged, self.label, np.nan),
            (np.ones(n) if drawn is None else self.rate) if rate is None else rate,
            self.prediction,
            self.is_uncertain,
            self.is_uncertain & is_opened,
            self.questions,
            self.entities,
        )


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 1000))
@pytest.mark.filterwarnings("ignore")
def test_where_everything_is_judged_the_estimates_are_the_values(seed):
    """Of runs and answer ranks, with intervals of no width."""
    world = World(seed)
    for systems, measures in ((world.runs(), MACRO), (world.ranks(), MACRO + MICRO)):
        scores = kgtrec.evaluate(world.sample(), systems, measures)
        plain = kgtrec.evaluate(world.qrels(), systems, measures)
        np.testing.assert_allclose(scores.values, plain.values, rtol=0, atol=1e-12)
        np.testing.assert_allclose(scores.high, plain.values, rtol=0, atol=1e-12)


def two_each(seed: int) -> World:
    """A world of three questions with two open pairs each, of which enumeration is possible."""
    world = World(seed, n_questions=3, n_entities=5, n_systems=2)
    keep = world.entity <= 2
    for name in ("question", "entity", "label", "rate", "prediction"):
        setattr(world, name, getattr(world, name)[keep])
    rows = [(q, e) for q in range(3) for e in range(3)]
    rng = np.random.default_rng(seed)
    world.question, world.entity = np.array(rows, np.int32).T
    world.label = np.array([1.0 if e == 0 else float(rng.random() < 0.5) for _, e in rows])
    world.is_uncertain = world.entity > 0
    world.rate = np.where(world.is_uncertain, rng.choice([0.4, 0.7], len(rows)), 1.0)
    world.prediction = np.where(world.is_uncertain, 0.3, world.label)
    return world


def samples_of(world: World, n_opened: int):
    """All samples, and the probability of each."""
    n = len(world.questions)
    choices = list(itertools.combinations(range(n), n_opened))
    for opened in choices:
        rows = np.flatnonzero(world.is_uncertain & np.isin(world.question, opened))
        for drawn in itertools.product([False, True], repeat=len(rows)):
            mask = np.zeros(len(world.question), bool)
            mask[rows] = drawn
            chance = np.prod(np.where(mask[rows], world.rate[rows], 1 - world.rate[rows])) / len(choices)
            yield chance, world.sample(opened, mask)


@pytest.mark.parametrize("seed", range(3))
def test_estimates_are_unbiased_over_all_samples(seed):
    """Two open pairs a question: no order is left out of levels, nor out of the differences of a linear measure."""
    world = two_each(seed)
    measures = ["P@3", "nDCG@5", "AP@5", "RR", "macro.Hits@2"]
    level, difference, variance = [], [], []
    chances = []
    for chance, sample in samples_of(world, 2):
        parts = sample_estimates(sample, world.runs(5), measures, Scoring())
        chances.append(chance)
        level.append(parts.levels()[0])
        value, error, _ = parts.differences()
        difference.append(value[:, 0])
        variance.append(error[:, 0] ** 2)
    chance = np.array(chances)
    assert chance.sum() == pytest.approx(1)
    whole = kgtrec.evaluate(world.qrels(), world.runs(5), measures).values[:, :, 0]
    np.testing.assert_allclose(np.tensordot(chance, np.array(level), 1), whole, atol=1e-12)
    mean = np.tensordot(chance, np.array(difference), 1)
    np.testing.assert_allclose(mean, whole[:1, 0] - whole[1:, 0], atol=1e-12)
    spread = np.tensordot(chance, (np.array(difference) - mean) ** 2, 1)
    np.testing.assert_allclose(np.tensordot(chance, np.array(variance), 1), spread, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_with_all_judged_the_test_over_other_questions_is_the_paired_t_test():
    """scipy's, of macro measures; the one over other samples has no error left."""
    world = World(5, n_questions=30)
    world.is_uncertain[:] = world.entity > 0  # every question has one
    world.is_uncertain[world.entity == 0] = False
    tested = power(world.sample(), world.runs(), ["AP@5", "RR"])
    values = kgtrec.evaluate(world.qrels(), world.runs(), ["AP@5", "RR"], per="question").values
    for measure in range(2):
        for pair, (first, second) in enumerate(itertools.combinations(range(3), 2)):
            expected = ttest_rel(values[first, measure], values[second, measure])
            assert tested.statistic[measure, 1, pair] == pytest.approx(expected.statistic)
            assert tested.p[measure, 1, pair] == pytest.approx(expected.pvalue)
    assert tested.main_test == "questions"
    assert np.isnan(tested.p[:, 0]).all()


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True])
def test_intervals_cover_as_often_as_they_say(whole):
    """300 samples of 150 of 400 questions: levels and differences, at 95%, within 4 standard errors."""
    world, measures = World(1, n_questions=400), ["nDCG@5", "AP@5", "RR", "P@3", "micro.MRR"]
    ranks, rng = world.ranks(), np.random.default_rng(0)
    rate = np.ones(len(world.question)) if whole else world.rate
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truth = kgtrec.evaluate(world.qrels(), ranks, measures).values[:, :, 0]
    first, second = np.triu_indices(len(ranks), 1)
    covered = np.zeros((2, len(measures)))
    for _ in range(300):
        sample = world.sample(rng.permutation(400)[:150], rng.random(len(rate)) < rate, rate)
        parts = sample_estimates(sample, ranks, measures, Scoring(ties="nondeterministic"))
        (level, error), (difference, of_pairs, _) = parts.levels(), parts.differences()
        reach = parts.quantile(0.95)
        covered[0] += (np.abs(level - truth) <= reach * error).mean(axis=0)
        covered[1] += (np.abs(difference - (truth[first] - truth[second])) <= reach * of_pairs).mean(axis=0)
    assert (np.abs(covered / 300 - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 300)).all(), covered / 300


@pytest.mark.slow
@pytest.mark.parametrize("n_opened", [2, 3])
def test_intervals_cover_where_few_whole_questions_are_opened(n_opened):
    """Their predictions count in full: through two or three points a line would fit too well."""
    world, rng = World(1, n_questions=200), np.random.default_rng(0)
    rate, sampled = np.ones(len(world.question)), np.unique(world.question[world.is_uncertain])
    truth = kgtrec.evaluate(world.qrels(), world.runs(), ["nDCG@5", "AP@5"]).values[:, :, 0]
    covered = []
    for _ in range(150):
        parts = sample_estimates(
            world.sample(rng.permutation(sampled)[:n_opened], rate > 0, rate),
            world.runs(),
            ["nDCG@5", "AP@5"],
            Scoring(),
        )
        value, error = parts.levels()
        covered.append(np.abs(value - truth) <= parts.quantile(0.95) * error)
    assert np.mean(covered) > 0.9


def test_the_order_of_labels_changes_nothing():
    """Questions and entities under other codes give the same estimates."""
    world, rng = World(2), np.random.default_rng(3)
    drawn = rng.random(len(world.question)) < world.rate
    sample = world.sample([1, 4, 7], drawn)
    other = sample.recoded(
        questions=Vocabulary.of([*world.questions][::-1]), entities=Vocabulary.of([*world.entities][::-1])
    )
    other = other.take(np.lexsort((other.entity, other.question)))
    scores = [kgtrec.evaluate(each, world.runs(), ["nDCG@5", "RR"]) for each in (sample, other)]
    np.testing.assert_allclose(scores[0].values, scores[1].values, rtol=1e-13)
    np.testing.assert_allclose(scores[0].low, scores[1].low, rtol=1e-12)


def test_few_questions_under_a_measure_over_answers_are_warned_of():
    """Not under measures over questions, and not where all questions are judged."""
    world = World(0)
    for estimated in (kgtrec.evaluate, power):
        with pytest.warns(KgtrecWarning, match="micro.MRR rest on 5 judged questions"):
            estimated(world.sample(range(5)), world.ranks(), ["micro.MRR", "RR"])
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "intervals of")
            estimated(world.sample(range(5)), world.ranks(), "RR")
            estimated(world.sample(), world.ranks(), "micro.MRR")


@pytest.mark.parametrize("measure", ["IPrec@0.5", "gm_map", "micro.GMR", "micro.AMRI", "infAP", "AP(rel=2)", "AAP"])
def test_measures_of_another_form_are_refused(measure):
    """With those that have an estimate."""
    world = World(0)
    with pytest.raises(MeasureError, match="no estimate"):
        kgtrec.evaluate(world.sample(), world.ranks(), measure)


@pytest.mark.parametrize("measure", ["micro.MRR", "macro.MR"])
def test_ranks_of_all_candidates_need_more_than_a_run(measure):
    """A cut list does not have them."""
    world = World(0)
    with pytest.raises(MeasureError, match="exact ranks"):
        kgtrec.evaluate(world.sample(), world.runs(), measure)


@pytest.mark.parametrize(
    ("option", "value"),
    [("per", "question"), ("float32", True), ("weights", "question"), ("missing", "skip"), ("sides", ("head",))],
)
def test_options_that_change_what_is_meant_are_refused(option, value):
    """By name."""
    world = World(0)
    with pytest.raises(KgtrecError, match=option):
        kgtrec.evaluate(world.sample(), world.runs(), "RR", **{option: value})


def test_ties_are_broken_without_looking_at_verdicts():
    """By label or at random; rules that put relevant candidates first or last are refused."""
    world = World(0)
    tied = [replace(run, score=run.score * 0) for run in world.runs()]
    for ties in ("trec", "nondeterministic"):
        kgtrec.evaluate(world.sample(), tied, "RR", ties=ties)
        kgtrec.evaluate(world.sample(), world.runs(), "RR", ties="expected")
    for ties in ("expected", "realistic", "optimistic"):
        with pytest.raises(KgtrecError, match="nondeterministic"):
            kgtrec.evaluate(world.sample(), tied, "RR", ties=ties)


def test_scores_say_what_they_are_of():
    """In the note of the table, in LaTeX with the interval, and in the repr of the sample."""
    world = World(0)
    sample = world.sample([0, 1, 2], np.zeros(len(world.question), bool))
    scores = kgtrec.evaluate(sample, world.runs(), "RR", confidence=0.9)
    assert "judging all of it" in scores.tables()[0].note
    assert "RR" in scores.to_latex()
    assert repr(sample).startswith("<SampledQrels: 0 of ")


@pytest.mark.parametrize(("n_opened", "freedom"), [(2, 1), (29, 28), (30, 28), (39, 37), (40, 39)])
def test_a_slope_costs_a_degree_of_freedom(n_opened, freedom):
    """It is tuned on 30 questions or more; where all are opened it is idle."""
    world, opened = World(2, n_questions=40), range(n_opened)
    world.is_uncertain[:] = world.entity > 0  # every question has one
    parts = sample_estimates(world.sample(opened), world.runs(), ["nDCG@5", "AP@5"], Scoring())
    assert parts.freedom == freedom
    assert ((parts.levels()[1] > 1e-6) == (n_opened < 40)).all()


def test_one_question_of_several_gives_no_interval():
    """It is refused."""
    with pytest.raises(KgtrecError, match="at least two questions whose drawn triples are settled, found 1 of 12"):
        kgtrec.evaluate(World(2).sample([1]), World(2).runs(), "AP@5")


def test_one_question_says_nothing_of_other_questions():
    """All of it is judged, so the difference is known; over other questions there is no interval."""
    world = World(3, n_questions=1)
    tested = power(world.sample(), world.runs(), ["P@3"])
    for ends in (tested.low, tested.high):
        np.testing.assert_allclose(ends[:, 0], tested.difference, atol=1e-12)
        assert np.isnan(ends[:, 1]).all()


def test_the_confidence_is_in_the_table_for_latex():
    """In the comment above it."""
    world = World(4)
    scores = kgtrec.evaluate(world.sample(), world.runs(), "P@3", confidence=0.9)
    assert scores.to_latex().startswith("% 90% intervals over other samples of this pool, ")


@pytest.mark.parametrize("option", [{"per": "side"}, {"drawn": "triple"}, {"float32": True}])
def test_options_without_a_use_are_refused_by_their_name(option):
    """As the command spells it."""
    world, [name] = World(4), option
    with pytest.raises(KgtrecError, match=f"expected no --{name} with a sample of the judgements"):
        kgtrec.evaluate(world.sample(), world.runs(), "P@3", **option)
