"""Make the figures that show what measures reward: what one answer contributes, by its rank.

    python docs/figures.py

writes docs/images/rewards-answers.svg and docs/images/rewards-questions.svg. `kgtrec.evaluate` computes every value.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

import kgtrec

IMAGES = Path(__file__).parent / "images"
N_CANDIDATES = 1_000
RANKS = np.unique(np.geomspace(1, N_CANDIDATES, 120).astype(int))
#: figure -> panel -> measures
FIGURES = {
    "answers": {
        "One answer": ("micro.MRR", "micro.pMRR(p=0.5)", "micro.logMRR", "micro.Hits@10"),
        "Adjusted for chance": ("micro.AMRI", "micro.AMRR", "micro.AHits@10"),
    },
    "questions": {
        "One relevant entity": ("AP@20", "nDCG@20", "macro.MRR", "P@10"),
        "Adjusted for chance": ("AAP@20", "AnDCG@20", "macro.AMRR", "macro.AHits@10"),
    },
}


def one_answer() -> kgtrec.Collection:
    """One test triple, whose answers have as many candidates as the figures say."""
    others = [(f"e{nth:04}", "is", "other") for nth in range(N_CANDIDATES - 3)]
    train = kgtrec.Triples.of([*others, ("answer", "is", "other")])
    test = kgtrec.Triples.of([("anchor", "asks", "answer")])
    return kgtrec.build_questions(train, test.take([]), test)


def values(measures: tuple[str, ...]) -> dict[str, list[float]]:
    """What each measure gives where the only answer of the only question has each of the ranks."""
    collection = one_answer()
    at = collection.entities.encode(kgtrec.Vocabulary.of(["answer"]).labels)[0]
    found: dict[str, list[float]] = {name: [] for name in measures}
    for rank in RANKS.tolist():
        scores = -np.arange(len(collection.entities), dtype=float)
        scores[at] = -0.5 - (rank - 2 + (at <= rank - 2))  # below rank - 1 others
        own = np.broadcast_to(scores, (len(collection.questions), len(scores)))
        ranked = kgtrec.rank_scores(collection, own, questions=collection, entities=collection, sides=("tail",))
        scored = kgtrec.evaluate(collection, ranked.answer_ranks, list(measures), sides=("tail",)).to_frame()
        for name, value in zip(scored.measure, scored.value, strict=True):
            found[name].append(value)
    return found


def draw(name: str, panels: Mapping[str, tuple[str, ...]]) -> None:
    """One figure, its panels side by side."""
    figure, axes = plt.subplots(1, len(panels), figsize=(9, 3.6), layout="constrained", sharey=True)
    for own, (title, measures) in zip(axes, panels.items(), strict=True):
        for (measure, found), style in zip(values(measures).items(), ("-", "--", "-.", ":"), strict=False):
            own.plot(RANKS, found, style, label=measure, linewidth=2)
        own.set(title=title, xscale="log", xlabel=f"rank among {N_CANDIDATES:,} candidates", ylim=(-0.05, 1.05))
        own.axhline(0, color="0.6", linewidth=0.8)
        own.legend(frameon=False)
    axes[0].set_ylabel("value")
    figure.savefig(IMAGES / f"rewards-{name}.svg", metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "kgtrec"
    for name, panels in FIGURES.items():
        draw(name, panels)
