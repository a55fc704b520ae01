"""A campaign whose people judge a designed sample, by its commands and through its page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import kgtrec
from kgtrec.campaign import decide, question_level, read_campaign, sampled_qrels
from kgtrec.campaign.assign import groups_of
from kgtrec.data.judgements import AGREED, Decisions
from kgtrec.errors import KgtrecWarning
from tests.program import exit_code, printed_by, refusal, said_by
from tests.program import kgtrec as run
from tests.serve.conftest import Page, app_of
from tests.studies import study_toml

EXAMPLE = Path(__file__).parents[3] / "examples/cities"
MEASURES = "macro.MRR AP@20 nDCG@20 P@10"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A collection, runs, and a campaign of one annotator a triple that has drawn two fifths of its pool."""
    folder = tmp_path_factory.mktemp("sampled")
    run("questions", EXAMPLE, "--out", folder / "C")
    run("rank", folder / "C", "--baseline", "rules", "--baseline", "svd", "--out", folder / "ranks")
    pooling = "pool", folder / "C", folder / "ranks", "--depth", "5", "--strategy", "two-level", "--share", "0.4"
    run(*pooling, "--out", folder / "A")
    run("campaign", "init", folder / "A", "--annotator", "ann", "--links", "annotator=none")
    run("campaign", "assign", folder / "A", "--per-triple", "1")
    return folder


def truth(campaign) -> np.ndarray:
    """Whether each triple of the pool is true: every third in the order of the labels."""
    return np.arange(len(campaign.pool)) % 3 == 0


def judge_through_the_page(folder: Path, most: int | None = None, right: np.ndarray | None = None) -> int:
    """Ann answers what she is asked, question by question; how many triples she has judged."""
    campaign = read_campaign(folder)
    right = truth(campaign) if right is None else right
    page = Page(folder, app_of(folder))
    ann, done = page.browser("ann"), 0
    group = groups_of(campaign.pool, campaign.automatic, seed=campaign.assignment_seed)
    for question in np.unique(group[campaign.automatic.for_people]).tolist():
        shown = ann.get(f"/question/{question + 1}").text
        tasks = sorted({int(number) for number in re.findall(r'name="verdict-(\d+)"', shown)})
        assert all(campaign.automatic.for_people[task - 1] for task in tasks)
        answered = ann.judge(question + 1, **{f"verdict_{task}": "NY"[int(right[task - 1])] for task in tasks})
        assert answered.status_code == 303
        done += len(tasks)
        if most is not None and done >= most:
            break
    return done


@pytest.fixture(scope="module")
def judged(made) -> Path:
    judge_through_the_page(made / "A", most=8)
    with pytest.warns(KgtrecWarning, match="not judged to the end"):
        sampled_qrels(read_campaign(made / "A"))
    judge_through_the_page(made / "A")
    return made


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_estimates_of_the_command_are_those_of_python(judged, capsys):
    """With intervals that hold the values of the whole pool for this seed, and a note of what they are over."""
    campaign, runs = read_campaign(judged / "A"), sorted((judged / "ranks").glob("*.run.gz"))
    words = "evaluate", judged / "A", *runs, "-m", MEASURES, "--collection", judged / "C"
    rows = json.loads(printed_by(capsys, *words, "--format", "json"))
    collection = kgtrec.read_collection(judged / "C")
    scores = kgtrec.evaluate(sampled_qrels(campaign), runs, MEASURES.split(), collection=collection)
    assert [row["value"] for row in rows] == pytest.approx(scores.values.ravel(), abs=1e-12)
    assert {row["drawn"] for row in rows} == {"pool"}
    decisions = Decisions(np.full(len(campaign.pool), AGREED, np.int8), truth(campaign).astype(np.int8))
    whole = question_level(campaign.pool, campaign.known_answers, decisions)
    values = kgtrec.evaluate(whole, runs, MEASURES.split(), collection=collection).values
    reach = 2 * (scores.high - scores.values)
    assert (np.abs(scores.values - values) <= np.maximum(reach, 1e-9)).all()
    assert "95% intervals are over other samples of this pool" in said_by(capsys, *words)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_differences_are_shown_by_power_and_compare(judged, capsys):
    """With both tests, and their intervals."""
    runs = sorted((judged / "ranks").glob("*.run.gz"))
    shown = printed_by(capsys, "meta", "power", judged / "A", *runs, "-m", MEASURES)
    assert "t, whole pool" in shown
    assert "t, other questions" in shown
    both = printed_by(capsys, "meta", "compare", judged / "A", *runs, "-m", "AP@20", "--confidence", "0.9")
    assert "90% from" in both


@pytest.mark.slow
def test_what_was_not_drawn_stays_so(judged, capsys):
    """Nobody's verdict on it is taken; it is counted apart, and in no qrels."""
    campaign = read_campaign(judged / "A")
    row = int(np.flatnonzero(~campaign.automatic.for_people)[0])
    head, relation, tail = campaign.pool.triples.labels_at(row)
    sheet = judged / "sheet.csv"
    sheet.write_text(f"annotator,task,head,relation,tail,verdict\nann,{row + 1},{head},{relation},{tail},Y\n")
    assert "was not drawn" in refusal(capsys, "campaign", "import", judged / "A", sheet, "--unassigned")
    assert "not drawn" in printed_by(capsys, "campaign", "status", judged / "A")
    assert f"next: kgtrec evaluate {judged / 'A'} RUNS" in printed_by(capsys, "campaign", "status", judged / "A")
    assert "people judge a sample" in said_by(capsys, "campaign", "qrels", judged / "A", "--out", judged / "qrels")
    n_lines = len((judged / "qrels/qrels.txt").read_text().splitlines())
    decided = decide(campaign.pool, campaign.automatic, campaign.judgements, per_triple=1)
    assert n_lines == len(question_level(campaign.pool, campaign.known_answers, decided))
    assert "design: <Design: " in printed_by(capsys, "check", judged / "A")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_answer_ranks_of_the_whole_pool_give_micro_measures(judged, capsys):
    """kgtrec rank --judged CAMPAIGN ranks its candidates too, as micro measures need."""
    run("rank", judged / "C", "--baseline", "svd", "--judged", judged / "A", "--depth", "0", "--out", judged / "all")
    ranks, words = judged / "all/svd.ranks.parquet", ("-m", "micro.MRR", "--ties", "nondeterministic")
    assert "micro.MRR" in printed_by(capsys, "evaluate", judged / "A", ranks, *words)
    plain = judged / "ranks/svd.ranks.parquet"
    assert exit_code("evaluate", judged / "A", plain, *words) == 2


@pytest.mark.slow
def test_a_whole_pool_is_refused_where_a_sample_is_meant(made, capsys):
    """And a sample where its judgements would be taken for those of the whole pool."""
    pooled = made / "whole"
    if not pooled.exists():
        run("pool", made / "C", made / "ranks", "--depth", "5", "--out", pooled)
    runs = list((made / "ranks").glob("*.run.gz"))
    assert "designed sample" in refusal(capsys, "evaluate", pooled, *runs)
    assert "found the campaign" in refusal(capsys, "evaluate", made / "A", *runs, "--ties", "all")
    assert "designed sample" in refusal(capsys, "campaign", "diagnostics", made / "A")
    assert "A: expected qrels or the folder of a collection, found that of a campaign" in refusal(
        capsys, "meta", "stability", made / "A", *runs
    )
    pooling = "pool", made / "C", made / "ranks", "--strategy", "mtf", "--budget", "3", "--judged", made / "A"
    assert "--judged: expected qrels, found the campaign" in refusal(capsys, *pooling, "--out", made / "mtf")
    labels = {"judged": {"kind": "campaign", "folder": str(made / "A")}}
    data, systems = {"collection": str(made / "C")}, {"runs": [str(path) for path in runs]}
    (made / "study.toml").write_text(study_toml(data=data, systems=systems, labels=labels))
    assert "whole pool, found a designed sample" in refusal(capsys, "study", made / "study.toml")


def test_options_of_other_tests_are_refused(tmp_path, capsys):
    """Estimates from a sample have their own tests, in which nothing is resampled; compare takes two systems."""
    (tmp_path / "campaign.json").write_text("{}")
    for command, option, value in (
        ("power", "--test", "tukey"),
        ("power", "--repeats", "10"),
        ("power", "--resample", "item"),
        ("compare", "--resamples", "10"),
        ("compare", "--names", "names.tsv"),
    ):
        said = refusal(capsys, "meta", command, tmp_path, "a.run", "b.run", option, value)
        assert "with a campaign; leave it out" in said
    assert "expected two systems to compare, found 3" in refusal(capsys, "meta", "compare", tmp_path, *"abc")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_campaign_ends_when_its_target_is_reached(tmp_path, capsys):
    """Planned, judged through the page, extended to a target, stopped by what the manager sees, estimated, reported."""
    demo, folder, target = tmp_path / "demo", tmp_path / "A", 0.06
    run("demo", "--people", "60", "--out", demo)
    run("pool", demo / "sparse", demo / "sparse-ranks", "--depth", "10", "--out", folder)
    run("campaign", "plan", folder, "--budget", "100", "--extend")
    run("campaign", "init", folder, "--annotator", "ann", "--manager", "max", "--links", "annotator=none")
    whole = read_campaign(folder)
    facts = {tuple(line.split("\t")) for line in (demo / "kg/complete.tsv").read_text().splitlines()}
    right = np.array([whole.pool.triples.labels_at(row) in facts for row in range(len(whole.pool))])
    rounds = []
    while not rounds or rounds[-1][1] > target:
        if rounds:
            run("campaign", "plan", folder, "--target", f"nDCG@10 {target * 0.9 ** len(rounds)}", "--extend")
        run("campaign", "assign", folder, "--per-triple", "1")
        judge_through_the_page(folder, right=right)
        seen = Page(folder, app_of(folder)).browser("max").get("/manage").text
        width = re.search(r"nDCG@10 is known to within ±(\d\.\d+)", seen)
        assert width is not None
        rounds.append((int(read_campaign(folder).automatic.for_people.sum()), float(width[1])))
        assert len(rounds) < 6
    assert len(rounds) > 1
    runs = sorted((demo / "sparse-ranks").glob("*.run"))
    words = "evaluate", folder, *runs, "-m", "nDCG@10 AP@10 P@10", "--collection", demo / "sparse"
    estimates = json.loads(printed_by(capsys, *words, "--format", "json"))
    decisions = Decisions(np.full(len(whole.pool), AGREED, np.int8), right.astype(np.int8))
    judged_whole = question_level(whole.pool, whole.known_answers, decisions)
    collection = kgtrec.read_collection(demo / "sparse")
    values = kgtrec.evaluate(judged_whole, runs, ["nDCG@10", "AP@10", "P@10"], collection=collection)
    held = [row["low"] <= values[row["system"], row["measure"]] <= row["high"] for row in estimates]
    assert np.mean(held) > 0.8
    assert re.search(r"\[[\d., ]+\]", printed_by(capsys, *words, "--format", "latex"))
