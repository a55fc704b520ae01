"""Whether anybody who sees what annotators see can tell which triples are gold: the AUC of a classifier that tries.

    python benchmarks/gold_blindness.py [--drawings 40] [--campaigns cities family nations fb15k-237] [--data FOLDER]

Of each campaign gold is drawn so many times, as `kgtrec campaign init --gold-share` draws it, and assigned with another
seed. An annotator's page (the file of `kgtrec campaign export --out ann.html`, which has the texts of the page) and
table of tasks are read back, and with them those of all others, as if annotators compared them. A classifier learns on
some drawings and tells the gold of the others. Prints for each campaign the mean AUC and its standard error; and that
for gold that is chosen badly, the triples that stand alone on a page first, which the same classifier must find.

fb15k-237 is the campaign of the labels that Zhou et al. (2022) published, in kgc-sparsity/data below the folder that
--data, or KGTREC_DATA, names; nations is there too, in small/nations. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec import Vocabulary
from kgtrec.campaign import Assignments, Campaign, Gold, Judgements, People, assign, draw_gold, read_campaign, tasks_for
from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.gold import rows_in_pool
from kgtrec.serve.tasks_file import tasks_file

SHARE = 0.2  # of the pool that is gold: more than a campaign needs, so that few drawings show much
MOST_TASKS = 600  # of an annotator, about: as many annotators as that takes
READERS = 3  # annotators whose tasks are guessed, at least as many as there are
EXAMPLES = Path(__file__).parents[1] / "examples"
_DATA = re.compile(r'(?s)<script[^>]*id="tasks"[^>]*>(.*?)</script>')

Chooser = Callable[[Campaign], Gold]
Floats = NDArray[np.float64]


def run(*words: object) -> None:
    """A command of kgtrec, without its words."""
    subprocess.run([sys.executable, "-m", "kgtrec", *map(str, words)], check=True, capture_output=True)


def pooled(collection: Path) -> Path:
    """A campaign of what our own systems put on top in a collection."""
    folder = collection.parent
    run("rank", collection, "--baseline", "all", "--out", folder / "ranks")
    runs = sorted((folder / "ranks").glob("*.run.gz"))
    run("pool", collection, *runs, "--depth", 5, "--out", folder / "campaign")
    return folder / "campaign"


def cities(folder: Path, _: Path) -> Path:
    """The countries and languages of the documentation."""
    run("questions", EXAMPLES / "cities", "--out", folder / "C")
    return pooled(folder / "C")


def family(folder: Path, _: Path) -> Path:
    """A family tree of which facts are hidden, as in `kgtrec demo`."""
    run("openworld", "world", "--people", 24, "--out", folder / "C")
    return pooled(folder / "C")


def nations(folder: Path, data: Path) -> Path:
    """Relations between countries."""
    run("questions", data / "small" / "nations", "--out", folder / "C")
    return pooled(folder / "C")


def fb15k_237(folder: Path, data: Path) -> Path:
    """The published labels for FB15k-237."""
    run("campaign", "import-kgc-sparsity", data / "kgc-sparsity" / "data", "--out", folder / "campaign")
    return folder / "campaign"


CAMPAIGNS = {"cities": cities, "family": family, "nations": nations, "fb15k-237": fb15k_237}


def drawn(campaign: Campaign) -> Gold:
    """Gold as it should be chosen."""
    return draw_gold(campaign.pool, campaign.automatic, campaign.settings, Gold.none(), SHARE)


def standing_alone(campaign: Campaign) -> Gold:
    """Gold as it should not be chosen: the triples of the questions with the fewest candidates."""
    question = groups_of(campaign.pool, campaign.automatic, seed=campaign.assignment_seed)
    for_people = ~campaign.automatic.is_automatic
    size = np.bincount(question[for_people], minlength=len(campaign.pool.questions))[question]
    rows = np.flatnonzero(for_people)
    rows = np.sort(rows[np.argsort(size[rows], kind="stable")][: round(len(rows) * SHARE)])
    triples = campaign.pool.triples.take(rows)
    texts = Gold(triples, np.zeros(len(rows), np.int8), triples.entities.decode(triples.head)).labels
    return Gold.of((*labels, "Y", "") for labels in texts)


def drawings(campaign: Campaign, n: int, choose: Chooser) -> Iterator[tuple[Floats, NDArray[np.bool_]]]:
    """What the first annotators see of so many drawings, a row per task, and which of them are gold."""
    n_tasks = int((~campaign.automatic.is_automatic).sum()) * 2
    names = Vocabulary.of([f"annotator-{nth}" for nth in range(max(READERS, round(n_tasks / MOST_TASKS)))])
    people = People(names, *(np.zeros(len(names), kind) for kind in (np.int32, np.int8)), np.ones(len(names), np.bool_))
    people = replace(people, person=np.arange(len(names), dtype=np.int32))
    for seed in range(n):
        given = replace(
            campaign,
            people=people,
            judgements=Judgements.none(names),
            settings={**campaign.settings, "seed": seed, "assignment_seed": seed},
        )
        nobody = Assignments.none(names)
        own = assign(given.pool, given.automatic, people, given.judgements, nobody, seed=seed)
        given = replace(given, assignments=own)
        given = replace(given, gold=choose(given))
        gold = set(np.array(rows_in_pool(given.pool, given.gold)).tolist())
        seen, rows = zip(*(seen_by(given, names[nth]) for nth in range(READERS)), strict=True)
        yield np.concatenate(seen), np.array([row in gold for own in rows for row in own], np.bool_)


def seen_by(campaign: Campaign, person: str) -> tuple[Floats, list[int]]:
    """(n, features) what a person sees of each task, on the page, in the file and in those of others; and its row."""
    tasks = tasks_for(campaign, person)
    place_in_file = {int(task): place for place, task in enumerate(tasks.task)}
    labels = zip(tasks.head.to_pylist(), tasks.relation.to_pylist(), tasks.tail.to_pylist(), strict=True)
    task_of = dict(zip(labels, tasks.task.tolist(), strict=True))
    held = campaign.assignments
    n_others = np.bincount(held.triple, minlength=len(campaign.pool))
    page: dict[str, Any] = json.loads(_DATA.findall(tasks_file(campaign, tasks, person=person))[0])
    entities, relations = page["entities"], page["relations"]
    asked: Counter[int] = Counter()
    anchors: Counter[int] = Counter()
    of_relation: Counter[int] = Counter()
    for question in page["questions"]:
        answer, anchor = sides(question)
        anchors[anchor] += 1
        for card in question["cards"]:
            asked[card[answer]] += 1
            of_relation[card["relation"]] += 1
    found, rows = [], []
    n_questions = len(page["questions"])
    for nth, question in enumerate(page["questions"]):
        cards, (answer, anchor) = question["cards"], sides(question)
        size = len(cards)
        for place, card in enumerate(cards):
            task = task_of[entities[card["head"]][0], relations[card["relation"]], entities[card["tail"]][0]]
            known = question["known"]
            found.append(
                (
                    size,
                    place,
                    place / size,
                    size - place,
                    nth,
                    nth / n_questions,
                    len(known),
                    answer == "head",
                    card["relation"],
                    anchor,
                    card[answer],
                    asked[card[answer]],
                    asked[anchor],
                    anchors[anchor],
                    anchors[card[answer]],
                    of_relation[card["relation"]],
                    len(relations[card["relation"]]),
                    len(entities[card[answer]][0]),
                    len(entities[card[answer]]),
                    len(card["question"]),
                    len(question["title"]),
                    card["task"] % 1009,
                    card["number"],
                    task,
                    task / len(campaign.pool),
                    place_in_file[task],
                    place_in_file[task] / len(tasks),
                    n_others[task - 1],
                )
            )
            rows.append(task - 1)
    return np.array(found, np.float64), rows


def sides(question: dict[str, Any]) -> tuple[str, int]:
    """Which end of a question's triples is asked for, and the other's entity."""
    cards = question["cards"]
    heads = {card["head"] for card in cards}
    is_tail = len(heads) == 1 and not question["title"].startswith("Is this true: \N{HORIZONTAL ELLIPSIS}")
    return ("tail", cards[0]["head"]) if is_tail else ("head", cards[0]["tail"])


def auc_of(campaign: Campaign, n: int, choose: Chooser) -> Floats:
    """(n,) the area under the curve in each drawing, of a classifier that has learnt on others."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GroupKFold
    from threadpoolctl import threadpool_limits

    parts = list(drawings(campaign, n, choose))
    seen, is_gold = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    drawing = np.repeat(np.arange(n), [len(own) for _, own in parts])
    chance = np.empty(len(seen))
    for train, test in GroupKFold(min(5, n)).split(seen, groups=drawing):
        model = HistGradientBoostingClassifier(max_iter=60, random_state=0)
        with threadpool_limits(1):
            chance[test] = model.fit(seen[train], is_gold[train]).predict_proba(seen[test])[:, 1]
    areas = [
        roc_auc_score(is_gold[drawing == nth], chance[drawing == nth])
        for nth in range(n)
        if 0 < is_gold[drawing == nth].sum() < (drawing == nth).sum()
    ]
    return np.array(areas)


def main() -> None:
    """See the text above."""
    from sizes import parsed  # of this folder, which is on the path of a program but not of a test

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drawings", type=int, default=40)
    parser.add_argument("--campaigns", nargs="+", choices=CAMPAIGNS, default=list(CAMPAIGNS))
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KGTREC_DATA", ".")))
    args = parsed(parser, drawings=3, campaigns=["cities"])
    print("campaign   triples  AUC of drawn gold  of gold that stands alone")
    for name in args.campaigns:
        with tempfile.TemporaryDirectory() as folder:
            campaign = read_campaign(CAMPAIGNS[name](Path(folder), args.data))
            blind, planted = (auc_of(campaign, args.drawings, choose) for choose in (drawn, standing_alone))
        error = blind.std(ddof=1) / np.sqrt(len(blind))
        print(
            f"{name:9}  {len(campaign.pool):7,}  {blind.mean():.3f} +- {error:.3f}     {planted.mean():.3f}", flush=True
        )


if __name__ == "__main__":
    main()
