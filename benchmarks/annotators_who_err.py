"""What Dawid and Skene's model is worth on real verdicts: against experts, beside the majority, and to find who cannot.

    python benchmarks/annotators_who_err.py [--resamples 1000] [--seed 0]

The verdicts of 60 laymen and 3 experts on triples of DBpedia (KGTREC_DATA, dbpedia-accuracy). Laymen are annotators;
Correct is Y, Incorrect is N, "I Don't Know" is unsure, which is no verdict; the last one of each person on each triple
counts. Truth is what more experts say, Y or N; where they are equally many there is none. The model's label is Y where
the probability is above .5. A tie of the majority counts as half right. Intervals are percentile intervals of bootstrap
samples of subjects, whose triples were judged together.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sizes import data_folder, parsed

from kgtrec.campaign import AnnotatorErrors, Judgements, annotator_agreement, annotator_errors
from kgtrec.data.pool import Pool
from kgtrec.data.questions import Questions
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.kernels.statistics.resampling import bootstrap_counts, percentile_interval

TRIPLE = ["head", "relation", "tail"]
VERDICTS = {"Correct": "Y", "Incorrect": "N", "I Don't Know": "unsure"}
Floats = NDArray[np.float64]


def real_verdicts() -> pd.DataFrame:
    """Columns head, relation, tail, annotator, verdict, in the order of the file."""
    path = data_folder() / "dbpedia-accuracy" / "verdicts.tsv.gz"
    data = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False, quoting=3)
    data = data.rename(columns={"subject": "head", "predicate": "relation", "object": "tail"})
    return data[[*TRIPLE, "annotator"]].assign(verdict=data["verdict"].map(VERDICTS))


def drawn_verdicts(rng: np.random.Generator, n: int = 60) -> pd.DataFrame:
    """Two triples of each of n subjects, by five laymen, of whom one always says Y, and two experts."""
    is_true, rows = rng.random(2 * n) < 0.7, []
    for row in range(2 * n):
        for who, rate in (*((f"layman{i}", 0.8) for i in range(4)), ("expert1", 0.9), ("expert2", 0.9)):
            said = is_true[row] == (rng.random() < rate)
            rows.append((f"s{row // 2}", "r", f"o{row}", who, "NY"[int(said)]))
        rows.append((f"s{row // 2}", "r", f"o{row}", "layman4", "Y"))
    return pd.DataFrame(rows, columns=[*TRIPLE, "annotator", "verdict"])


def pool_of(data: pd.DataFrame) -> tuple[Pool, NDArray[np.int32]]:
    """The triples as a pool of tail questions, and for each triple the first question of its subject."""
    triples = data[TRIPLE].drop_duplicates().sort_values(TRIPLE, ignore_index=True)
    asked = triples[["head", "relation"]].drop_duplicates()
    asked = asked.assign(question=[f"tail{i}" for i in range(len(asked))], side="tail").rename(
        columns={"head": "anchor"}
    )
    entities = Vocabulary.of(sorted({*triples["head"], *triples["tail"]}))
    listed = triples.merge(asked.rename(columns={"anchor": "head"}), on=["head", "relation"])
    pool = Pool.from_frame(listed.assign(run="all", rank=1), Questions.from_frame(asked, entities=entities))
    first = np.full(len(pool.questions.entities), len(pool.questions), np.int32)
    np.minimum.at(first, pool.questions.anchor, np.arange(len(pool.questions), dtype=np.int32))
    return pool, first[pool.triples.head]


def intervals(values: list[Floats], subject: NDArray[np.int32], resamples: int, seed: int) -> list[str]:
    """The mean of each column, NaN left out, with its interval."""
    _, row = np.unique(subject, return_inverse=True)
    above = np.stack([np.bincount(row, np.nan_to_num(own)) for own in values])
    below = np.stack([np.bincount(row, ~np.isnan(own)) for own in values])
    samples = []
    for counts in bootstrap_counts(above.shape[1], resamples, seed):
        n = counts @ below.T
        samples.append(counts @ above.T / np.where(n > 0, n, np.nan))
    ends = percentile_interval(np.concatenate(samples), 0.95).T
    means = above.sum(axis=1) / below.sum(axis=1)
    return [f"{mean:.3f} ({low:.3f} to {high:.3f})" for mean, (low, high) in zip(means, ends, strict=True)]


def share_of_yes(laymen: pd.DataFrame, named: list[str]) -> pd.Series:
    """Of each triple, among the laymen who are not named; NaN where there is none."""
    sure = laymen[(laymen["verdict"] != "unsure") & ~laymen["annotator"].isin(named)]
    return sure.assign(yes=sure["verdict"] == "Y").groupby(TRIPLE)["yes"].mean()


def report(data: pd.DataFrame, resamples: int, seed: int) -> None:
    """Print what the laymen's verdicts say, and how that compares with the experts'."""
    data = data.drop_duplicates([*TRIPLE, "annotator"], keep="last")
    is_expert = data["annotator"].str.startswith("expert")
    laymen, experts = data[~is_expert], data[is_expert]
    pool, subject = pool_of(data)
    own = {"question": subject, "resamples": resamples, "seed": seed}
    errors: AnnotatorErrors = annotator_errors(pool, Judgements.from_frame(laymen, pool), **own)
    people = errors.to_frame()
    caption = errors.tables()[0].caption.replace("question", "subject")
    print(*caption.split("; "), sep="\n")
    print("\nlaymen         lowest  median  highest")
    for rate in ("sensitivity", "specificity", "youden"):
        print(f"{rate:14} {people[rate].min():6.3f}  {people[rate].median():6.3f}  {people[rate].max():7.3f}")
    named = people[~people["is_informative"]]
    print(f"\nnot informative  triples  sensitivity  specificity  {'J':26}covariance")
    for row in named.itertuples():
        print(
            f"{row.annotator:15} {row.triples:8} {row.sensitivity:12.3f} {row.specificity:12.3f}  "
            + f"{row.youden:.3f} ({row.youden_low:.3f} to {row.youden_high:.3f})".ljust(26)
            + f"{row.covariance:.3f} ({row.covariance_low:.3f} to {row.covariance_high:.3f})"
        )

    said = Judgements.from_frame(experts, pool)
    among = annotator_agreement(pool, said, unsure="leave out", **own).to_frame().set_index("statistic").loc["raw"]
    print(
        f"\nexperts agree on {among['value']:.3f} ({among['low']:.3f} to {among['high']:.3f}) of "
        f"{among['pairs']:.0f} pairs of verdicts Y or N on {among['triples']:.0f} triples"
    )
    pairs = annotator_agreement(pool, said, unsure="leave out", per="pair", confidence=None).to_frame()
    for row in pairs[pairs["statistic"] == "raw"].itertuples():
        print(f"  {row.annotator} and {row.other}: {row.value:.3f} of {row.pairs}")

    votes = experts.assign(vote=experts["verdict"].map({"Y": 1, "N": -1, "unsure": 0})).groupby(TRIPLE)["vote"].sum()
    table = errors["triples"].to_pandas().set_index(TRIPLE)
    table = table.join(votes[votes != 0].rename("truth") > 0, how="inner")
    code = pd.Series(subject, pd.MultiIndex.from_frame(pool.triples.to_frame()[TRIPLE])).loc[table.index].to_numpy()
    truth = table["truth"].to_numpy(bool)
    rest = share_of_yes(laymen, named["annotator"].tolist()).reindex(table.index).to_numpy()
    labels = {
        "Dawid-Skene": (table["probability"] > 0.5).to_numpy(float),
        "majority": table["majority"].map({"Y": 1.0, "N": 0.0, "tie": 0.5}).to_numpy(float),
        "  without those": np.where(np.isnan(rest), 0.5, (np.sign(rest - 0.5) + 1) / 2),
        "always Y": np.ones(len(truth)),
    }
    is_tie = (table["majority"] == "tie").to_numpy()
    print(
        f"\ntruth: {sum(votes != 0)} triples, {len(truth)} of them with verdicts of laymen, {truth.mean():.3f} true, "
        f"{is_tie.sum()} ties of the majority\n"
        f"{'':16}{'accuracy':26}{'on true triples':26}{'on false triples':26}without ties"
    )
    right = {name: np.where(truth, label, 1 - label) for name, label in labels.items()}
    for name, each in right.items():
        parts = each, np.where(truth, each, np.nan), np.where(truth, np.nan, each), np.where(is_tie, np.nan, each)
        print(f"{name:16}" + "".join(f"{text:26}" for text in intervals(list(parts), code, resamples, seed)).rstrip())
    for name, other in (("Dawid-Skene", "majority"), ("Dawid-Skene", "always Y"), ("majority", "always Y")):
        difference = right[name] - right[other]
        whole, untied = intervals([difference, np.where(is_tie, np.nan, difference)], code, resamples, seed)
        print(f"{name} - {other}: {whole}; without ties {untied}")

    sure = laymen[laymen["verdict"] != "unsure"].join(table["truth"], on=TRIPLE, how="inner")
    place = pd.Series(code, table.index).loc[pd.MultiIndex.from_frame(sure[TRIPLE])].to_numpy()
    true, is_named = sure["truth"].to_numpy(bool), sure["annotator"].isin(named["annotator"]).to_numpy()
    yes = (sure["verdict"] == "Y").to_numpy(float)
    print(f"\nlaymen on triples with a truth\n{'':16}{'Y on true triples':34}N on false triples")
    for name, who in (("those", is_named), ("all others", ~is_named)):
        masks = who & true, who & ~true
        columns = [np.where(mask, value, np.nan) for mask, value in zip(masks, (yes, 1 - yes), strict=True)]
        if all(mask.any() for mask in masks):
            texts = zip(intervals(columns, place, resamples, seed), masks, strict=True)
            print(f"{name:16}" + "".join(f"{f'{text} of {mask.sum()}':34}" for text, mask in texts).rstrip())


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--drawn", action="store_true", help="a few random verdicts instead of the real ones")
    options = parsed(parser, resamples=20, drawn=True)
    data = drawn_verdicts(np.random.default_rng(options.seed)) if options.drawn else real_verdicts()
    report(data, options.resamples, options.seed)


if __name__ == "__main__":
    main()
