"""Designs: nested samples with the probabilities that they say, and their file."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.campaign.sampled import opened_and_done
from kgtrec.data.campaign import Automatic
from kgtrec.data.design import Design
from kgtrec.data.judgements import AGREED, OPEN, Decisions
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign.designs import read_design
from kgtrec.formats.campaign.pools import read_pool, write_pool
from kgtrec.pooling.designs import DESIGNS, draw_design, drawing
from kgtrec.pooling.pool_runs import known_answers_of, pool_runs
from tests.examples import examples
from tests.judged_pools import pool_of
from tests.pool_worlds import PoolWorld, labels_of_triples, pool_worlds

pytestmark = pytest.mark.filterwarnings("ignore:.*are left out")
few = settings(max_examples=examples(30), deadline=None)
shares, strategies = st.sampled_from([0.05, 0.1, 0.2, 0.4, 0.5, 0.8, 1.0]), st.sampled_from(DESIGNS)


def design_of(world: PoolWorld, share: float, reverse: bool = False, **options) -> tuple[Design, set]:
    """The design, which may draw nothing, and what is drawn by labels."""
    order = list(range(len(world.scores)))[:: -1 if reverse else 1]
    pool = pool_runs(world.collection, world.runs(order, reverse))
    design = drawing(pool, known_answers_of(pool, world.collection), **options)(share)
    triples, ids = labels_of_triples(pool), list(pool.questions.ids)
    rows = np.flatnonzero(design.is_drawn)
    return design, {(ids[design.question[row]], triples[design.triple[row]]) for row in rows}


@few
@given(pool_worlds(), st.tuples(shares, shares), strategies, st.integers(0, 9))
def test_a_greater_share_contains_the_sample_of_a_smaller_one(world, two, strategy, seed):
    """Questions and triples."""
    (less, drawn), (more, drawn_of_more) = (
        design_of(world, share=share, strategy=strategy, seed=seed) for share in sorted(two)
    )
    assert drawn <= drawn_of_more
    assert np.all(less.is_opened <= more.is_opened)
    assert np.all(less.pi <= more.pi + 1e-12)


@few
@given(pool_worlds(), shares, strategies)
def test_the_sample_depends_on_labels_alone(world, share, strategy):
    """Not on the order of runs or of their rows."""
    options = {"share": share, "strategy": strategy}
    assert design_of(world, **options)[1] == design_of(world, reverse=True, **options)[1]


@few
@given(pool_worlds(), shares, strategies)
def test_probabilities_are_those_of_two_levels(world, share, strategy):
    """Only triples of opened questions are drawn; all of them with whole questions, and with everything."""
    design, _ = design_of(world, share=share, strategy=strategy)
    assert np.all((design.pi > 0) & (design.pi <= design.theta) & (design.theta <= 1))
    assert not np.any(design.is_drawn & ~design.is_opened)
    questions = np.unique(design.question)
    opened = np.unique(design.question[design.is_opened])
    assert np.allclose(design.theta, len(opened) / max(len(questions), 1))
    if strategy == "whole-questions":
        assert np.array_equal(design.is_drawn, design.is_opened)
    if share == 1:
        assert design.is_drawn.all()


def a_pool():
    pool = pool_of([3, 1, 4, 2, 6, 5, 2, 2])
    return pool, known_answers_of_nobody(pool)


def known_answers_of_nobody(pool):
    from kgtrec.data.qrels import Qrels

    none = np.zeros(0, np.int32)
    return Qrels.of(none, none, none, pool.questions.ids, pool.questions.entities)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", DESIGNS)
def test_triples_are_drawn_as_often_as_pi_says(strategy):
    """Over 2,000 seeds, within 5 standard errors; on average the share that was asked for."""
    pool, known = a_pool()
    drawn, opened = np.zeros((2, len(pool)))
    for seed in range(2000):
        design = draw_design(pool, known, strategy=strategy, share=0.25, seed=seed)
        drawn += design.is_drawn
        opened += design.is_opened
    for count, chance in ((drawn, design.pi), (opened, design.theta)):
        assert (np.abs(count / 2000 - chance) <= 5 * np.sqrt(chance * (1 - chance) / 2000)).all()
    assert design.pi.mean() == pytest.approx(0.25)


@pytest.mark.parametrize(("share", "opened"), [(0.1, 0.25), (0.3, 0.75), (0.65, 0.875), (1.0, 1.0)])
def test_questions_are_opened_at_two_and_a_half_times_the_share_up_to_three_quarters(share, opened):
    """Then more slowly, so that triples of opened questions are not judged at the same rate up to the whole pool."""
    pool = pool_of([1] * 200)
    design = draw_design(pool, known_answers_of_nobody(pool), share=share)
    assert len(np.unique(design.question[design.is_opened])) == round(opened * 200)


def test_what_matters_more_is_more_likely():
    """The first of a list rather than the sixth."""
    pool, known = a_pool()
    design = draw_design(pool, known, share=0.2)
    rows = np.flatnonzero(design.question == 4)
    assert np.all(np.diff(design.pi[rows]) <= 0)
    assert design.pi[rows[0]] > 2 * design.pi[rows[-1]]


def test_what_rules_have_judged_is_not_drawn():
    """Nor has it a probability."""
    pool, known = a_pool()
    rule = np.full(len(pool), -1, np.int8)
    rule[[0, 5]] = 0
    automatic = Automatic(rule, ("types",))
    design = draw_design(pool, known, automatic, share=1.0)
    assert sorted(design.triple) == [row for row in range(len(pool)) if row not in (0, 5)]
    asked = automatic.with_design(design)
    assert np.array_equal(asked.is_automatic, automatic.is_automatic)
    assert np.array_equal(asked.for_people, ~automatic.is_automatic)


@pytest.mark.parametrize("options", [{"share": 0.0}, {"share": 1.5}, {"strategy": "depth"}, {"seed": -1}])
def test_wrong_options_are_refused(options):
    """Before anything is drawn."""
    with pytest.raises(KgtrecError):
        draw_design(*a_pool(), **options)


def test_a_design_that_draws_nothing_is_refused():
    """Of two triples, of two questions, each is drawn with .4: in about .36 of the seeds none is."""
    pool, refused = pool_of([1, 1]), 0
    for seed in range(100):
        try:
            assert draw_design(pool, known_answers_of_nobody(pool), share=0.01, seed=seed).is_drawn.any()
        except KgtrecError as error:
            assert "a share that draws a triple, found 0.01; give a greater one (--share)" in str(error)  # noqa: PT017
            refused += 1
    assert 20 < refused < 55


@pytest.fixture
def folder(tmp_path):
    pool, known = a_pool()
    write_pool(tmp_path / "C", pool, known, design=draw_design(pool, known, share=0.3))
    return tmp_path / "C"


def by_label(design, pool):
    """Each row of a design, with the labels of its question and triple."""
    columns = (getattr(design, name).tolist() for name in ("theta", "pi", "is_opened", "is_drawn"))
    triples = labels_of_triples(pool)
    labels = ((pool.questions.ids[q], triples[t]) for q, t in zip(design.question, design.triple, strict=True))
    return list(zip(labels, *columns, strict=True))


def test_a_design_comes_back_from_its_file(folder):
    """And people are asked about what is drawn alone."""
    pool, known = a_pool()
    design, read = draw_design(pool, known, share=0.3), read_pool(folder)
    assert sorted(by_label(read.design, read.pool)) == sorted(by_label(design, pool))
    assert np.array_equal(read.automatic.for_people, read.design.asked(len(pool)))
    lines = (folder / "design.tsv").read_text().splitlines()
    assert lines[0] == "question\tentity\ttheta\tpi\topened\tdrawn"
    assert len(lines) == 1 + len(design)


def test_a_changed_design_is_refused(folder):
    """As every other file of the pool; a missing one too."""
    path = folder / "design.tsv"
    text = path.read_text()
    path.write_text(text.replace("no", "yes"))
    with pytest.raises(FormatError, match=r"design\.tsv"):
        read_pool(folder)
    path.unlink()
    with pytest.raises(FormatError, match=r"design\.tsv"):
        read_pool(folder)


def test_a_design_without_a_candidate_is_refused(folder):
    """Its file says how many lines are missing."""
    path, made = folder / "design.tsv", read_pool(folder)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    n = len(lines) - 1
    with pytest.raises(FormatError, match=f"expected {n} lines below the header, one per candidate, got {n - 1}"):
        read_design(path, made.pool, Automatic.none(len(made.pool)))


@pytest.mark.parametrize(
    ("column", "text", "expected"),
    [
        ("pi", "1e-320", "expected a probability from 1e-12 to 1, got '1e-320'"),
        ("theta", "0.9", "expected one theta in all lines, got another; restore"),
        ("opened", "yes", "expected a question to be opened or not, got both"),
    ],
)
def test_a_design_that_no_draw_has_made_is_refused_with_its_line(folder, column, text, expected):
    """A chance whose inverse is of no use, a question with another theta, one that is opened and not."""
    path, made = folder / "design.tsv", read_pool(folder)
    header, *lines = path.read_text().splitlines()
    names = header.split("\t")
    row = next(row for row, line in enumerate(lines) if row and line.endswith("no\tno"))
    fields = dict(zip(names, lines[row].split("\t"), strict=True)) | {column: text}
    lines[row] = "\t".join(fields.values())
    path.write_text("\n".join([header, *lines]) + "\n")
    with pytest.raises(FormatError) as caught:
        read_design(path, made.pool, Automatic.none(len(made.pool)))
    assert expected in str(caught.value)
    assert caught.value.line


def test_questions_without_a_draw_are_done_in_proportion():
    """None before anybody has judged, half of them once half of the others are done, then all."""
    pool = pool_of([2] * 16)
    question, every = np.repeat(np.arange(16), 2), np.ones(32, np.bool_)
    design = Design(question, np.arange(32), np.ones(32), np.full(32, 0.5), every, np.arange(32) < 16)
    for n_judged, n_done in ((0, 0), (8, 8), (16, 16)):
        verdict = np.where(np.arange(32) < n_judged, 1, -1).astype(np.int8)
        done = opened_and_done(
            pool.questions.ids, design, Decisions(np.where(verdict < 0, OPEN, AGREED).astype(np.int8), verdict)
        )
        assert len(np.unique(question[done])) == n_done
