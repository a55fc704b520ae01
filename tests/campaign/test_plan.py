"""Plans: what they promise is what estimates give, goals are met, and rounds only add to what people judge."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import kgtrec
from kgtrec.campaign import OpenCampaign, assign, draw_round, plan, read_campaign, sampled_qrels, write_pool
from kgtrec.campaign.decide import decisions_of
from kgtrec.campaign.plan import pooled_runs, sample_state
from kgtrec.campaign.sampled import is_decided, opened_and_done
from kgtrec.cli import main
from kgtrec.data.campaign import Campaign
from kgtrec.data.judgements import Incoming
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions
from kgtrec.data.run import Run
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign.folder import write_people
from kgtrec.formats.campaign.judgements import append_judgements
from kgtrec.pooling import draw_design
from tests.campaign_folders import people_of
from tests.judged_pools import judgements_of
from tests.trees import faulty_runs, tree

pytestmark = pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")
WHO = people_of(("ann", "annotator", True), ("bob", "annotator", True), ("eve", "adjudicator", True))
N_QUESTIONS, DEPTH = 12, 4


def pooled(seed: int = 0, n_runs: int = 3) -> tuple[Pool, Qrels, list[Run]]:
    """A pool of depth 4 of runs that list eight entities for each question, of which the last is a known answer."""
    rng = np.random.default_rng(seed)
    labels = [*(f"a{row}" for row in range(N_QUESTIONS)), *(f"e{row}" for row in range(8))]
    entities, names = Vocabulary.of(labels), Vocabulary.of(["r"])
    rows = np.arange(N_QUESTIONS, dtype=np.int32)
    ids = Vocabulary.of([f"tail{row}" for row in rows])
    questions = Questions(ids, np.zeros(len(rows), bool), rows * 0, rows, entities, names)
    order = np.argsort(rng.random((n_runs, N_QUESTIONS, 8)), axis=2)
    run, question, place = (part.ravel().astype(np.int32) for part in np.indices(order.shape))
    entity = (order.ravel() + N_QUESTIONS).astype(np.int32)
    runs = [
        Run.of(f"s{row}", question[run == row], entity[run == row], -place[run == row].astype(float), ids, entities)
        for row in range(n_runs)
    ]
    top = (place < DEPTH) & (entity < len(labels) - 1)
    key, triple = np.unique(question[top].astype(np.int64) * 100 + entity[top], return_inverse=True)
    triples = Triples(
        (key // 100).astype(np.int32), (key * 0).astype(np.int32), (key % 100).astype(np.int32), entities, names
    )
    columns = triple.astype(np.int32), question[top], run[top], place[top] + 1
    pool = Pool.of(triples, *columns, [each.name for each in runs], questions)
    return pool, Qrels.of(rows, rows * 0 + len(labels) - 1, rows * 0 + 1, ids, entities), runs


def campaign_in(folder, share: float | None = None, seed: int = 0):
    """The campaign of such a pool, with people, and a sample unless there is no share."""
    pool, known, _ = pooled()
    made = {"strategy": "depth", "options": {"depth": DEPTH}}
    design = None
    if share is not None:
        design = draw_design(pool, known, share=share, seed=seed)
        made = {"strategy": "two-level", "options": {"depth": DEPTH, "share": share}}
    write_pool(folder, pool, known, design=design, made=made, seed=seed)
    for name in ("templates.tsv", "names.tsv"):
        (folder / name).write_text({"templates.tsv": "relation\ttemplate\n", "names.tsv": "entity\tname\n"}[name])
    (folder / "sources.txt").write_text("")
    write_people(folder, WHO)
    return folder


def judge(folder, share: float = 1.0, yes: int = 3) -> Campaign:
    """Ann and bob agree on the first drawn triples: every third one is Y."""
    campaign = read_campaign(folder)
    rows = np.flatnonzero(campaign.automatic.for_people)
    rows = rows[: int(len(rows) * share)]
    said = [(row, name, "annotator", "YN"[int(row % yes > 0)]) for row in rows for name in ("ann", "bob")]
    append_judgements(folder / "judgements.jsonl", campaign.pool, judgements_of(said))
    return read_campaign(folder)


# --- plans


def test_lists_of_a_pool_are_the_tops_of_the_runs():
    """With known answers at their ranks: the measures at the depth are those of the runs, whatever is judged Y."""
    for seed in range(3):
        pool, known, runs = pooled(seed)
        qrels: dict = {name: {"e7": 1} for name in pool.questions.ids}
        for row in range(len(pool)):
            head, _, tail = pool.triples.labels_at(row)
            qrels[f"tail{head[1:]}"][tail] = (row + seed) % 2
        measures = [f"P@{DEPTH}", f"nDCG@{DEPTH}", f"AP@{DEPTH}"]
        ours, theirs = (kgtrec.evaluate(qrels, lists, measures) for lists in (pooled_runs(pool, known), runs))
        np.testing.assert_allclose(ours.values, theirs.values)


def test_a_plan_of_what_is_judged_is_its_interval(tmp_path):
    """Half-widths are those of kgtrec evaluate, mean over the systems; nothing is left to do."""
    campaign = judge(campaign_in(tmp_path / "C", 0.3))
    _, _, runs = pooled()
    planned = plan(campaign, runs, ["AP@4", "P@2"], shares=[0.3])
    scores = kgtrec.evaluate(sampled_qrels(campaign), runs, ["AP@4", "P@2"])
    half = (scores.high - scores.low)[:, :, 0].mean(axis=0) / 2
    np.testing.assert_allclose(planned.data["half_width"].to_numpy(), half)
    assert planned.data["verdicts"].to_pylist() == [0, 0]
    assert planned.error == 0
    assert np.isnan(plan(judge(campaign_in(tmp_path / "D", 1.0)), shares=[1.0]).yes)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["two-level", "whole-questions"])
@pytest.mark.parametrize("seed", range(3))
def test_more_triples_cost_more_and_narrow_intervals(tmp_path, seed, strategy):
    """The whole pool leaves no width; questions, triples, verdicts and hours grow with the share."""
    campaign = read_campaign(campaign_in(tmp_path / "C", seed=seed))
    planned = plan(campaign, strategy=strategy, shares=[0.2, 0.5, 1.0], seed=seed)
    table = planned.data.to_pandas()
    for name in ("questions", "triples", "verdicts", "hours"):
        assert table[name].is_monotonic_increasing
    last = table[table.share == 1.0]
    assert (last.triples == len(campaign.pool)).all()
    assert (last.verdicts == 2 * len(campaign.pool)).all()
    np.testing.assert_allclose(last[["half_width", "difference"]], 0, atol=1e-9)
    widths = table.groupby("share").half_width.mean()
    assert widths[0.2] > widths[1.0]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [20, 61, 90, 1000])
def test_a_budget_is_kept_and_used_up(tmp_path, budget):
    """The next greater share would need more."""
    campaign = read_campaign(campaign_in(tmp_path / "C"))
    planned = plan(campaign, measures="P@4", budget=budget)
    [share] = planned.shares
    assert planned.data["verdicts"][0].as_py() <= budget
    more = plan(campaign, measures="P@4", shares=[min(1.0, share + 0.001)])
    assert share == 1 or more.data["verdicts"][0].as_py() > budget
    [hours] = planned.data["hours"].to_pylist()
    assert plan(campaign, measures="P@4", hours=hours).shares == [share]


@pytest.mark.slow
@pytest.mark.parametrize("half_width", [0.02, 0.05, 0.15, 5.0])
def test_a_target_is_reached_by_about_the_smallest_share(tmp_path, half_width):
    """Nine tenths of it would not do."""
    campaign = read_campaign(campaign_in(tmp_path / "C"))
    planned = plan(campaign, target=("AP@4", half_width), measures="P@4")
    [share] = planned.shares
    assert planned.data["measure"].to_pylist() == ["AP@4", "P@4"]
    assert planned.data["half_width"][0].as_py() <= half_width
    if half_width < 0.2:
        less = plan(campaign, measures="AP@4", shares=[0.9 * share])
        assert less.data["half_width"][0].as_py() > half_width


@pytest.mark.slow
def test_plans_depend_on_the_seed_alone(tmp_path):
    """Not on the order of the systems."""
    campaign, (_, _, runs) = read_campaign(campaign_in(tmp_path / "C")), pooled()
    first, again, other = (
        plan(campaign, lists, shares=[0.4], seed=seed).data["half_width"].to_numpy()
        for lists, seed in ((runs, 0), (runs[::-1], 0), (runs, 1))
    )
    np.testing.assert_allclose(first, again, rtol=1e-12)
    assert not np.allclose(first, other)


@pytest.mark.slow
def test_judged_questions_tell_how_much_is_true(tmp_path):
    """After all verdicts were N the rest is taken to be mostly N; before any, Y with the prior."""
    campaign = read_campaign(campaign_in(tmp_path / "C", 0.4))
    assert plan(campaign, prior=0.3, shares=[0.4]).yes == pytest.approx(0.3)
    assert plan(judge(tmp_path / "C", yes=1000), shares=[0.4]).yes < 0.1


@pytest.mark.slow
def test_the_share_that_people_judge_is_in_the_table_and_none_below_it(tmp_path):
    """Own share first; a smaller one is refused."""
    campaign = read_campaign(campaign_in(tmp_path / "C", 0.25))
    assert plan(campaign).shares == [0.25, 0.33, 0.5]
    assert plan(campaign, target=("P@4", 5.0)).shares == [0.25]
    for goal in ({"shares": [0.2]}, {"budget": 1}, {"strategy": "whole-questions"}):
        with pytest.raises(KgtrecError):
            plan(campaign, **goal)


@pytest.mark.parametrize(
    "goals", [{"budget": 9, "hours": 1.0}, {"target": ("P@4", 0.0)}, {"shares": [1.2]}, {"prior": 1.0}, {"budget": 1}]
)
def test_wrong_goals_are_refused(tmp_path, goals):
    """Two at once, none that can be reached, or out of range."""
    with pytest.raises(KgtrecError):
        plan(read_campaign(campaign_in(tmp_path / "C")), **goals)


def test_a_budget_that_is_too_small_names_the_way_out(tmp_path):
    """Fewer verdicts per triple, unless it is one."""
    campaign = read_campaign(campaign_in(tmp_path / "C"))
    with pytest.raises(KgtrecError, match=r"\(2 per triple\), .*; ask for fewer: .* --per-triple 1"):
        plan(campaign, budget=1)
    alone = replace(campaign, settings={**campaign.settings, "annotators_per_triple": 1})
    with pytest.raises(KgtrecError, match=r"\(1 per triple\), \d+\.\d hours, found less$"):
        plan(alone, budget=1)


@pytest.mark.slow
def test_a_plan_says_what_it_rests_on_and_draws_itself(tmp_path):
    """In the note of its tables."""
    planned = plan(read_campaign(campaign_in(tmp_path / "C")), shares=[0.5])
    note = planned.tables()[0].note
    assert "Y with probability 0.150" in note
    assert "53 s for a candidate" in note
    assert planned.error < 0.05 or planned.worlds == 30
    assert planned.figures()[0].kind == "half_widths"


def test_the_state_of_a_sample_is_what_estimates_say(tmp_path):
    """Nothing without a sample; counts at first; widths once two questions are done."""
    assert sample_state(read_campaign(campaign_in(tmp_path / "W"))) is None
    folder = campaign_in(tmp_path / "C", 0.4)
    before = sample_state(read_campaign(folder))
    assert before.questions[0] == before.triples[0] == 0
    assert before.widths == {}
    campaign = judge(folder, 0.7)
    state, design = sample_state(campaign), campaign.design
    decisions = decisions_of(campaign)
    assert state.triples == (is_decided(decisions).sum(), campaign.automatic.for_people.sum())
    done = opened_and_done(campaign.pool.questions.ids, design, decisions) & design.is_drawn
    assert state.questions == (len(set(design.question[done])), len(set(design.question[design.is_drawn])))
    _, _, runs = pooled()
    scores = kgtrec.evaluate(sampled_qrels(campaign), runs, list(state.widths))
    np.testing.assert_allclose([*state.widths.values()], (scores.high - scores.low)[:, :, 0].mean(axis=0) / 2)


# --- rounds


def test_rounds_add_to_the_sample_and_keep_what_is_judged(tmp_path):
    """And the settings hold the strategy, the share, and the shares of all rounds; an open page sees it."""
    folder = campaign_in(tmp_path / "C")
    opened = OpenCampaign(folder)
    assert opened.campaign.design is None
    drawn = []
    for share in (0.2, 0.5, 0.5, 1.0):
        now = draw_round(folder, share)
        read = read_campaign(folder)
        assert np.array_equal(read.design.is_drawn, now.design.is_drawn)
        assert np.array_equal(opened.campaign.automatic.for_people, read.automatic.for_people)
        drawn.append(read.automatic.for_people)
        shared = assign(read.pool, read.automatic, WHO, read.judgements, read.assignments)
        assert set(shared.triple) == set(np.flatnonzero(drawn[-1]))
        if share == 0.2:
            judge(folder)
    assert np.all(drawn[0] <= drawn[1])
    assert drawn[3].all()
    assert len(read.judgements) == 2 * drawn[0].sum()
    settings = json.loads((folder / "campaign.json").read_text())
    assert settings["pool"] == {
        "strategy": "two-level",
        "options": {"depth": DEPTH, "share": 1.0, "shares": [0.2, 0.5, 1.0]},
    }
    assert "design_before" not in settings


def test_verdicts_on_new_triples_are_stored_without_a_restart(tmp_path):
    """Those that a program refused before the round."""
    folder = campaign_in(tmp_path / "C", 0.2)
    opened = OpenCampaign(folder)
    row = int(np.flatnonzero(~opened.campaign.automatic.for_people)[0])
    verdict = Incoming("page", "ann", "Y", row + 1, source="https://en.wikipedia.org/wiki/Paris")
    with pytest.raises(KgtrecError):
        opened.store([verdict], unassigned=True)
    draw_round(folder, 1.0)
    assert len(opened.store([verdict], unassigned=True)) == 1


@pytest.mark.parametrize("case", ["smaller", "judged", "other strategy", "other seed", "no share", "out of range"])
def test_rounds_that_would_spoil_the_sample_are_refused_and_change_nothing(tmp_path, case):
    """A smaller one, one after people judged freely, and one that lacks what is drawn."""
    folder = campaign_in(tmp_path / "C", None if case == "judged" else 0.3)
    if case == "judged":
        judge(folder, 0.2)
    settings = json.loads((folder / "campaign.json").read_text())
    if case == "other seed":
        settings["seed"] = 5
    if case == "no share":
        del settings["pool"]["options"]["share"]
    (folder / "campaign.json").write_text(json.dumps(settings))
    before = tree(folder)
    strategy = "whole-questions" if case == "other strategy" else None
    with pytest.raises(KgtrecError):
        draw_round(folder, {"smaller": 0.2, "out of range": 1.1}.get(case, 0.4), strategy=strategy)
    assert tree(folder) == before


@pytest.mark.slow
def test_a_round_that_is_stopped_anywhere_can_be_read_and_repeated(tmp_path):
    """The campaign has the smaller sample or the greater one, with all verdicts."""
    import shutil

    made = judge_and_return(campaign_in(tmp_path / "made", 0.2))
    less = read_campaign(made).automatic.for_people
    shutil.copytree(made, tmp_path / "whole")
    more = draw_round(tmp_path / "whole", 0.6).automatic.for_people
    folder = tmp_path / "C"

    def reset() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, folder)

    seen = set()
    for fault, number, _ in faulty_runs(lambda: draw_round(folder, 0.6), reset):
        read = read_campaign(folder)
        now = read.automatic.for_people
        assert np.array_equal(now, less) or np.array_equal(now, more), (fault, number)
        assert len(read.judgements) == 2 * less.sum()
        seen.add(int(now.sum()))
        assert np.array_equal(draw_round(folder, 0.6).automatic.for_people, more), (fault, number)
        assert (folder / "campaign.json").read_text() == (tmp_path / "whole" / "campaign.json").read_text()
    assert len(seen) == 2


def judge_and_return(folder):
    judge(folder)
    return folder


def test_a_sample_that_is_gone_is_an_error(tmp_path):
    """It is not taken for a whole pool."""
    folder = campaign_in(tmp_path / "C")
    draw_round(folder, 0.3)
    (folder / "design.tsv").unlink()
    with pytest.raises(FormatError, match=r"design\.tsv"):
        read_campaign(folder)


# --- the command


def run(capsys, *words) -> tuple[int, str, str]:
    code = 0
    try:
        main(["campaign", "plan", *map(str, words)])
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    return code, *capsys.readouterr()


@pytest.mark.slow
@pytest.mark.parametrize("target", ["AP@4 0.1", "AP@4 +-0.1", " AP@4  ±0.1"])
def test_the_command_takes_a_target_in_any_spelling(tmp_path, capsys, target):
    """And says how to draw the sample."""
    folder = campaign_in(tmp_path / "C")
    code, out, err = run(capsys, folder, "--target", target)
    [share] = plan(read_campaign(folder), target=("AP@4", 0.1)).shares
    assert code == 0
    assert f"{share:.1%}" in out
    assert f"--share {share:g} --extend" in err


@pytest.mark.slow
def test_the_command_draws_what_it_plans(tmp_path, capsys):
    """The share is in the settings then."""
    folder = campaign_in(tmp_path / "C")
    code, _, err = run(capsys, folder, "--budget", 40, "--extend")
    assert code == 0
    assert "next: kgtrec campaign assign" in err
    campaign = read_campaign(folder)
    assert 2 * campaign.automatic.for_people.sum() <= 40
    assert campaign.settings["pool"]["options"]["share"] > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "AP@4"], "such as"),
        (["--target", "AP@4 wide"], "such as"),
        (["--target", "AP@4 -1"], "such as"),
        (["--extend"], "one share"),
        (["--share", "0.1", "--share", "0.2", "--extend"], "one share"),
        (["--budget", "40", "--hours", "3"], "one of"),
    ],
)
def test_the_command_refuses_what_it_cannot_plan(tmp_path, capsys, words, said):
    """With the way out, and nothing is changed."""
    folder = campaign_in(tmp_path / "C")
    before = tree(folder)
    code, _, err = run(capsys, folder, *words)
    assert code == 2
    assert said in err
    assert tree(folder) == before
