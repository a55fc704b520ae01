"""Annotators who err on purpose err as often as they should, and each in their own way."""

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.data.arrow import labels_of
from kgtrec.data.judgements import Tasks
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError
from kgtrec.openworld.annotators import annotate

N = 4000


def tasks(n=N, first=0):
    """n triples (x1, r, y), (x2, r, y), ..., of which the even ones are true."""
    empty = labels_of([""] * n)
    heads = labels_of([f"x{i}" for i in range(first, first + n)])
    relation, tail = labels_of(["r"] * n), labels_of(["y"] * n)
    return Tasks(np.arange(1, n + 1), (("ann",),) * n, empty, heads, relation, tail, *[empty] * 6)


TRUTH = Triples.of([(f"x{i}", "r", "y") for i in range(0, N, 2)])
RIGHT = np.array(["Y", "N"] * (N // 2))


def verdicts(*args, **options):
    return np.array(annotate(*args, **options).verdict.to_pylist())


def test_who_never_errs_tells_the_truth():
    assert (verdicts(tasks(), TRUTH, "ann") == RIGHT).all()


def test_what_the_truth_has_no_label_for_is_false():
    assert set(verdicts(tasks(10, first=N + 1), TRUTH, "ann")) == {"N"}


def test_errors_and_doubts_come_at_their_rates():
    """Within 4 standard errors."""
    said = verdicts(tasks(), TRUTH, "ann", error=0.1, unsure=0.05)
    assert np.mean(said == "unsure") == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / N))
    told = said != "unsure"
    assert np.mean(said[told] != RIGHT[told]) == pytest.approx(0.1, abs=4 * np.sqrt(0.1 * 0.9 / told.sum()))


def test_people_err_independently_of_each_other():
    """Both are wrong about one triple at the product of their rates, within 4 standard errors."""
    ann, bob = (verdicts(tasks(), TRUTH, name, error=0.3) != RIGHT for name in ("ann", "bob"))
    assert np.mean(ann & bob) == pytest.approx(0.09, abs=4 * np.sqrt(0.09 * 0.91 / N))


def test_a_verdict_hangs_on_person_seed_and_triple_alone():
    """Not on what else is asked, or in which order."""
    all_of_them = verdicts(tasks(), TRUTH, "ann", error=0.3, seed=5)
    assert (verdicts(tasks(100, first=300), TRUTH, "ann", error=0.3, seed=5) == all_of_them[300:400]).all()
    assert (verdicts(tasks(), TRUTH, "ann", error=0.3, seed=6) != all_of_them).any()


def test_yes_and_no_come_with_a_link_and_doubt_without():
    filled = annotate(tasks(), TRUTH, "ann", unsure=0.5, source="https://registry.example/")
    for verdict, source in zip(filled.verdict.to_pylist(), filled.source.to_pylist(), strict=True):
        assert source == ("" if verdict == "unsure" else "https://registry.example/")


@pytest.mark.parametrize("wrong", [{"error": 1.1}, {"unsure": -0.1}])
def test_a_rate_is_a_probability(wrong):
    with pytest.raises(KgtrecError, match=r"expected .* to be a probability"):
        annotate(tasks(2), TRUTH, "ann", **wrong)
