"""Triples of a pool with a known verdict: drawn from it, judged like the rest, and told by nothing."""

from __future__ import annotations

import csv
import importlib.util
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign import calibration, draw_gold, tasks_for
from kgtrec.campaign.assign import assign
from kgtrec.campaign.gold import gold_notes, rows_in_pool
from kgtrec.cli import main
from kgtrec.data.campaign import Assignments, Automatic, Campaign
from kgtrec.data.judgements import Gold
from kgtrec.data.qrels import Qrels
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.gold import read_gold, write_gold
from kgtrec.kernels.sampling.proportions import wilson_interval
from kgtrec.serve.tasks_file import tasks_file
from tests.campaign_folders import folder_of, people_of
from tests.campaigns_by_hand import campaign_of
from tests.judged_pools import judgements_of, pool_of

ROOT = Path(__file__).parents[2]
NOW = "2026-11-22T08:00:00Z"
WIKI = "https://en.wikipedia.org/wiki/Paris"
PEOPLE = people_of(("ann", "annotator", True), ("bob", "annotator", True), ("eve", "adjudicator", True))
#: of the campaign by hand: four of its triples, in the order of its pool
ROWS = (
    ("paris", "@near", "de", "N", ""),
    ("de", "capital", "berlin", "Y", ""),
    ("fr", "capital", "=lyon", "N", "Paris is"),
    ("fr", "capital", "paris", "Y", "=see the page"),
)
#: and two that it does not ask for
OTHERS = (("norway", "capital", "oslo", "Y", ""), ("de", "capital", "oslo", "N", ""))


def by_hand(events=(), rows=ROWS, **settings) -> Campaign:
    return replace(campaign_of(events), people=PEOPLE, settings={"seed": 0, **settings}, gold=Gold.of(rows))


def pooled(sizes: list[int], seed: int = 0, rules: float = 0.0) -> Campaign:
    """A pool of questions of so many candidates, assigned to three annotators; a share of it is judged by a rule."""
    pool = pool_of(sizes)
    people = people_of(*((name, "annotator", True) for name in ("ann", "bob", "cleo")))
    none = np.zeros(0, np.int32)
    no_tasks = Assignments(none, none, people.names)
    rule = np.where(np.random.default_rng(seed).random(len(pool)) < rules, 0, -1).astype(np.int8)
    automatic = Automatic(rule, ("types",))
    tasks = assign(pool, automatic, people, judgements_of([]), no_tasks, seed=seed)
    known_answers = Qrels(none, none, none, pool.questions.ids, pool.questions.entities)
    return Campaign(
        pool,
        known_answers,
        automatic,
        people,
        tasks,
        judgements_of([]),
        settings={"seed": seed, "files": {"pool": seed}},
    )


def drawn(campaign: Campaign, share: float, gold: Gold | None = None) -> Gold:
    return draw_gold(campaign.pool, campaign.automatic, campaign.settings, gold or campaign.gold, share)


CAMPAIGNS = st.builds(
    pooled, st.lists(st.integers(1, 5), min_size=1, max_size=8), st.integers(0, 99), st.sampled_from([0.0, 0.3])
)
SHARES = st.sampled_from([0.0, 0.05, 0.3, 0.7])


# --- what people see


def columns_of(tasks) -> list[object]:
    texts = (getattr(tasks, name).to_pylist() for name in ("question", "head", "relation", "tail", "search", "verdict"))
    return [tasks.task.tolist(), tasks.annotators, *texts, tasks.question_number.tolist()]


@pytest.mark.slow
@given(CAMPAIGNS, SHARES)
def test_nothing_that_annotators_are_given_depends_on_gold(campaign: Campaign, share: float):
    """Tasks of each and of all, and the page as a file, are the same with gold and without: no guess can be good."""
    golden = replace(campaign, gold=drawn(campaign, share))
    for person in ("ann", "bob", "cleo", None):
        own, plain = tasks_for(golden, person), tasks_for(campaign, person)
        assert columns_of(own) == columns_of(plain)
    person = campaign.assignments.annotators[campaign.assignments.annotator[0]] if len(campaign.assignments) else "ann"
    pages = (tasks_file(one, tasks_for(one, person), person=person) for one in (golden, campaign))
    assert len(set(pages)) == 1


@pytest.mark.long
def test_a_classifier_cannot_tell_gold_from_the_rest_but_finds_what_stands_alone():
    """benchmarks/gold_blindness.py, at its smallest: it learns on some drawings and guesses in others."""
    pytest.importorskip("sklearn")
    path = ROOT / "benchmarks" / "gold_blindness.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    sizes = np.random.default_rng(1).geometric(0.3, 60).tolist()
    campaign = pooled(sizes)
    assert abs(bench.auc_of(campaign, 20, bench.drawn).mean() - 0.5) < 0.06  # 5 standard errors
    assert bench.auc_of(campaign, 5, bench.standing_alone).mean() > 0.95


# --- the draw


@given(CAMPAIGNS, SHARES)
def test_the_draw_takes_its_share_of_what_people_judge(campaign: Campaign, share: float):
    """Without verdicts; no triple that a rule has judged; the same again, and among the draw of a larger share."""
    gold = drawn(campaign, share)
    rows, for_people = rows_in_pool(campaign.pool, gold), ~campaign.automatic.is_automatic
    assert len(gold) == round(int(for_people.sum()) * share)
    assert for_people[rows].all()
    assert len(set(rows.tolist())) == len(rows)
    assert {row[3:] for row in gold.listed} <= {("", "")}
    assert drawn(campaign, share, gold).listed == gold.listed
    assert set(gold.labels) <= set(drawn(campaign, min(share + 0.2, 0.9)).labels)
    assert drawn(campaign, share / 2, gold).listed == gold.listed


@pytest.mark.slow
def test_each_triple_is_drawn_as_often_as_any_other():
    """Over 2,000 pools that differ in their checksums alone: 400 times each, give or take 4.5 standard deviations."""
    campaign = pooled([1, 1, 2, 5, 11])
    counts: Counter[tuple[str, str, str]] = Counter()
    for nth in range(2000):
        counts.update(drawn(replace(campaign, settings={"seed": 0, "files": {"pool.tsv": nth}}), 0.2).labels)
    assert len(counts) == 20
    assert max(abs(count - 400) for count in counts.values()) < 4.5 * np.sqrt(2000 * 0.2 * 0.8)


def test_who_knows_seed_and_labels_cannot_draw_it_again():
    """The checksums of the pool decide too, and with them ranks and runs, which no annotator sees."""
    campaign = pooled([5] * 20)
    draws = {
        tuple(drawn(replace(campaign, settings={"seed": 0, "files": {"pool.tsv": nth}}), 0.1).labels)
        for nth in range(20)
    }
    assert len(draws) == 20


def test_what_there_is_counts_and_stays():
    """With its verdict and explanation; what the pool does not ask for, and training, counts for nothing."""
    campaign = by_hand(rows=(*ROWS[:2], *OTHERS), training_gold=[list(ROWS[0][:3])])
    gold = drawn(campaign, 0.5)
    assert set(campaign.gold.listed) < set(gold.listed)
    assert len(gold) == 4 + 2  # three of six triples: one was there, one of training is none
    assert {row[3] for row in gold.listed if row[:3] not in campaign.gold.labels} == {""}


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_that_is_none_is_refused(share: float):
    with pytest.raises(KgtrecError, match="expected a share of gold of at least 0 and less than 1, got"):
        drawn(by_hand(), share)


# --- what is said of it


def test_gold_outside_the_pool_is_told_with_its_number():
    """It would stand alone on its page, as it did."""
    told = gold_notes(by_hand(rows=(*ROWS, *OTHERS)))
    assert "gold.tsv: 2 of 6 triples, as de capital oslo, would stand out among what annotators judge" in told
    trained = by_hand(rows=(*ROWS, *OTHERS), training_gold=[list(row[:3]) for row in OTHERS])
    assert "stand out" not in gold_notes(trained)


def test_verdicts_that_are_to_be_filled_in_are_counted():
    """Until all are there."""
    rows = [(*row[:3], "", "") for row in ROWS[:3]]
    assert "gold.tsv: 3 of 4 triples of the pool lack a verdict, Y or N" in gold_notes(by_hand(rows=(*rows, ROWS[3])))
    assert "lack a verdict" not in gold_notes(by_hand())


def test_little_gold_is_told_with_what_it_can_show():
    """Of who has least of it: Wilson's interval of four of four begins at 51%."""
    low = wilson_interval(np.array(4), np.array(4), 0.95)[0]
    assert f"{low:.0%}" == "51%"
    assert (
        "gold.tsv: 4 of the 6 tasks of ann are gold; even if all these are right, the 95% interval of that share "
        "begins at 51%"
    ) in gold_notes(by_hand())
    campaign = pooled([5] * 40)
    gold = drawn(campaign, 0.3)
    assert gold_notes(replace(campaign, gold=Gold.of((*row[:3], "Y", "") for row in gold.listed))) == ""


def test_a_choice_by_the_size_of_questions_is_told_with_the_auc_of_a_guess():
    """30 gold triples and 30 others are alone, 120 are not: 1 - 30 / 150 / 2."""
    campaign = pooled([1] * 60 + [6] * 20)
    question = np.bincount(campaign.pool.question, minlength=80)[campaign.pool.question]
    alone = campaign.pool.triples.take(np.flatnonzero(question[np.argsort(campaign.pool.triple)] == 1)[:30])
    gold = Gold(alone, np.zeros(30, np.int8), alone.entities.decode(alone.head))
    told = gold_notes(replace(campaign, gold=Gold.of((*labels, "Y", "") for labels in gold.labels)))
    assert "how many candidates its question has: AUC 0.90, where 99 of 100 random draws of as many triples" in told


@pytest.mark.slow
def test_a_random_draw_is_seldom_told():
    """In fewer than 3 of 100, by five guesses of which each is told in 2 of 1,000."""
    told = 0
    for seed in range(100):
        campaign = pooled([1, 2, 3, 4, 5, 6] * 8, seed)
        gold = drawn(campaign, 0.3)
        told += "can be guessed" in gold_notes(
            replace(campaign, gold=Gold.of((*row[:3], "Y", "") for row in gold.listed))
        )
    assert told < 4


# --- calibration


EVENTS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.sampled_from(["ann", "bob", "zoe"]),
        st.sampled_from(["annotator", "annotator", "expert"]),
        st.sampled_from(["N", "Y", "unsure"]),
    ),
    max_size=30,
)
KNOWN = {0: "N", 2: "Y", 4: "N", 5: "Y"}  # row of the campaign by hand -> what gold says


def test_the_gold_by_hand_is_where_the_tests_say():
    campaign = by_hand()
    assert rows_in_pool(campaign.pool, campaign.gold).tolist() == list(KNOWN)
    assert ["NY"[verdict] for verdict in campaign.gold.verdict] == list(KNOWN.values())


@given(EVENTS)
def test_calibration_counts_the_last_word_of_each(events):
    """Against a count by hand, with Wilson's interval; people and triples add up to the same."""
    found = calibration(by_hand(events, (*ROWS, *OTHERS, ("de", "capital", "'n", "", ""))), confidence=0.9)
    last = {
        (name, triple): verdict for triple, name, role, verdict in events if role == "annotator" and triple in KNOWN
    }
    people, triples = found["people"], found["triples"]
    assert people["annotator"].to_pylist() == sorted({name for name, _ in last})
    for row in people.to_pylist():
        own = {triple: verdict for (who, triple), verdict in last.items() if who == row["annotator"]}
        right = sum(verdict == KNOWN[triple] for triple, verdict in own.items())
        told = sum(verdict != "unsure" for verdict in own.values())
        assert (row["right"], row["right"] + row["wrong"], row["judged"]) == (right, told, len(own))
        ends = wilson_interval(np.array(right), np.array(told), 0.9)
        np.testing.assert_allclose((row["low"], row["high"]), ends)
    for name in ("right", "wrong", "unsure"):
        assert sum(people.column(name).to_pylist()) == sum(triples.column(name).to_pylist())


def test_calibration_of_a_worked_case():
    """ann: 3 of 4 right; bob, unsure of all, has no share; a known Y called N is told apart."""
    events = [(triple, "ann", "annotator", verdict) for triple, verdict in zip(KNOWN, "NYNN", strict=True)]
    found = calibration(by_hand([*events, (0, "bob", "annotator", "unsure")]))
    table = found.to_table().to_pydict()
    assert (table["right"], table["wrong"], table["unsure"]) == ([3, 0], [1, 0], [0, 1])
    assert (table["false_y"], table["false_n"]) == ([0, 0], [1, 0])
    assert table["share"][0] == 0.75
    assert np.isnan(table["share"][1])
    assert found.tables()[1].rows[0] == 3


def test_what_was_once_of_the_training_round_calibrates_nobody():
    """Its answer was told."""
    events = [(0, "ann", "annotator", "N"), (2, "ann", "annotator", "Y")]
    assert calibration(by_hand(events, training_gold=[list(ROWS[0][:3])]))["people"]["judged"].to_pylist() == [1]


# --- the file


LABEL = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\t\r\n\0"), min_size=1, max_size=6
).filter(lambda text: text.strip(" \v\f\x1c\x1d\x1e\x85") != "")


@given(
    st.lists(
        st.tuples(LABEL, LABEL, LABEL, st.sampled_from(["Y", "N", ""]), st.just("") | LABEL),
        unique_by=lambda row: row[:3],
    )
)
def test_gold_comes_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, rows):
    """Whatever the labels are, in the order of a pool; and the file written again is the same."""
    folder = tmp_path_factory.mktemp("gold")
    gold = Gold.of(rows)
    write_gold(folder, gold)
    again = read_gold(folder / "gold.tsv")
    assert sorted(again.listed) == sorted(rows)
    first = (folder / "gold.tsv").read_bytes()
    write_gold(folder, again)
    assert (folder / "gold.tsv").read_bytes() == first


HEADER = "head\trelation\ttail\tverdict\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r":1: expected the header line head relation tail verdict, with explanation or without"),
        ("head\ttail\n", r":1: expected the header line"),
        ("head\trelation\ttail\tverdict\twhy\n", r":1: .* verdict, with explanation or without"),
        (HEADER + "no\tcapital\toslo\n", ":2: expected 4 columns .* separated by tabs, got 3: "),
        (HEADER + "no\tcapital\t\tY\n", ":2: expected 4 columns .* separated by tabs, got an empty one"),
        (HEADER + "no\tcapital\toslo\tyes\n", ":2: expected Y, N or nothing yet as the known verdict, got 'yes'"),
        (HEADER + "no\tcapital\toslo\tunsure\n", ":2: expected Y, N or nothing yet as the known verdict, got 'unsure'"),
        (HEADER + "no\tcapital\toslo\tY\nno\tcapital\toslo\tN\n", ":3: expected each triple once, found 'no"),
        (HEADER + "no\tcapital\tos\0lo\tY\n", ":2: expected UTF-8 text, found a NUL byte"),
        (HEADER + "no\tcapital\t\udcff\tY\n", ":2: expected UTF-8 text"),
    ],
)
def test_a_wrong_line_is_named(text: str, message: str, tmp_path: Path):
    (tmp_path / "gold.tsv").write_text(text, errors="surrogateescape")
    with pytest.raises(FormatError, match=r"gold\.tsv" + message):
        read_gold(tmp_path / "gold.tsv")


def test_what_the_file_cannot_hold_is_not_written(tmp_path: Path):
    for row in (("a\tb", "capital", "c", "Y", ""), ("a", "capital", "", "Y", ""), ("a", "capital", "b", "Y", "x\ny")):
        with pytest.raises(KgtrecError, match="expected text without tabs and line breaks, not empty, found"):
            write_gold(tmp_path, Gold.of([row]))
    assert not (tmp_path / "gold.tsv").exists()


# --- the commands


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A campaign of ann, bob and eve with six triples, all of them ann's and bob's."""
    path = folder_of(replace(campaign_of(), people=PEOPLE), tmp_path / "campaign")
    (path / "guidelines.md").write_text("Judge.\n")
    return path


def filled(path: Path, verdicts: dict[tuple[str, str], str], out: Path) -> Path:
    """A file as an annotator sends it back."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    with out.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        for row in rows:
            key = row["head"].removeprefix("'"), row["tail"].removeprefix("'")
            writer.writerow(row | {"verdict": verdicts.get(key, "N"), "source": WIKI})
    return out


def test_gold_is_drawn_filled_in_and_calibrates(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Exports are the same with it; its verdicts are among the others, and count in the qrels as these do."""
    out = tmp_path / "before.csv"
    main(["campaign", "export", str(folder), "--annotator", "ann", "--out", str(out)])
    main(["campaign", "init", str(folder), "--gold-share", "0.5"])
    told = capsys.readouterr().err
    assert "drew 3 triples of the pool as gold" in told
    assert "gold.tsv: 3 of 3 triples of the pool lack a verdict, Y or N" in told
    with pytest.raises(SystemExit):
        main(["campaign", "agreement", str(folder), "--gold"])
    assert "found no triple of the pool with a known verdict" in capsys.readouterr().err
    lines = (folder / "gold.tsv").read_text().splitlines()
    (folder / "gold.tsv").write_text("\n".join([lines[0], *(f"{line}N" for line in lines[1:]), ""]))
    for name in ("ann", "bob"):
        path = tmp_path / f"{name}.csv"
        main(["campaign", "export", str(folder), "--annotator", name, "--out", str(path)])
        done = filled(path, {("fr", "paris"): "Y"}, tmp_path / f"{name}.done.csv")
        main(["campaign", "import", str(folder), str(done), "--time", NOW])
    assert (tmp_path / "ann.csv").read_bytes() == out.read_bytes()
    assert len((folder / "judgements.jsonl").read_text().splitlines()) == 12
    capsys.readouterr()
    main(["campaign", "agreement", str(folder), "--gold"])
    people = capsys.readouterr().out.splitlines()[1:3]
    assert [line.split()[:2] for line in people] == [["ann", "3"], ["bob", "3"]]
    main(["check", str(folder)])
    checked = capsys.readouterr()
    assert f"{folder}/gold.tsv: ok, gold: 3 triples\n" in checked.out
    main(["campaign", "qrels", str(folder), "--out", str(tmp_path / "qrels")])
    assert len((tmp_path / "qrels" / "qrels.txt").read_text().splitlines()) == 6


def test_drawing_again_keeps_what_is_filled_in(folder: Path):
    """And what else somebody has added."""
    main(["campaign", "init", str(folder), "--gold-share", "0.3"])
    lines = (folder / "gold.tsv").read_text().splitlines()
    assert len(lines) == 3
    known = [f"{line}Y\twhy" if nth else f"{line}\texplanation" for nth, line in enumerate(lines)]
    (folder / "gold.tsv").write_text("\n".join([*known, "norway\tcapital\toslo\tY\t", ""]))
    main(["campaign", "init", str(folder), "--gold-share", "0.6"])
    after = (folder / "gold.tsv").read_text().splitlines()
    assert set(known[1:]) < set(after)
    assert "norway\tcapital\toslo\tY\t" in after
    assert len(after) == 1 + 4 + 1
    before = (folder / "gold.tsv").read_bytes()
    main(["campaign", "init", str(folder), "--gold-share", "0.6"])
    assert (folder / "gold.tsv").read_bytes() == before


def test_init_assign_status_and_check_say_what_would_stand_out(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """With figures; nobody is given it."""
    write_gold(tmp_path, Gold.of(OTHERS))
    told = "gold.tsv: 2 of 2 triples, as de capital oslo, would stand out among what annotators judge"
    given = str(tmp_path / "gold.tsv")
    for words in (["campaign", "init", str(folder), "--gold", given], ["campaign", "assign", str(folder)]):
        main(words)
        assert told in capsys.readouterr().err
    for words in (["campaign", "status", str(folder)], ["check", str(folder)]):
        main(words)
        found = capsys.readouterr()
        assert told in found.out + found.err
    assert "oslo" not in tasks_for(read_campaign(folder)).tail.to_pylist()


def test_edited_gold_is_not_lost_and_a_share_is_a_share(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    write_gold(tmp_path, Gold.of(ROWS))
    again = ["campaign", "init", str(folder), "--gold", str(tmp_path / "gold.tsv")]
    main(again)
    with pytest.raises(SystemExit):
        main(again)
    assert "may have been edited; replace it by" in capsys.readouterr().err
    for share in ("1", "-0.1", "nan"):
        with pytest.raises(SystemExit):
            main(["campaign", "init", str(folder), "--gold-share", share])


def test_names_of_entities_that_only_gold_has_are_kept(folder: Path, tmp_path: Path):
    """The training round shows them."""
    write_gold(folder, Gold.of(OTHERS))
    (tmp_path / "names.tsv").write_text("oslo\tOslo\nzoe\tZoe\n")
    main(["campaign", "init", str(folder), "--names", str(tmp_path / "names.tsv"), "--force"])
    assert read_campaign(folder).names == {"oslo": "Oslo"}


def test_calibration_without_gold_says_how_to_get_some(folder: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        main(["campaign", "agreement", str(folder), "--gold"])
    assert left.value.code == 2
    assert "see kgtrec campaign init --gold-share" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--gold", "--per", "pair"], "expected --gold alone or with --per triple, found --per pair"),
        (["--gold", "--seed", "1"], "expected options that have an effect, found --seed with --gold; leave it out"),
        (["--per", "triple"], "expected --gold or --model together with --per triple, found neither"),
    ],
)
def test_the_known_verdicts_have_tables_of_their_own(folder: Path, capsys: pytest.CaptureFixture[str], words, message):
    with pytest.raises(SystemExit):
        main(["campaign", "agreement", str(folder), *words])
    assert message in capsys.readouterr().err
