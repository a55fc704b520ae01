from __future__ import annotations

import dataclasses
import itertools
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from kgtrec.campaign.agreement import STATISTICS, AgreementReport, annotator_agreement
from kgtrec.data.judgements import ROLES, VERDICTS, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.questions import Questions
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning
from tests.examples import examples
from tests.judged_pools import judgements_of, pool_of


def said(table: dict[str, str], role: str = "annotator") -> list[tuple[int, str, str, str]]:
    """Events of each person's row of one sign per triple: Y, N, u(nsure), . for none."""
    words = {"Y": "Y", "N": "N", "u": "unsure"}
    return [(i, who, role, words[sign]) for who, row in table.items() for i, sign in enumerate(row) if sign != "."]


def values_of(report: AgreementReport, group: int = 0) -> dict[str, float]:
    return dict(zip(STATISTICS, report.values[group].tolist(), strict=True))


def without_warnings(*arguments, **options) -> AgreementReport:
    """The report, whatever it lacks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)
        return annotator_agreement(*arguments, **options)


TWO = {"ann": "YYYYNNNNNN", "bob": "YYYNYNNNNN"}  # 3 both Y, 1 and 1 one Y, 5 both N


def test_two_annotators_by_hand():
    """3 both Y, 1 and 1 one Y, 5 both N; with three categories, of which the third is not used."""
    report = annotator_agreement(pool_of([10]), judgements_of(said(TWO)), confidence=None)
    chance = (4 * 4 + 6 * 6) / 100
    of_three = (0.4 * 0.6 + 0.6 * 0.4) / 2
    worked = {
        "prevalence": 8 / 20,
        "raw": 8 / 10,
        "positive": 6 / 8,
        "negative": 10 / 12,
        "kappa": (0.8 - chance) / (1 - chance),
        "AC1": (0.8 - of_three) / (1 - of_three),
        "alpha": 1 - 0.2 / (2 * 8 * 12 / (20 * 19)),
    }
    assert values_of(report) == pytest.approx(worked)
    assert (report.triples.tolist(), report.pairs.tolist(), report.annotators.tolist()) == ([10], [10], [2])
    assert (report.low, report.high) == (None, None)
    left_out = annotator_agreement(pool_of([10]), judgements_of(said(TWO)), unsure="leave out")
    assert left_out.value("AC1") == pytest.approx((0.8 - 0.48) / (1 - 0.48))  # of two categories


def test_unsure_is_a_category_or_nothing():
    """Y and unsure disagree, or are one verdict, which agrees with nobody's."""
    events = judgements_of(said({"ann": "YNuu", "bob": "YNYu"}))
    own = annotator_agreement(pool_of([4]), events, confidence=None)
    left_out = annotator_agreement(pool_of([4]), events, confidence=None, unsure="leave out")
    assert (own.value("raw"), own.triples[0], own.value("prevalence")) == (0.75, 4, 3 / 8)
    assert (left_out.value("raw"), left_out.triples[0], left_out.value("prevalence")) == (1.0, 2, 0.5)
    assert own.value("positive") == 2 / 3


def test_three_annotators_of_one_triple_are_three_pairs():
    """YYN agrees in 1 of 3 pairs; NN of another in 1 of 1."""
    report = annotator_agreement(pool_of([2]), judgements_of(said({"a": "YN", "b": "YN", "c": "N."})), confidence=None)
    assert (report.value("raw"), report.pairs[0], report.triples[0], report.annotators[0]) == (0.5, 4, 2, 3)
    assert report.value("prevalence") == 2 / 5


def test_per_relation_is_the_pool_of_that_relation():
    """Values, intervals and sizes are those of a pool without the others; relations are in byte order."""
    pool = pool_of([3, 4, 5], [1, 0, 1])
    events = said({"ann": "YYNNYNNYYNNN", "bob": "YYNNNNNYNNNY", "cat": "......NN...."})
    whole = annotator_agreement(pool, judgements_of(events), per="relation", resamples=50)
    assert whole.groups["relation"].to_pylist() == ["r0", "r1"]
    assert whole.triples.tolist() == [4, 8]
    for place, relation in enumerate([0, 1]):
        own = [event for event in events if pool.triples.relation[event[0]] == relation]
        alone = annotator_agreement(pool, judgements_of(own), resamples=50)
        assert (whole.questions[place], alone.questions[0]) == ([1, 2][place],) * 2
        for of_all, of_one in zip(
            (whole.values, whole.low, whole.high), (alone.values, alone.low, alone.high), strict=True
        ):
            assert of_all[place].tolist() == pytest.approx(of_one[0].tolist(), abs=1e-15, nan_ok=True)


def test_one_question_has_no_interval():
    """Nothing is known of others; of two there is one, also where single triples are drawn from one question."""
    pool = pool_of([3, 4, 5], [1, 0, 1])
    events = judgements_of(said({"ann": "YYNNYNNYYNNN", "bob": "YYNNNNNYNNNY"}))
    report = annotator_agreement(pool, events, per="relation", resamples=50)
    assert np.isnan(report.low[0]).all()
    assert np.isnan(report.high[0]).all()
    assert not np.isnan(report.values[0]).any()
    assert not np.isnan(report.low[1]).any()
    by_triple = annotator_agreement(pool, events, per="relation", resamples=50, resample="triple")
    assert by_triple.questions.tolist() == [1, 2]
    assert not np.isnan(by_triple.low).any()


def test_per_pair_is_two_people_at_a_time():
    """Names of each pair and the pairs are in byte order; verdicts on what the other has not judged are out."""
    events = {"cat": "YYN.Y", "ann": "YNNN.", "bob": "NNNNN"}
    report = annotator_agreement(pool_of([5]), judgements_of(said(events)), per="pair", confidence=None)
    frame = report.to_frame()
    raw = frame[frame["statistic"] == "raw"]
    assert raw[["annotator", "other", "triples", "pairs", "value"]].to_numpy().tolist() == [
        ["ann", "bob", 4, 4, 0.75],
        ["ann", "cat", 3, 3, 2 / 3],
        ["bob", "cat", 4, 4, 0.25],
    ]
    assert cohen_kappa_score(list("YNN"), list("YYN")) == pytest.approx(report.values[1, STATISTICS.index("kappa")])


EVENTS = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from("abcd"), st.sampled_from(ROLES), st.sampled_from(VERDICTS)),
    max_size=40,
)


@settings(max_examples=examples(30))
@given(EVENTS, st.booleans())
def test_every_pair_of_verdicts_is_counted(events, leave_out):
    """Raw, specific agreement and prevalence as a loop over triples and pairs of people finds them."""
    last = {(row, who): verdict for row, who, role, verdict in events if role == "annotator"}
    if leave_out:
        last = {key: verdict for key, verdict in last.items() if verdict != "unsure"}
    seen = {"raw": [], "positive": [], "negative": [], "prevalence": []}
    for triple in range(7):
        own = [last[triple, who] for who in "abcd" if (triple, who) in last]
        seen["prevalence"] += [verdict == "Y" for verdict in own if len(own) > 1]
        for one, other in itertools.permutations(own, 2):
            seen["raw"].append(one == other)
            seen["positive"] += [other == "Y"] * (one == "Y")
            seen["negative"] += [other == "N"] * (one == "N")
    option = "leave out" if leave_out else "own category"
    report = without_warnings(pool_of([3, 4]), judgements_of(events), unsure=option, confidence=None)
    expected = {name: np.mean(values) if values else math.nan for name, values in seen.items()}
    assert {name: report.value(name) for name in seen} == pytest.approx(expected, nan_ok=True)
    assert report.pairs[0] * 2 == len(seen["raw"])


def shuffled(pool: Pool, events: Judgements, seed: int) -> tuple[Pool, Judgements]:
    """The same with questions, events of different people, and people in another order."""
    rng = np.random.default_rng(seed)
    q = pool.questions
    order = rng.permutation(len(q))
    place = np.argsort(order).astype(np.int32)
    questions = Questions(
        type(q.ids)(q.ids.labels.take(order)),
        q.is_head[order],
        q.relation[order],
        q.anchor[order],
        q.entities,
        q.relations,
    )
    pool = dataclasses.replace(pool, questions=questions, question=place[pool.question])
    people = rng.permutation(len(events.annotators))
    names = type(events.annotators)(events.annotators.labels.take(people))
    events = dataclasses.replace(
        events, annotator=np.argsort(people).astype(np.int32)[events.annotator], annotators=names
    )
    return pool, events.take(rng.permutation(len(events)))


@pytest.mark.parametrize("per", [None, "relation", "pair"])
def test_no_order_matters(per):
    """Questions, people and events in any order give the same bytes."""
    rng = np.random.default_rng(3)
    pool = pool_of([4] * 12, [0, 1] * 6)
    table = {who: "".join(rng.choice(list("YNNu."), 48)) for who in "abcd"}
    events = judgements_of(said(table))
    report = without_warnings(pool, events, per=per, resamples=40, seed=5)
    for seed in range(3):
        again = without_warnings(*shuffled(pool, events, seed), per=per, resamples=40, seed=5)
        assert again.to_table().equals(report.to_table())


def test_a_question_is_drawn_as_a_whole():
    """Where the triples of a question are all judged alike, the interval is that of one triple a question."""
    few = {"ann": "YYNNNNYNNNNN", "bob": "YNNNNNYNYNNN"}
    many = {who: "".join(sign * 4 for sign in row) for who, row in few.items()}
    clustered = annotator_agreement(pool_of([4] * 12), judgements_of(said(many)), seed=1)
    single = annotator_agreement(pool_of([1] * 12), judgements_of(said(few)), seed=1)
    by_triple = annotator_agreement(pool_of([4] * 12), judgements_of(said(many)), seed=1, resample="triple")
    for place, name in enumerate(STATISTICS):
        if name != "alpha":  # whose correction for small samples knows how many there are
            assert clustered.low[0, place] == pytest.approx(single.low[0, place])
            assert clustered.high[0, place] == pytest.approx(single.high[0, place])
        assert by_triple.high[0, place] - by_triple.low[0, place] < clustered.high[0, place] - clustered.low[0, place]


def test_questions_can_be_given():
    """Each triple its own, or all the same one, which leaves nothing to draw."""
    pool, events = pool_of([1] * 10), judgements_of(said(TWO))
    report = annotator_agreement(pool, events, question=np.zeros(10, np.int32))
    assert np.isnan(report.low).all()
    assert np.isnan(report.high).all()
    assert report.questions.tolist() == [1]
    with pytest.raises(CollectionError, match=r"the questions of 10 triples, those of the pool, got 3"):
        annotator_agreement(pool, events, question=np.zeros(3, np.int32))


def test_intervals_come_from_the_seed():
    """The same for the same, others for another; the value does not change."""
    pool, events = pool_of([1] * 10), judgements_of(said(TWO))
    one, same, other = (annotator_agreement(pool, events, seed=seed, resamples=99) for seed in (1, 1, 2))
    assert one.to_table().equals(same.to_table())
    assert one.values.tolist() == other.values.tolist()
    assert one.low.tolist() != other.low.tolist()


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (
            {"a": "YY", "b": "YY"},
            {"negative": "nobody says N", "kappa": "all verdicts of each pair", "alpha": "all verd"},
        ),
        (
            {"a": "NN", "b": "NN"},
            {"positive": "nobody says Y", "kappa": "all verdicts of each pair", "alpha": "all verd"},
        ),
    ],
)
def test_a_statistic_without_value_is_named(table, told):
    """NaN and a warning for each, and AC1 is 1 all the same."""
    with pytest.warns(KgtrecWarning) as caught:
        report = annotator_agreement(pool_of([2]), judgements_of(said(table)), resamples=5)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == len(told)
    for message, (name, why) in zip(messages, told.items(), strict=True):
        assert message.startswith(f"{name} has no value: {why}")
        assert math.isnan(report.value(name))
    assert (report.value("AC1"), report.value("raw")) == (1, 1)


def test_no_pairs_have_no_agreement():
    """One warning, and NaN throughout; the same for no judgements and for an empty pool."""
    for pool, table in ((pool_of([2]), {"a": "Y.", "b": ".N"}), (pool_of([2]), {}), (pool_of([]), {})):
        with pytest.warns(KgtrecWarning, match=r"^no triple was judged by two annotators, so .* prevalence, raw, "):
            report = annotator_agreement(pool, judgements_of(said(table)))
        assert np.isnan(report.values).all()
        assert np.isnan(report.low).all()
        assert (report.triples.tolist(), report.pairs.tolist()) == ([0], [0])


def test_relations_without_a_value_are_counted():
    """One warning a statistic for all of them."""
    pool = pool_of([2, 2], [0, 1])
    with pytest.warns(KgtrecWarning) as caught:
        annotator_agreement(pool, judgements_of(said({"a": "YNNN", "b": "NNNN"})), per="relation", confidence=None)
    assert [str(warning.message) for warning in caught] == [
        "positive has no value for 1 of 2 relations: nobody says Y",
        "kappa has no value for 1 of 2 relations: all verdicts of each pair of annotators are the same",
        "alpha has no value for 1 of 2 relations: all verdicts are the same",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"per": "relations"}, "expected per to be one of relation, pair, found 'relations'; did you mean relation?"),
        ({"unsure": "drop"}, "expected unsure to be one of own category, leave out, found 'drop'"),
        ({"resample": "answer"}, "expected resample to be one of question, triple, found 'answer'"),
        ({"confidence": 95}, "expected a confidence between 0 and 1, found 95"),
        ({"resamples": 0}, "expected at least 1 bootstrap sample, got 0"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(KgtrecError) as caught:
        annotator_agreement(pool_of([10]), judgements_of(said(TWO)), **options)
    assert str(caught.value) == message


def test_judgements_of_another_pool_are_refused():
    with pytest.raises(CollectionError, match=r"the pool's 9 triples, found one of row 9; they are of another pool"):
        annotator_agreement(pool_of([9]), judgements_of(said(TWO)))


def test_a_broken_down_report_has_no_one_value():
    report = annotator_agreement(pool_of([10]), judgements_of(said(TWO)), per="pair")
    with pytest.raises(KgtrecError, match=r"expected totals, found agreement per annotator, other; use to_frame\(\)"):
        report.value("raw")
    assert repr(report) == "<AgreementReport: 7 statistics per annotator, other (1)>"


PREVALENCE = 0.136  # the share of positives in the pool of Zhou et al. (2022)
YES_TO_TRUE, YES_TO_FALSE = (0.93, 0.85), (0.02, 0.05)  # of each of two annotators


def simulated(n: int, seed: int) -> Judgements:
    """Two annotators who err independently of each other, given the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < PREVALENCE
    events = judgements_of([])
    verdict = np.concatenate([rng.random(n) < np.where(truth, YES_TO_TRUE[j], YES_TO_FALSE[j]) for j in (0, 1)])
    texts = judgements_of([(0, "a", "annotator", "Y")]).note.take(np.zeros(2 * n, int))
    return dataclasses.replace(
        events,
        triple=np.tile(np.arange(n, dtype=np.int32), 2),
        annotator=np.repeat(np.arange(2, dtype=np.int32), n),
        role=np.zeros(2 * n, np.int8),
        verdict=verdict.astype(np.int8),
        source=texts,
        note=texts,
        time=texts,
        annotators=judgements_of([(0, "a", "annotator", "Y"), (0, "b", "annotator", "Y")]).annotators,
    )


def closed_form(
    w: float = PREVALENCE,
    yes_to_true: tuple[float, float] = YES_TO_TRUE,
    yes_to_false: tuple[float, float] = YES_TO_FALSE,
) -> dict[str, float]:
    """What the statistics estimate: errors are independent given the truth, so the cells of the table are mixtures.

    P(both Y) = w s1 s2 + (1 - w) f1 f2, with prevalence w, P(Y | true) = s and P(Y | false) = f; the margins are
    y = w s + (1 - w) f. Everything else follows from the four cells.
    """
    (s1, s2), (f1, f2) = yes_to_true, yes_to_false
    both = w * s1 * s2 + (1 - w) * f1 * f2
    y1, y2 = w * s1 + (1 - w) * f1, w * s2 + (1 - w) * f2
    neither = 1 - y1 - y2 + both
    raw, yes = both + neither, (y1 + y2) / 2
    cohen = y1 * y2 + (1 - y1) * (1 - y2)
    gwet = 2 * yes * (1 - yes)
    return {
        "prevalence": yes,
        "raw": raw,
        "positive": both / yes,
        "negative": neither / (1 - yes),
        "kappa": (raw - cohen) / (1 - cohen),
        "AC1": (raw - gwet) / (1 - gwet),
        "alpha": 1 - (1 - raw) / (2 * yes * (1 - yes)),
    }


@pytest.mark.slow
def test_two_noisy_annotators_are_as_far_apart_as_theory_says():
    """Means over 200 simulated campaigns of 3,000 triples are within 4 standard errors of the closed forms."""
    n, repeats = 3000, 200
    pool = pool_of([n])
    found = np.array(
        [
            annotator_agreement(pool, simulated(n, seed), unsure="leave out", confidence=None).values[0]
            for seed in range(repeats)
        ]
    )
    expected = np.array([closed_form()[name] for name in STATISTICS])
    error = found.std(axis=0, ddof=1) / math.sqrt(repeats)
    assert (error < 0.002).all()
    assert (np.abs(found.mean(axis=0) - expected) < 4 * error).all()


@pytest.mark.slow
def test_intervals_hold_the_closed_form_as_often_as_they_say():
    """95% intervals of 200 campaigns of 400 triples: between 90 and 98.5% of them, for each statistic."""
    pool = pool_of([2] * 200)
    expected = np.array([closed_form()[name] for name in STATISTICS])
    within = np.zeros(len(STATISTICS))
    for seed in range(200):
        report = annotator_agreement(pool, simulated(400, seed), unsure="leave out", resamples=200, seed=seed)
        within += (report.low[0] <= expected) & (expected <= report.high[0])
    assert ((within >= 180) & (within <= 197)).all(), within


PAGE = Path(__file__).parents[2] / "docs" / "agreement.md"


@pytest.mark.parametrize(
    ("both", "neither", "expected"),
    [
        (45, 45, "0.500 0.900 0.900 0.900 0.800 0.800 0.801"),
        (8, 82, "0.130 0.900 0.615 0.943 0.558 0.871 0.560"),
        (2, 88, "0.070 0.900 0.286 0.946 0.232 0.885 0.236"),
        (0, 90, "0.050 0.900 0.000 0.947 -0.053 0.890 -0.047"),
    ],
)
def test_statistics_of_100_triples_with_ten_disagreements(both: int, neither: int, expected: str):
    """As Y becomes rare kappa and alpha fall, even below 0, and AC1 rises, though raw agreement is the same."""
    table = {"ann": "Y" * (both + 5) + "N" * (5 + neither), "bob": "Y" * both + "N" * 5 + "Y" * 5 + "N" * neither}
    report = annotator_agreement(pool_of([100]), judgements_of(said(table)), unsure="leave out", confidence=None)
    assert [f"{report.value(name):.3f}" for name in STATISTICS] == expected.split()


def test_the_closed_forms_of_the_page():
    """Both find 90% of what is true, and take 3% of what is false for true."""
    table = PAGE.read_text().partition("| true triples |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert len(rows) == 3
    for share, *shown in rows:
        expected = closed_form(float(share.rstrip("% ")) / 100, (0.9, 0.9), (0.03, 0.03))
        assert [f"{expected[name]:.3f}" for name in STATISTICS[:-1]] == shown
