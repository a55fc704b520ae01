"""Whether bounds and intervals from sampled candidates hold the full values, and how wide they are.

    python benchmarks/sampled_candidates.py [--repeats 250] [--bounds 5] [--sizes 50,500,5000] [--shared] [--seed 0]
    python benchmarks/sampled_candidates.py --chosen 3000 [--sizes 100,500]

Draws candidates for each answer of eight systems on FB15k-237, whose exact ranks are known, and computes the bounds of
``kgtrec.meta.sampled_bounds``. Prints a row for each size of the sample and measure: the mean over systems of the full
value, of the value in the sample, of the point estimate of a model, the mean ends of the bounds without and with the
assumption that no rank is more frequent than a better one, and in how many of all repetitions each held the full value.
Bounds, which take seconds, are computed in the first ``--bounds`` repetitions, the linear measures in all.
With ``--shared`` all answers of a question are ranked among the same sample.

With ``--chosen`` that many questions are scored, and their answers ranked among ``kgtrec.meta.candidate_lists``, half
of which are plausible ones, beside a uniform sample of the same size; all answers of a question share them.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from sizes import SYSTEMS, data_folder, parsed

from kgtrec import AnswerRanks, build_questions, rank_system, read_triples
from kgtrec.data.sampled_ranks import SampledRanks
from kgtrec.data.triples import SPLITS
from kgtrec.meta.candidate_lists import candidate_lists
from kgtrec.meta.sampled import sampled_bounds
from kgtrec.systems import read_system

MEASURES = ("micro.MRR", "micro.Hits@10", "micro.MR", "micro.AMRI")


def exact_ranks() -> list[AnswerRanks]:
    """Of the eight systems."""
    folder = data_folder()
    splits = (read_triples(folder / "fb15k-237" / f"{split}.tsv.gz") for split in ("train", "valid", "test"))
    collection = build_questions(*splits)
    systems = folder / "systems" / "fb15k-237"
    return [rank_system(collection, read_system(systems / f"{name}.npz"), depth=0).answer_ranks for name in SYSTEMS]


def drawn(ranks: AnswerRanks, size: int, rng: np.random.Generator, *, shared: bool) -> SampledRanks:
    """Ranks among samples; where one is shared, it is of places in the question's list."""
    counts = np.stack([ranks.above, ranks.tied, ranks.n_other - ranks.above - ranks.tied], axis=1).astype(np.int64)
    above = np.empty((len(ranks), 2), np.int64)
    if not shared:
        above[:, 0] = rng.hypergeometric(counts[:, 0], counts[:, 1:].sum(axis=1), size)
        rest = np.maximum(size - above[:, 0], 0)
        tied = (counts[:, 1] > 0) & (rest > 0)
        above[:, 1] = 0
        above[tied, 1] = rng.hypergeometric(counts[tied, 1], counts[tied, 2], rest[tied])
    else:
        starts = np.flatnonzero(np.r_[True, ranks.question[1:] != ranks.question[:-1]])
        for first, last in zip(starts, np.r_[starts[1:], len(ranks)], strict=True):
            place = np.sort(rng.choice(int(ranks.n_other[first]), size, replace=False))
            own = counts[first:last]
            above[first:last, 0] = np.searchsorted(place, own[:, 0])
            above[first:last, 1] = np.searchsorted(place, own[:, :2].sum(axis=1)) - above[first:last, 0]
    sample = ranks.question if shared else None
    return SampledRanks.of(ranks.name, *above.T, n_sampled=size, n_candidates=ranks.n_other, sample=sample)


def beside_chosen(n_questions: int, size: int, seed: int) -> None:
    """Print a row for each system and measure, of candidates half of which are chosen, and of sampled ones."""
    folder = data_folder()
    splits = (read_triples(folder / "fb15k-237" / f"{split}.tsv.gz") for split in ("train", "valid", "test"))
    collection = build_questions(*splits)
    systems, asked, width = folder / "systems" / "fb15k-237", collection.questions, len(collection.entities)
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(asked), min(n_questions, len(asked)), replace=False))
    lists = candidate_lists(collection, size, seed=seed)
    answers, filtered = (keys.astype(np.int64) for keys in collection.answers_and_filtered(SPLITS))
    code = collection.entities.encode((systems / "entities.txt").read_text().splitlines())
    of_relation = asked.relations.encode((systems / "relations.txt").read_text().splitlines())
    for name in SYSTEMS:
        arrays = dict(np.load(systems / f"{name}.npz"))
        keys = {(h, of_relation[r], code[a]): at for at, (h, r, a) in enumerate(arrays["questions"].tolist())}
        parts: list[tuple[NDArray[np.float32], ...]] = []
        for row in rows.tolist():
            place = keys[int(asked.is_head[row]), asked.relation[row], asked.anchor[row]]
            score = np.empty(width, np.float32)
            score[code] = arrays["E"] @ arrays["Q"][place] + arrays.get("b", 0)
            own, known = (part[np.searchsorted(part, row * width) :] - row * width for part in (answers, filtered))
            own, known = own[own < width], known[known < width]
            others = np.delete(np.arange(width), np.concatenate([own, known]))
            uniform = score[rng.choice(others, size, replace=False)]
            above = (score[others] > score[own, None]).sum(axis=1) + (score[others] == score[own, None]).sum(axis=1) / 2
            n = len(own)
            parts.append((score[own], np.tile(score[lists[row]], (n, 1)), np.tile(uniform, (n, 1)), above))
            parts[-1] += (np.full(n, len(others)), np.full(n, row))
        positive, chosen, uniform, above, n_others, sample = map(np.concatenate, zip(*parts, strict=True))
        half = size // 2
        both = (
            SampledRanks.of_scores(name, positive, chosen, n_certain=half, n_candidates=n_others - half, sample=sample),
            SampledRanks.of_scores(name, positive, uniform, n_candidates=n_others, sample=sample),
        )
        truth = {
            "micro.MRR": (1 / (1 + above)).mean(),
            "micro.Hits@10": (above < 10).mean(),
            "micro.MR": 1 + above.mean(),
        }
        found = [sampled_bounds(ranks, tuple(truth), model=True)["bounds"].to_pylist() for ranks in both]
        for measure, value in truth.items():
            cells = [f"{value:.3f}"]
            for table in found:
                of = {row["assumption"]: row for row in table if row["measure"] == measure}
                cells.append(f"{of['none']['low']:.3f} to {of['none']['high']:.3f}")
                cells.append(f"{of.get('model', of['none'])['value']:.3f}")
            print(f"| {size:,} | {name} | {measure} | {' | '.join(cells)} |", flush=True)


def full(ranks: AnswerRanks) -> dict[str, float]:
    """The full values."""
    rank = 1.0 + ranks.above + ranks.tied / 2
    share = float((rank - 1).sum() / ranks.n_other.sum())
    values: list[float | NDArray[np.float64]] = [(1 / rank).mean(), (rank <= 10).mean(), rank.mean(), 1 - 2 * share]
    return dict(zip(MEASURES, map(float, values), strict=True))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=250)
    parser.add_argument("--bounds", type=int, default=5)
    parser.add_argument("--sizes", default="50,500,5000")
    parser.add_argument("--chosen", type=int, default=0)
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parsed(parser, repeats=1, bounds=1, sizes="5")
    if options.chosen:
        print("| candidates | system | measure | full | half chosen | model | uniform | model |")
        print("|---|---|---|---|---|---|---|---|")
        for size in map(int, options.sizes.split(",")):
            beside_chosen(options.chosen, size, options.seed)
        return
    systems = exact_ranks()
    truth = [full(ranks) for ranks in systems]
    print("| sampled | measure | full | in the sample | model | any law | held | falling law | held |")
    print("|---|---|---|---|---|---|---|---|---|")
    for size in map(int, options.sizes.split(",")):
        rng = np.random.default_rng([options.seed, size])
        found: dict[tuple[str, str], list[tuple[float, float, float, bool]]] = {}
        for repeat in range(options.repeats):
            for ranks, own in zip(systems, truth, strict=True):
                sampled = drawn(ranks, size, rng, shared=options.shared)
                for row in sampled_bounds(sampled, MEASURES[2 * (repeat >= options.bounds) :], model=True)[
                    "bounds"
                ].to_pylist():
                    name = row["measure"].replace("sampled.", "micro.").replace(f"({size})", "")
                    held = row["low"] <= own[name] <= row["high"]
                    found.setdefault((name, row["assumption"]), []).append(
                        (row["value"], row["low"], row["high"], held)
                    )
        for name in MEASURES[2 * (options.bounds == 0) :]:
            digits = 1 if name == "micro.MR" else 4 if name == "micro.AMRI" else 3
            mean = {key: np.mean(rows, axis=0) for key, rows in found.items()}
            cells = [f"{np.mean([own[name] for own in truth]):.{digits}f}", f"{mean[name, 'sample'][0]:.{digits}f}"]
            cells.append(f"{mean[name, 'model'][0]:.{digits}f}" if (name, "model") in mean else "")
            for assumption in ("none", "falls"):
                if (name, assumption) not in mean:
                    cells += ["", ""]
                    continue
                _, low, high, held = mean[name, assumption]
                cells += [f"{low:.{digits}f} to {high:.{digits}f}", f"{held:.1%}"]
            print(f"| {size:,} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
