"""What sampled candidates say of full ranks, and full ranks of samples."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.sampled_ranks import DRAWS, SampledRanks
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, KgtrecWarning, MeasureError, unwarned
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.kernels.ranking.positions import TIES
from kgtrec.meta.sampled import PROTOCOLS, expected_sampled, sampled_bounds
from kgtrec.ranking.rank import rank_scores
from tests.program import kgtrec, printed_by, refusal

BY_HAND = SampledRanks.of("mine", [0, 0, 1, 7], [0, 0, 0, 2], n_sampled=20, n_candidates=100)


def made(n_test: int = 25, levels: int = 40):
    """A collection and the ranks of random scores with ties."""
    rng = np.random.default_rng(0)
    triples = [(f"e{a}", f"r{r}", f"e{b}") for a, r, b in rng.integers(0, (60, 3, 60), (400, 3))]
    triples = list(dict.fromkeys(triples))
    splits = triples[n_test:-10], triples[-10:], triples[:n_test]
    collection = build_questions(*(Triples.of(part) for part in splits))
    scores = rng.integers(0, levels, (len(collection.questions), len(collection.entities))).astype(float)
    return collection, rank_scores(
        collection, scores, questions=collection, entities=collection, name="random"
    ).answer_ranks


def rows(result, key: str = "bounds") -> dict[tuple[str, str], tuple[float, float, float]]:
    return {
        (row["measure"], row["assumption"]): (row["value"], row["low"], row["high"]) for row in result[key].to_pylist()
    }


def test_values_by_hand():
    """Sampled ranks of 1, 1, 2 and 9, half of the two ties counted; the mean rank is 1 + 5 x 9 / 4."""
    found = rows(sampled_bounds(BY_HAND, "micro.MRR micro.MR micro.AMRI", model=True))
    assert found["sampled.MRR(20)", "sample"][0] == pytest.approx((1 + 1 + 1 / 2 + 1 / 9) / 4)
    assert found["sampled.MR(20)", "sample"][0] == pytest.approx(13 / 4)
    assert found["sampled.AMRI(20)", "sample"][0] == pytest.approx(1 - 2 * (9 / 4) / 20)
    assert found["micro.MR", "none"][0] == pytest.approx(12.25)
    assert found["micro.AMRI", "none"][0] == pytest.approx(1 - 2 * 11.25 / 100)
    assert found["micro.MRR", "model"][0] == pytest.approx((1 + 1 + 1 / 6 + 1 / 41) / 4)
    assert np.isnan(found["micro.MRR", "none"][0])


def test_names_keep_sampled_values_apart():
    """No measure of a sample has the name of a full one, and none of its names is a measure elsewhere."""
    table = sampled_bounds(BY_HAND, "micro.MRR micro.Hits@3 micro.MR")["bounds"].to_pylist()
    sampled = [row["measure"] for row in table if row["assumption"] == "sample"]
    assert sampled == ["sampled.MRR(20)", "sampled.Hits@3(20)", "sampled.MR(20)"]
    collection, ranks = made()
    for name in sampled:
        with pytest.raises(MeasureError, match="cannot be compared with measures over all"):
            evaluate(collection, ranks, name)


def test_bounds_with_ties_hold_those_without_them():
    """Of pessimistic ranks from below, and of optimistic ones from above."""
    rng = np.random.default_rng(0)
    above, tied = rng.multivariate_hypergeometric([9, 6, 35], 10, 60).T[:2]
    own = {"n_sampled": 10, "n_candidates": 50}
    ranks = SampledRanks.of("s", above, tied, **own)
    low, high = (SampledRanks.of("s", best, 0 * tied, **own) for best in (above + tied, above))
    with unwarned():  # these ranks do not fall
        found, least, most = (
            rows(sampled_bounds(one, "micro.MRR", confidence=level))["micro.MRR", "none"]
            for one, level in ((ranks, 0.9), (low, 0.95), (high, 0.95))
        )
    assert found[1:] == pytest.approx((least[1], most[2]))


@pytest.mark.slow
def test_the_order_of_answers_does_not_count():
    """Nor that of codes of samples."""
    rng = np.random.default_rng(0)
    above, sample = rng.integers(0, 9, 30), rng.integers(0, 12, 30)
    ranks = SampledRanks.of("s", above, 0 * above, n_sampled=9, n_candidates=rng.integers(40, 50, 30), sample=sample)
    turned = ranks.take(rng.permutation(30))
    assert ranks.sample is not None
    turned = replace(turned, sample=11 - turned.sample)
    for one, other in zip(rows(sampled_bounds(ranks)).values(), rows(sampled_bounds(turned)).values(), strict=True):
        assert one == pytest.approx(other, nan_ok=True)


@pytest.mark.slow
def test_samples_that_are_not_uniform_are_found():
    """Half of the answers are above all, half below all of 50 candidates: with 5 drawn that law does not fall."""
    ranks = SampledRanks.of("s", [0, 5] * 500, [0] * 1_000, n_sampled=5, n_candidates=1_000)
    with pytest.warns(KgtrecWarning, match="or the assumption is wrong"):
        found = rows(sampled_bounds(ranks, "micro.MRR"))
    assert np.isnan(found["micro.MRR", "falls"][1])
    assert found["micro.MRR", "none"][1] > 0


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("draw", ["without replacement", "with replacement"])
def test_expectations_against_simulation(ties, draw):
    """Means of 300 samples of each answer, and the deviation of the mean over answers."""
    _, ranks = made()
    rng = np.random.default_rng(0)
    n, m = len(ranks), 12
    found = expected_sampled(ranks, m, "micro.MRR micro.Hits@3 micro.MR", draw=draw, ties=ties)["sampled"]
    share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[ties]
    values = np.empty((300, n, 3))
    for row, (above, tied, others) in enumerate(zip(ranks.above, ranks.tied, ranks.n_other, strict=True)):
        counts = int(above), int(tied), int(others - above - tied)
        if draw == "without replacement":
            drawn = rng.multivariate_hypergeometric(counts, m, size=300)
        else:
            drawn = rng.multinomial(m, np.array(counts) / others, size=300)
        rank = 1 + drawn[:, 0] + share * drawn[:, 1]
        values[:, row] = np.stack([1 / rank, rank <= 3, rank], axis=1)
    means = values.mean(axis=1)
    for place, (value, deviation) in enumerate(
        zip(found["value"].to_pylist(), found["deviation"].to_pylist(), strict=True)
    ):
        assert abs(means[:, place].mean() - value) < 4 * deviation / np.sqrt(300)
        assert means[:, place].std() == pytest.approx(deviation, rel=0.2)


def test_a_sample_of_all_candidates_gives_the_full_values():
    """Of the answers that have as many candidates, with no deviation."""
    _, ranks = made()
    for m in np.unique(ranks.n_other):
        own = ranks.take(ranks.n_other == m)
        rank = 1 + own.above + own.tied / 2
        found = expected_sampled(own, int(m), "micro.MRR micro.MR")["sampled"]
        assert found["value"].to_pylist() == pytest.approx([(1 / rank).mean(), rank.mean()])
        assert found["deviation"].to_pylist() == pytest.approx([0, 0], abs=1e-6)


@pytest.mark.parametrize("replace", [False, True])
def test_samples_of_all_candidates_determine_full_values(replace):
    """Without replacement the value and both ends are those of the full ranks, ties included; with it they are not."""
    _, ranks = made()
    n = int(np.bincount(ranks.n_other).argmax())
    own = ranks.take(ranks.n_other == n)
    draw = DRAWS[int(replace)]
    sampled = SampledRanks.of("s", own.above, own.tied, n_sampled=n, n_candidates=n, draw=draw)
    measures = "micro.MRR micro.Hits@3 micro.MR micro.AMRI"
    with unwarned():
        found = rows(sampled_bounds(sampled, measures))
    full = 1 + own.above + own.tied / 2
    values = (1 / full).mean(), (full <= 3).mean(), full.mean(), 1 - 2 * (full - 1).mean() / n
    assert own.tied.any()
    for measure, value in zip(measures.split(), values, strict=True):
        _, low, high = found[measure, "none"]
        assert (low < value < high) if replace else found[measure, "none"] == pytest.approx([value] * 3)
        assert ((measure, "falls") in found) == (replace and measure not in ("micro.MR", "micro.AMRI"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_sampled": 0}, "number of sampled candidates to be a whole number"),
        ({"n_sampled": 500}, "at least 500 candidates to draw from, found one with"),
        ({"measures": "macro.MRR"}, "macro.MRR: expected a mean over answers of a value of the rank"),
        ({"measures": "micro.AMRI"}, "micro.AMRI: expected a mean over answers"),
        ({"measures": "micro.GMR"}, "micro.GMR: expected"),
        ({"draw": "again"}, "a draw"),
        ({"ties": "trec"}, "ties realistic"),
    ],
)
def test_what_has_no_expectation_is_refused(given, message):
    """Before the computation."""
    _, ranks = made()
    with pytest.raises(KgtrecError, match=message):
        expected_sampled(ranks, **{"n_sampled": 5, **given})


def test_other_inputs_are_refused():
    """Cut lists, ranks of the other kind, and a confidence of 95."""
    _, ranks = made()
    with pytest.raises(KgtrecError, match="cut list"):
        expected_sampled(replace(ranks, cut=np.ones(len(ranks), bool)), 5)
    with pytest.raises(KgtrecError, match=r"expected SampledRanks, found .*AnswerRanks"):
        sampled_bounds([ranks])
    for verb, one in ((sampled_bounds, BY_HAND), (expected_sampled, ranks)):
        more = (5,) if one is ranks else ()
        with pytest.raises(KgtrecError, match="expected systems of different names, found"):
            verb([one, one], *more)
        with pytest.raises(KgtrecError, match="expected at least one system, found none"):
            verb([], *more)
    with pytest.raises(KgtrecError, match="a confidence between 0 and 1"):
        sampled_bounds(BY_HAND, confidence=95)


@pytest.fixture
def files(tmp_path, monkeypatch) -> AnswerRanks:
    """A collection C, ranks of two systems, and an archive of scores."""
    monkeypatch.chdir(tmp_path)
    _, ranks = made()
    from kgtrec.formats.answer_ranks import write_answer_ranks

    (tmp_path / "ranks").mkdir()
    for name in ("one", "two"):
        write_answer_ranks(f"ranks/{name}.ranks.parquet", ranks.renamed(name))
    np.savez("mine.npz", y_pred_pos=[1.0, 0.0], y_pred_neg=[[0.5, 2.0], [0.0, 1.0]])
    return ranks


def test_the_command_on_scores(files, capsys):
    """A row for the sample, and those of the full measure under each assumption."""
    shown = printed_by(
        capsys, "meta", "sampled", "mine.npz", "--candidates-total", "8", "-m", "micro.MR", "--format", "csv"
    )
    header, sample, full = shown.splitlines()
    assert header == "system,measure,assumption,value,low,high"
    assert sample == "mine,sampled.MR(2),sample,2.25,,"
    assert full.startswith("mine,micro.MR,none,6.0,")


def test_the_command_on_ranks(files, capsys):
    """The same as from Python, for each file of a folder."""
    shown = printed_by(capsys, "meta", "sampled", "ranks", "--candidates", "5", "-m", "micro.MRR", "--format", "csv")
    value, deviation = (
        expected_sampled(files, 5, "micro.MRR")["sampled"][name][0].as_py() for name in ("value", "deviation")
    )
    assert shown.splitlines()[1:] == [f"{name},sampled.MRR(5),{value!r},{deviation!r}" for name in ("one", "two")]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["mine.npz"], "--candidates-total"),
        (["mine.npz", "--candidates", "5"], "mine.npz: expected answer ranks"),
        (["ranks"], "ranks: expected scores of answers and of the candidates sampled for each, found answer ranks"),
        (["ranks", "--candidates", "5", "--model"], "found --model with --candidates, which needs full ranks"),
        (["mine.npz", "--candidates-total", "8", "--ties", "optimistic"], "found --ties with scores of samples"),
        (["mine.npz", "--candidates-total", "1"], "mine.npz: expected at least 2 candidates to draw from, found 1"),
    ],
)
def test_the_command_refuses(files, capsys, args, message):
    """With the file or the option."""
    assert message in refusal(capsys, "meta", "sampled", *args)


def test_scores_of_samples_are_no_systems(files, capsys):
    """Where runs are expected, the error names the command: for an archive, and for a folder."""
    Path("mine").mkdir()
    np.save("mine/y_pred_neg.npy", np.zeros((2, 2)))
    Path("qrels.txt").write_text("q 0 a 1\n")
    for path in ("mine.npz", "mine"):
        message = refusal(capsys, "evaluate", "qrels.txt", path)
        assert message.startswith(f"error: {path}")
        assert "scores of sampled candidates: see kgtrec meta sampled" in message


def test_the_help_has_examples(capsys):
    """As that of other commands."""
    kgtrec("meta", "sampled", "--help")
    assert "kgtrec meta sampled ranks --candidates 500" in capsys.readouterr().out


@given(st.lists(st.integers(0, 4), min_size=4, max_size=9), st.integers(1, 3))
def test_grails_expectation_draws_from_all_that_the_graph_does_not_have(scores: list[int], n_answers: int):
    """E[1 / rank] = (1 - (1 - p)^50) / (50 p) for 49 draws with replacement, p the share above, answers in it."""
    n = len(scores)
    test = [("x", "r", f"e{answer}") for answer in range(n_answers)]
    train = [(f"e{number}", "s", f"e{number + 1}") for number in range(n - 1)]
    collection = build_questions(train, test=test, sides="tail")
    width = len(collection.entities)
    block = np.array([[*scores, 2][:width]], float)
    ranks = rank_scores(
        collection, block, questions=collection, entities=collection, depth=0, filtered_by=("train",)
    ).answer_ranks
    for ties, above in (("optimistic", np.greater), ("pessimistic", np.greater_equal)):
        found = expected_sampled(ranks, measures="micro.MRR", **PROTOCOLS["grail"], ties=ties)["sampled"]
        shares = [above(block[0], block[0, entity]).mean() for entity in collection.qrels.entity]
        expected = [1 if p == 0 else (1 - (1 - p) ** 50) / (50 * p) for p in shares]
        assert found["value"][0].as_py() == pytest.approx(np.mean(expected))


def test_the_other_protocols_are_draws_from_the_other_candidates():
    """ULTRA's 49 and AdaProp's 50: of hits@10, P(at most 9 of them above), by the binomial law."""
    above, n = 30, 100
    labels = Vocabulary.of(["q"]), Vocabulary.of(["e"])
    codes, splits = (np.zeros(1, np.int32),) * 2, ("train", "valid", "test")
    counts = (np.array([number], np.int32) for number in (above, 0, n))
    ranks = AnswerRanks("mine", *codes, np.array([True]), *counts, np.zeros(1), *labels, splits, "")
    for name, drawn in (("ultra", 49), ("adaprop", 50)):
        law = [comb(drawn, k) * (above / n) ** k * (1 - above / n) ** (drawn - k) for k in range(10)]
        found = expected_sampled(ranks, measures="micro.Hits@10", **PROTOCOLS[name])["sampled"]
        assert found["value"][0].as_py() == pytest.approx(sum(law))
    law = [comb(above, k) * comb(n - above, 50 - k) / comb(n, 50) for k in range(10)]
    found = expected_sampled(ranks, measures="micro.Hits@10", **PROTOCOLS["pykeen"])["sampled"]
    assert found["value"][0].as_py() == pytest.approx(sum(law))
    with pytest.raises(KgtrecError, match="filtered by train alone"):
        expected_sampled(ranks, **PROTOCOLS["grail"])


def test_the_command_prints_what_a_protocol_would(files, capsys):
    """ULTRA's ties are pessimistic unless others are asked for; --candidates beside it is refused."""
    printed = printed_by(capsys, "meta", "sampled", "ranks", "--like", "ultra", "--ties", "optimistic")
    assert "49 candidates with replacement; optimistic ties" in printed
    assert "pessimistic ties" in printed_by(capsys, "meta", "sampled", "ranks", "--like", "ultra")
    refused = refusal(capsys, "meta", "sampled", "ranks", "--like", "ultra", "--candidates", "9")
    assert "--candidates with --like" in refused
