"""The tutorial: each of its sentences that states a number or an order holds of what its cells compute."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import pandas as pd
import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"
ALPHA = 0.05
DEEP = ["AP@20", "nDCG@20"]
#: of sentences that say something of numbers or of the order of systems
TELLS = re.compile(
    r"\d|\b(above|better than|nearer|in front|significantly?|distinguish|six|ten|thirty|forty|tenth|each of these)\b"
)


def decided(found: SimpleNamespace, labels: str, measures: list[str], better: str) -> bool:
    """Whether one of the pair is significantly better with these labels by all these measures."""
    own = found.pairs[(found.pairs["labels"] == labels) & found.pairs["measure"].isin(measures)]
    return len(own) == len(measures) and bool(((own.better == better) & (own.p_adjusted < ALPHA)).all())


def undecided(found: SimpleNamespace, labels: str) -> bool:
    own = found.pairs[(found.pairs["labels"] == labels) & (found.pairs["measure"] == "macro.MRR")]
    return len(own) == 1 and float(own.p_adjusted.item()) >= ALPHA


def above(table: pd.DataFrame, one: str, other: str, measures: list[str]) -> bool:
    return bool((table.loc[one, measures] > table.loc[other, measures]).all())


def tau(found: SimpleNamespace, labels: str, measure: str) -> float:
    own = found.meta.correlate(found.scores[labels], found.scores["truth"], measures=measure, coefficients=["tau"])
    return own.of("tau", measure=measure)


#: a part of each such sentence -> whether it holds
CLAIMS: dict[str, Callable[[SimpleNamespace], bool]] = {
    "200 invented people": lambda found: len(found.tree) == 200,
    "60% of the facts are hidden from the systems": lambda found: found.n_hidden == int(0.6 * found.n_facts),
    "a tenth of the hidden ones are labelled": lambda found: len(found.labelled) == int(0.1 * found.n_hidden),
    "runs in less than a minute": lambda found: found.seconds < 60,
    "rank six systems": lambda found: len(found.runs) == 6,
    "forty test triples are enough here": lambda found: len(found.test) == 40,
    "the top 100 entities": lambda found: found.runs[0].to_frame().groupby("query_id").size().max() == 100,
    "`inverse` is above `rules` by every measure, and each of these differences is significant": lambda found: (
        above(found.sparse, "inverse", "rules", found.measures)
        and decided(found, "test set", found.measures, "inverse")
    ),
    "A depth-10 pool holds the first ten answers": lambda found: found.pool.to_frame()["rank"].max() == 10,
    "wrong 5% of the time": lambda found: all(
        0.03 < ((own.verdict == "Y") != found.is_true).mean() < 0.07 for own in (found.ann, found.ben)
    ),
    "By `AP@20` and `nDCG@20`, `rules` is above `inverse` with the campaign's labels, as in truth": lambda found: (
        above(found.fuller, "rules", "inverse", DEEP) and above(found.true, "rules", "inverse", DEEP)
    ),
    "each of these questions has one that `inverse` finds: `inverse` stays in front": lambda found: (
        found.true.loc["inverse", "macro.MRR"] == 1 == found.fuller.loc["inverse", "macro.MRR"]
        and above(found.true, "inverse", "rules", ["macro.MRR"])
    ),
    "1 where they agree on every pair": lambda found: tau(found, "truth", "AP@20") == 1,
    "are nearer to the truth by `AP@20` and `nDCG@20`": lambda found: all(
        tau(found, "campaign", measure) > tau(found, "test set", measure) for measure in DEEP
    ),
    "`inverse` is significantly better with the labels of the test set, and `rules` is with those of the campaign and "
    "in truth": lambda found: (
        decided(found, "test set", DEEP, "inverse")
        and decided(found, "campaign", DEEP, "rules")
        and decided(found, "truth", DEEP, "rules")
    ),
    "By `macro.MRR` the campaign and the truth do not distinguish the two": lambda found: (
        undecided(found, "campaign") and undecided(found, "truth")
    ),
}


def cells(kind: str) -> list[str]:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def sentences() -> list[str]:
    """Those of the text cells, each on one line."""
    paragraphs = [part for cell in cells("markdown") for part in re.split(r"\n\n(?:1\. )?|\n(?:\d\. |- )", cell)]
    return [
        sentence
        for part in paragraphs
        if not part.startswith("#")
        for sentence in re.split(r"(?<=[.?]) (?=[A-Z`])", " ".join(part.split()))
    ]


def test_each_sentence_that_states_a_number_or_an_order_is_a_claim():
    """So that a new one comes with its assertion, and a claim with its sentence."""
    told = [sentence for sentence in sentences() if TELLS.search(re.sub(r"`[^`]*`|\]\([^)]*\)", "", sentence))]
    assert [sentence for sentence in told if not any(part in sentence for part in CLAIMS)] == []
    assert [part for part in CLAIMS if not any(part in sentence for sentence in sentences())] == []


@pytest.fixture(scope="module")
def found() -> SimpleNamespace:
    """The names that the tutorial's cells leave behind."""
    names: dict[str, object] = {}
    began = time.process_time()
    with mpl.rc_context({"backend": "Agg"}):
        for cell in cells("code"):
            exec(cell, names)  # noqa: S102  (the notebook is ours)
    return SimpleNamespace(**names, seconds=time.process_time() - began)


@pytest.mark.slow
def test_the_truth_is_every_hidden_fact_of_the_questions(found: SimpleNamespace):
    """Counted triple by triple."""
    asked = {(row.side, row.relation, row.anchor) for row in found.asked.itertuples()}
    facts = list(found.world.complete.to_frame().itertuples(index=False))
    n_true = sum(("head", fact.relation, fact.tail) in asked for fact in facts)
    n_true += sum(("tail", fact.relation, fact.head) in asked for fact in facts)
    assert len(found.truth) == n_true


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS)
def test_what_the_tutorial_says_holds(found: SimpleNamespace, claim: str):
    assert CLAIMS[claim](found)
