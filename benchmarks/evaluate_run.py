"""Run file + qrels -> AP@20, nDCG@20, RR, Success@1,3,10, as whole processes: kgtrec beside its peers.

    python benchmarks/evaluate_run.py [--rounds 3] [--peers pyarrow,pytrec_eval,ir_measures,ranx]

The files are of FB15k-237's size: 22,850 questions, 40,932 relevant entities, 100 entities a question (2.3 M lines,
93 MB). pyarrow only parses the run, which is the least that anybody can do. Everybody reads the same two, in turn; the
ratios are medians over the rounds, each within its round.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np
from processes import compare
from sizes import parsed

ENTITIES, DEPTH = 14_541, 100
MEASURES = ("AP@20", "nDCG@20", "RR", "Success@1", "Success@3", "Success@10")

PYARROW = """
import sys
from pyarrow import csv
reading = csv.ReadOptions(column_names=["question", "Q0", "entity", "rank", "score", "tag"])
print(csv.read_csv(sys.argv[2], reading, csv.ParseOptions(delimiter=" ", quote_char=False)).num_rows)
"""
PYTREC_EVAL = """
import sys, pytrec_eval
with open(sys.argv[1]) as f: qrels = pytrec_eval.parse_qrel(f)
with open(sys.argv[2]) as f: run = pytrec_eval.parse_run(f)
names = {"map_cut_20", "ndcg_cut_20", "recip_rank", "success_1", "success_3", "success_10"}
values = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
for name in sorted(next(iter(values.values()))):
    print(name, sum(value[name] for value in values.values()) / len(qrels))
"""
IR_MEASURES = """
import sys, ir_measures
from ir_measures import AP, RR, Success, nDCG
names = [AP@20, nDCG@20, RR, Success@1, Success@3, Success@10]
qrels, run = ir_measures.read_trec_qrels(sys.argv[1]), ir_measures.read_trec_run(sys.argv[2])
print(ir_measures.calc_aggregate(names, qrels, run))
"""
RANX = """
import sys
from ranx import Qrels, Run, evaluate
qrels, run = Qrels.from_file(sys.argv[1], kind="trec"), Run.from_file(sys.argv[2], kind="trec")
names = ["map@20", "ndcg@20", "mrr", "hit_rate@1", "hit_rate@3", "hit_rate@10"]
print(evaluate(qrels, run, names, make_comparable=True))
"""
PEERS = {"pyarrow": PYARROW, "pytrec_eval": PYTREC_EVAL, "ir_measures": IR_MEASURES, "ranx": RANX}


def write_files(folder: Path, n_questions: int, n_answers: int) -> tuple[Path, Path]:
    """A seeded run and qrels, with labels as long as Freebase's."""
    rng = np.random.default_rng(0)
    labels = np.array([f"/m/0{code:05x}" for code in range(ENTITIES)])
    qrels, run = folder / "qrels.txt", folder / "system.run"
    question = np.sort(np.r_[np.arange(n_questions), rng.integers(0, n_questions, n_answers - n_questions)])
    pairs = np.unique(question * ENTITIES + rng.integers(0, ENTITIES, n_answers))
    qrels.write_text("".join(f"tail{pair // ENTITIES} 0 {labels[pair % ENTITIES]} 1\n" for pair in pairs))
    with run.open("w") as stream:
        for topic in range(n_questions):
            returned = rng.choice(ENTITIES, DEPTH, replace=False)
            returned[:3] = (pairs[np.searchsorted(pairs, topic * ENTITIES)] + np.arange(3)) % ENTITIES
            returned = rng.permutation(np.unique(returned))
            scores = np.sort(rng.normal(size=len(returned)))[::-1].round(5)
            stream.writelines(
                f"tail{topic} Q0 {labels[entity]} {rank} {score} system\n"
                for rank, (entity, score) in enumerate(zip(returned, scores, strict=True), 1)
            )
    return qrels, run


def main() -> None:
    """Write the files, then time everybody in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--questions", type=int, default=22_850)
    parser.add_argument("--answers", type=int, default=40_932)
    options = parsed(parser, rounds=1, questions=20, answers=40)
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = map(str, write_files(Path(folder), options.questions, options.answers))
        lines = options.questions * DEPTH
        print(f"about {lines:,} lines, {Path(run).stat().st_size / 1e6:.0f} MB")
        ours = [sys.executable, "-m", "kgtrec", "evaluate", qrels, run]
        commands = {"kgtrec": [*ours, *(word for name in MEASURES for word in ("-m", name))]}
        for name in options.peers.split(","):
            if importlib.util.find_spec(name) is None:
                print(f"{name} is not installed: pip install 'kgtrec[peers]'")
            else:
                commands[name] = [sys.executable, "-c", PEERS[name], qrels, run]
        compare(commands, options.rounds)


if __name__ == "__main__":
    main()
