"""A PyKEEN pipeline with kgtrec's measures, and its model as exact ranks and a TREC run.

    pip install "kgtrec[peers]"
    python examples/pykeen_pipeline.py OUT

Nations is small and comes with PyKEEN; any data set of PyKEEN's will do, and so will triples of your own. The model is
stopped by AP@20 of the validation triples. OUT gets the collection, the model, its ranks and its run.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pykeen.datasets import Nations
from pykeen.pipeline import pipeline

import kgtrec.pykeen  # makes evaluator="trec" known


def main() -> None:
    """Train, rank and evaluate."""
    out = Path(sys.argv[1])
    data = Nations()
    result = pipeline(
        dataset=data,
        model="DistMult",
        training_kwargs={"num_epochs": 20, "use_tqdm": False},
        evaluator="trec",
        evaluator_kwargs={"measures": ["micro.MRR", "macro.MRR", "AP@20", "nDCG@20"]},
        evaluation_kwargs={"use_tqdm": False},
        stopper="early",
        stopper_kwargs={"metric": "AP@20", "frequency": 5},
        random_seed=0,
        device="cpu",
    )
    print(f"in the pipeline: macro.MRR {result.get_metric('macro.MRR'):.4f}, AP@20 {result.get_metric('AP@20'):.4f}")

    # on the command line: kgtrec questions, and kgtrec rank OUT/C OUT/distmult --trust --out OUT/ranks
    collection = kgtrec.build_questions(data)
    kgtrec.write_collection(out / "C", collection)
    result.save_to_directory(out / "distmult")
    kgtrec.ranking.write_ranked(
        collection, kgtrec.pykeen.pykeen_system(result.model, result.training), out / "ranks", depth=1000
    )
    print(kgtrec.evaluate(collection, out / "ranks" / "distmult.ranks.parquet", ["macro.MRR", "AP@20"]).to_frame())


if __name__ == "__main__":
    main()
