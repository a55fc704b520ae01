from __future__ import annotations

import dataclasses
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.expert_sample import draw_sample, sample_report
from kgtrec.data.campaign import SAMPLE_STATISTICS, ExpertSample
from kgtrec.data.judgements import AGREED, AUTOMATIC, CONFLICT, OPEN, Decisions
from kgtrec.data.pool import Pool
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning
from kgtrec.kernels.sampling.proportions import part_interval, wilson_interval
from tests.judged_pools import judgements_of, pool_of

NO, YES = 0, 1


def decisions_of(text: str) -> Decisions:
    """One sign per triple: Y, N agreed, a automatic, o open, c conflict."""
    state = {"Y": AGREED, "N": AGREED, "a": AUTOMATIC, "o": OPEN, "c": CONFLICT}
    verdict = {"Y": 1, "N": 0, "a": 0, "o": -1, "c": -1}
    codes = (np.array([code[sign] for sign in text], np.int8) for code in (state, verdict))
    return Decisions(*codes)


def test_half_of_the_sample_is_positive():
    """100 Y of 400 and 100 N of 3,600, with these probabilities; open, conflicting and automatic ones are out."""
    text = "YNNNNNNNNN" * 400 + "oca" * 50
    sample = draw_sample(pool_of([len(text)]), decisions_of(text), seed=1)
    assert (sample.drawn.tolist(), sample.population.tolist()) == ([100, 100], [3600, 400])
    assert (np.diff(sample.triple) > 0).all()
    assert sample.verdict.tolist() == ["NY".index(text[row]) for row in sample.triple]
    assert sample.probability.tolist() == [0.25 if verdict else 100 / 3600 for verdict in sample.verdict]


def test_an_odd_size_gives_one_more_positive():
    """3 of 5."""
    assert draw_sample(pool_of([20]), decisions_of("YN" * 10), size=5).drawn.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("text", "drawn", "told"),
    [
        ("Y" * 3 + "N" * 30, [7, 3], "only 3 triples are settled as Y, so the sample has all of them and 7 of N"),
        ("Y" * 30 + "N" * 3, [3, 7], "only 3 triples are settled as N, so the sample has all of them and 7 of Y"),
        ("N" * 30, [10, 0], "only 0 triples are settled as Y, so the sample has all of them and 10 of N"),
    ],
)
def test_a_rare_label_is_taken_whole(text, drawn, told):
    """And the sample is as large as asked for."""
    with pytest.warns(KgtrecWarning) as caught:
        sample = draw_sample(pool_of([len(text)]), decisions_of(text), size=10)
    assert [str(warning.message) for warning in caught] == [told]
    assert sample.drawn.tolist() == drawn
    assert sample.population.tolist() == [text.count("N"), text.count("Y")]


def test_automatic_ones_are_drawn_if_asked_for():
    """They are labels N like others then."""
    sample = draw_sample(pool_of([12]), decisions_of("YYNaaaaaaaao"), size=4, with_automatic=True)
    assert sample.population.tolist() == [9, 2]


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(KgtrecError, match=r"at least 5 settled triples to draw from, found 2 Y and 2 N; draw fewer"):
        draw_sample(pool_of([6]), decisions_of("YYNNoa"), size=5)
    with pytest.raises(KgtrecError, match=r"at least 2 triples, one Y and one N, got 1"):
        draw_sample(pool_of([6]), decisions_of("YYNNoa"), size=1)
    with pytest.raises(CollectionError, match=r"decisions on 7 triples, those of the pool, got 6"):
        draw_sample(pool_of([7]), decisions_of("YYNNoa"), size=2)


def labels_drawn(pool: Pool, text: str, **options) -> set[tuple[str, str]]:
    """Head and tail of what is drawn."""
    rows = draw_sample(pool, decisions_of(text), **options).triple
    return {pool.triples.labels_at(row)[::2] for row in rows}


def test_the_draw_hangs_on_labels_not_on_codes():
    """The same triples under a vocabulary in another order are the same sample; another seed draws others."""
    pool, text = pool_of([200]), "YNNN" * 50
    n = len(pool.triples.entities)
    order = np.random.default_rng(0).permutation(n)
    place = np.argsort(order).astype(np.int32)
    entities = Vocabulary.of(pool.triples.entities.labels.take(order))
    triples = Triples(
        place[pool.triples.head], pool.triples.relation, place[pool.triples.tail], entities, pool.triples.relations
    )
    by = np.lexsort((triples.tail, triples.head, triples.relation))
    again = dataclasses.replace(pool, triples=triples.take(by))
    moved = "".join(text[row] for row in by)
    assert labels_drawn(again, moved, size=40) == labels_drawn(pool, text, size=40)
    assert labels_drawn(pool, text, size=40, seed=1) != labels_drawn(pool, text, size=40)


def test_a_smaller_sample_is_inside_a_larger_one():
    """So a sample can be made larger, and no verdict of the expert is lost."""
    pool, text = pool_of([200]), "YNNN" * 50
    assert labels_drawn(pool, text, size=20) < labels_drawn(pool, text, size=60)


def test_every_triple_is_as_likely_as_its_probability_says():
    """Over 2,000 seeds, within 5 standard errors of 0.5 and 0.1; so is the order blind, Y being no earlier than N."""
    text = "YYYYNNNNNNNNNNNNNNNNNNNN"
    pool, decisions = pool_of([len(text)]), decisions_of(text)
    times = np.zeros(len(text))
    for seed in range(2000):
        sample = draw_sample(pool, decisions, size=4, seed=seed)
        times[sample.triple] += 1
    chance = np.array([0.5 if sign == "Y" else 0.1 for sign in text])
    assert (np.abs(times / 2000 - chance) < 5 * np.sqrt(chance * (1 - chance) / 2000)).all()


def sample_of(drawn: tuple[int, int], population: tuple[int, int]) -> ExpertSample:
    """Rows 0, 1, ...: first those of N."""
    share = [part / whole if whole else 1.0 for part, whole in zip(drawn, population, strict=True)]
    n = np.arange(sum(drawn), dtype=np.int32)
    return ExpertSample(n, np.repeat(np.array([0, 1], np.int8), drawn), np.repeat(share, drawn))


def expert_says(sample: ExpertSample, agreed: tuple[int, int]):
    """The expert agrees with the first so many of N and of Y, and says the opposite of the others."""
    seen = [0, 0]
    events = []
    for row, label in zip(sample.triple, sample.verdict, strict=True):
        agrees = seen[label] < agreed[label]
        seen[label] += 1
        events.append((int(row), "xia", "expert", "NY"[label if agrees else 1 - label]))
    return judgements_of(events)


def test_92_percent_of_200():
    """88 of 100 Y and 96 of 100 N agree: 92% in the sample, 87.4 to 95.0%; in the pool 13.6% are Y."""
    sample = sample_of((100, 100), (8640, 1360))
    report = sample_report(sample, expert_says(sample, (96, 88)))
    row = {
        name: [report.values[place], report.low[place], report.high[place]]
        for place, name in enumerate(SAMPLE_STATISTICS)
    }
    assert (100 * np.array(row["agreement in the sample"])).round(1).tolist() == [92.0, 87.4, 95.0]
    assert row["agreement on Y"] == pytest.approx([0.88, *wilson_interval(88, 100, 0.95)])
    assert row["agreement on N"] == pytest.approx([0.96, *wilson_interval(96, 100, 0.95)])
    low, high = np.array([row["agreement on N"], row["agreement on Y"]])[:, 1:].T
    weights, value = np.array([0.864, 0.136]), np.array([0.96, 0.88])
    mean = weights @ value
    assert row["agreement in the pool"] == pytest.approx(
        [mean, mean - math.hypot(*(weights * (value - low))), mean + math.hypot(*(weights * (high - value)))]
    )
    assert row["positives missed"] == pytest.approx([8640 * 0.04, 8640 * (1 - high[0]), 8640 * (1 - low[0])])
    right, missed = 1360 * 0.88, 8640 * 0.04
    assert row["recall of positives"][0] == pytest.approx(right / (right + missed))
    assert row["prevalence in the pool"][0] == pytest.approx((right + missed) / 10_000)
    right_ends, missed_ends = 1360 * np.array(row["agreement on Y"][1:]), np.array(row["positives missed"][1:])
    expected = part_interval(np.array([right, missed]), np.stack([right_ends, missed_ends], axis=1))
    assert row["recall of positives"][1:] == pytest.approx(expected)
    assert (report.agreed.tolist(), report.judged.tolist(), report.unsure.tolist()) == ([96, 88], [100, 100], [0, 0])


def test_the_last_word_of_an_expert_counts():
    """Not an annotator's, and not what was corrected; unsure and unjudged triples are left out and counted."""
    sample = sample_of((3, 3), (30, 6))
    events = [
        (0, "xia", "expert", "Y"),
        (0, "xia", "expert", "N"),
        (1, "xia", "expert", "N"),
        (1, "yan", "expert", "unsure"),
        (2, "ann", "annotator", "N"),
        (3, "xia", "expert", "Y"),
        (4, "xia", "expert", "N"),
        (5, "eve", "adjudicator", "Y"),
        (9, "xia", "expert", "N"),
    ]
    report = sample_report(sample, judgements_of(events))
    assert (report.judged.tolist(), report.agreed.tolist(), report.unsure.tolist()) == ([1, 2], [1, 1], [1, 0])
    assert (report.value("agreement on Y"), report.value("agreement on N")) == (0.5, 1.0)


def test_without_verdicts_there_is_no_report():
    """NaN, and a warning for each label."""
    with pytest.warns(KgtrecWarning) as caught:
        report = sample_report(sample_of((3, 3), (30, 6)), judgements_of([]))
    assert [str(warning.message)[:48] for warning in caught] == [
        "no expert has judged a triple of label Y Y or N,",
        "no expert has judged a triple of label N Y or N,",
    ]
    assert np.isnan(report.values).all()
    assert np.isnan(report.low).all()


def test_a_label_that_no_triple_has_needs_no_expert():
    """Without positives the pool is its negatives, and each one missed is all there were."""
    sample = sample_of((10, 0), (1000, 0))
    report = sample_report(sample, expert_says(sample, (9, 0)))
    assert report.value("agreement in the pool") == report.value("agreement on N") == 0.9
    assert report.value("recall of positives") == 0
    assert math.isnan(report.value("agreement on Y"))
    perfect = sample_report(sample, expert_says(sample, (10, 0)))
    assert math.isnan(perfect.value("recall of positives"))
    only_yes = sample_report(sample_of((0, 5), (0, 50)), expert_says(sample_of((0, 5), (0, 50)), (0, 4)))
    assert (only_yes.value("positives missed"), only_yes.value("recall of positives")) == (0, 1)
    assert only_yes.value("agreement in the pool") == 0.8


@given(st.tuples(*[st.integers(1, 40)] * 2), st.tuples(*[st.integers(0, 400)] * 2), st.data(), st.floats(0.5, 0.99))
def test_every_interval_holds_its_value(drawn, more, data, confidence):
    """And shares are within 0 and 1; a larger confidence gives a wider interval."""
    sample = sample_of(drawn, (drawn[0] + more[0], drawn[1] + more[1]))
    agreed = tuple(data.draw(st.integers(0, n)) for n in drawn)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = sample_report(sample, expert_says(sample, agreed), confidence=confidence)
        wider = sample_report(sample, expert_says(sample, agreed), confidence=0.995)
    for place, name in enumerate(SAMPLE_STATISTICS):
        value, low, high = report.values[place], report.low[place], report.high[place]
        if math.isnan(value):
            assert name == "recall of positives"
            continue
        assert low - 1e-9 <= value <= high + 1e-9, name
        assert wider.low[place] <= low + 1e-9, name
        assert high <= wider.high[place] + 1e-9, name
        if name != "positives missed":
            assert low >= -1e-9, name
            assert high <= 1 + 1e-9, name


def test_estimates_are_unbiased_and_intervals_cover():
    """600 samples of 200 out of 3,000 with known errors: means within 4 standard errors, at least 93% covered."""
    rng = np.random.default_rng(7)
    n = 3000
    label = (rng.random(n) < 0.15).astype(np.int8)
    truth = np.where(rng.random(n) < np.where(label == 1, 0.85, 0.97), label, 1 - label)
    pool, decisions = pool_of([n]), Decisions(np.full(n, AGREED, np.int8), label)
    said = judgements_of([(row, "xia", "expert", "NY"[truth[row]]) for row in range(n)])
    n_yes, right = int(label.sum()), int((label & truth).sum())
    missed = int(((1 - label) & truth).sum())
    on_labels = right / n_yes, 1 - missed / (n - n_yes), math.nan, np.mean(label == truth)
    true = [*on_labels, missed, right / (right + missed), truth.mean()]
    reports = [sample_report(draw_sample(pool, decisions, seed=seed), said) for seed in range(600)]
    values = np.array([report.values for report in reports])
    for place, name in enumerate(SAMPLE_STATISTICS):
        if name == "agreement in the sample":  # which is of no pool
            continue
        covered = np.mean([report.low[place] <= true[place] <= report.high[place] for report in reports])
        assert covered >= 0.93, name
        if name != "recall of positives":  # a quotient, which is biased a little
            error = values[:, place].std() / math.sqrt(len(reports))
            assert abs(values[:, place].mean() - true[place]) < 4 * error, name
    assert values[:, 2].mean() < true[3] - 0.03  # half the sample is Y, of which fewer are right
