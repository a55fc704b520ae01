"""kgtrec demo."""

from __future__ import annotations

import contextlib
import io
import shlex
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa

from kgtrec.cli.demo_steps import ERROR, FAVOURED, HIDDEN, LABELS, PEOPLE, Script, make_world, run_campaign, write_world
from kgtrec.cli.options import MOST_PEOPLE, PATH, SHARE, Real, Whole, force_option, option, seed_option
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import completions
from kgtrec.data.table import Column, Table
from kgtrec.data.triples import Triples
from kgtrec.formats.collections import read_collection
from kgtrec.formats.output.outputs import write_text, writing_folder
from kgtrec.formats.trec.qrels import write_qrels
from kgtrec.kernels.statistics.correlation import kendall_tau_b
from kgtrec.report.show import table_text

SCRIPT = "steps.sh"
CONFIG, STUDY = "study.toml", "study"
_DEPTH = 100  # of the runs on the complete labels; the pooled ones hold whole lists, as subsets of their answers need
# labels -> their file of triples, and the format of their runs: what is pooled must not depend on how a library
# compresses, since the checksums of the runs are kept with the pool
_FORMS = {"sparse": ("test", "run"), "complete": ("complete", "run.gz")}
_COMPARED = ("AP@20", "nDCG@20", "macro.MRR")
PAIR = (FAVOURED, "rules")  # which the known labels put in the wrong order
# letter -> file, and what it holds
LABEL_SETS = {
    "K": ("qrels/qrels.depth0.txt", "the labels known before"),
    "C": ("qrels/qrels.txt", "the labels of the campaign"),
    "T": ("kg/truth.txt", "the truth: every hidden fact"),
}
_EXPLAINED = {
    "sparse": "Sparse labels: only the facts in kg/test.tsv count as answers, as in a real benchmark. They favour "
    f"{FAVOURED}.",
    "complete": "Complete labels: every true fact counts as an answer, which only a closed world shows.",
}


@click.command(name="demo")
@option("--out", "Folder to write; new or empty.", PATH, required=True)
@option("--people", "People in the family tree; 6004 take minutes.", Whole(20, MOST_PEOPLE), PEOPLE)
@option("--hidden", "Share of the facts that are hidden from the systems.", SHARE, HIDDEN)
@option("--labels", f"Hidden facts that become labels, those that {FAVOURED} finds first.", Whole(1, 1000), LABELS)
@option("--error", "Error rate of an annotator; an adjudicator's is a quarter.", Real(0, 1), ERROR)
@seed_option
@force_option
def command(out: str, people: int, hidden: float, labels: int, error: float, seed: int) -> None:
    """Run the whole job on a made-up family tree: systems, sparse and complete labels, a simulated campaign, and a
    study with its report.

    \b
    # no data needed
    kgtrec demo --out demo
    # 190,000 facts; takes minutes
    kgtrec demo --out demo --people 6004

    Docs: docs/install.md
    """
    tree, world = make_world(people, hidden, labels, seed)
    click.echo(
        f"A family tree of {people:,} people: {len(tree.facts):,} true facts under "
        f"{len(tree.facts.relations)} relations.\n"
        f"Hidden from the systems: {len(world.complete):,} facts, of which {len(world.splits.test):,} become sparse "
        f"labels: facts that\nthe system {FAVOURED} finds, as if a program of that kind had collected them. So what is "
        "missing depends on\nwhat one system finds."
    )
    made_by = ["kgtrec", "demo", "--people", str(people), "--hidden", f"{hidden:g}", "--labels", str(labels)]
    made_by += ["--error", f"{error:g}", "--seed", str(seed), "--out", "demo"]
    with writing_folder(out, SCRIPT) as folder, contextlib.chdir(folder):
        write_world(Path("kg"), tree, world)
        script = Script()
        evaluate_baselines(script, "sparse", people, seed)
        evaluate_baselines(script, "complete", _DEPTH, seed)
        run_campaign(script, tree.facts, error, seed)
        _compare_labels(script, world.complete)
        script.note(
            f"A study of what these label sets say of systems and measures, and its report: {STUDY}/report.html."
        )
        script.copy(f"kg/{CONFIG}", CONFIG)
        script.run(f"study {CONFIG}")
        write_text(SCRIPT, script.text(shlex.join(made_by)))
    click.echo(f"\nThe report, which needs no network: {Path(out, STUDY, 'report.html')}")
    click.echo(f"Everything is in {out}/; {Path(out, SCRIPT)} has each step as a command of its own.")


def evaluate_baselines(script: Script, labels: str, depth: int, seed: int) -> None:
    """Rank and evaluate all baselines on the sparse or the complete labels."""
    test, form = _FORMS[labels]
    script.note(_EXPLAINED[labels])
    script.run(f"questions kg/train.tsv kg/valid.tsv kg/{test}.tsv --out {labels}")
    script.run(f"rank {labels} --baseline all --out {labels}-ranks --depth {depth} --run-format {form} --seed {seed}")
    table = script.run(f"evaluate {labels} {labels}-ranks/*.ranks.parquet")
    script.run(f"evaluate {labels} {labels}-ranks/*.ranks.parquet --out {labels}-scores.csv")
    click.echo(f"\n{_EXPLAINED[labels]}\n\n{table}", nl=False)


def _compare_labels(script: Script, complete: Triples) -> None:
    """Evaluate the same runs on the known labels, the campaign's labels and the truth, for the pooled questions."""
    import pandas as pd
    from pyarrow import csv

    def read(command: str) -> pd.DataFrame:
        return csv.read_csv(io.BytesIO(script.run(command).encode())).to_pandas()

    write_truth("kg/truth.txt", complete)
    script.note("The same runs on the same questions, with three sets of labels; and which systems differ.")
    given = f"sparse-ranks/*.run -m {' -m '.join(_COMPARED)} --collection sparse --format csv"
    scores, tests = [], []
    for letter, (file, _) in LABEL_SETS.items():
        scores.append(read(f"evaluate {file} {given}").assign(labels=letter))
        pairs = read(f"meta power {file} {given} --test clustered --table pairs")
        tests.append(pairs.assign(labels=letter)[(pairs["first"] == PAIR[0]) & (pairs["second"] == PAIR[1])])
    systems = sorted(set(scores[0]["system"]))
    each = pd.MultiIndex.from_product([_COMPARED, LABEL_SETS, systems], names=["measure", "labels", "system"])
    score = pd.concat(scores).set_index(each.names)["value"].loc[each]
    by_labels = score.to_numpy().reshape(each.levshape)
    tau = np.repeat(kendall_tau_b(by_labels, by_labels[:, -1:]), len(systems))
    columns = (
        Column("measure"),
        Column("labels"),
        Column("score", across="system"),
        Column("tau", f"tau to {list(LABEL_SETS)[-1]}"),
    )
    caption = "\n".join(f"{letter}  {what}, {file}" for letter, (file, what) in LABEL_SETS.items())
    _show("labels", caption, score.reset_index(name="score").assign(tau=tau), columns)
    columns = (
        Column("measure"),
        Column("labels"),
        Column("difference", " - ".join(PAIR), form="difference"),
        Column("p_adjusted", "p", form="p", least=[1e-4] * len(_COMPARED) * len(LABEL_SETS)),
    )
    n_pairs = len(systems) * (len(systems) - 1) // 2
    caption = f"Paired t-tests of {' and '.join(PAIR)} over questions, p adjusted for all {n_pairs} pairs of systems."
    compared = pd.concat(tests).sort_values("measure", key=lambda names: names.map(_COMPARED.index), kind="stable")
    _show("pair", caption, compared, columns)


def _show(key: str, caption: str, data: Any, columns: tuple[Column, ...]) -> None:
    table = pa.Table.from_pandas(data, preserve_index=False)
    click.echo("\n" + table_text(Table(key, "", caption, table, columns)), nl=False)


def write_truth(path: str, complete: Triples) -> None:
    """Write all true answers to the pooled questions."""
    asked = read_collection("sparse").questions
    question, entity = completions(asked, complete.recoded(entities=asked.entities, relations=asked.relations))
    write_qrels(path, Qrels.of(question, entity, np.ones(len(question), np.int32), asked.ids, asked.entities))
