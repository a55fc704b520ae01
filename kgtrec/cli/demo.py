"""kgtrec demo."""

from __future__ import annotations

import contextlib
import csv
import io
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np

from kgtrec.adjudicate import decide
from kgtrec.adjudication_tasks import tasks_for_adjudicator
from kgtrec.cli import cli
from kgtrec.data.qrels import Qrels
from kgtrec.data.tasks import Tasks
from kgtrec.data.triples import Triples
from kgtrec.formats.campaigns import read_campaign
from kgtrec.formats.collections import read_collection
from kgtrec.formats.expert_samples import read_expert_sample
from kgtrec.formats.files import replacing_folder, write_text
from kgtrec.formats.qrels import write_qrels
from kgtrec.formats.tasks import write_tasks
from kgtrec.formats.triples import write_triples
from kgtrec.kernels.correlation import kendall_tau_b
from kgtrec.openworld.annotators import annotate
from kgtrec.openworld.family_tree import FamilyTree, HiddenFacts, family_tree, hide_facts
from kgtrec.phrasing import phrase_tasks, tasks_for
from kgtrec.questions import completions

STEPS = "steps.sh"
_DEPTH = 100
_POOL_DEPTH = 10
_SEEDS = 30  # labelled facts whose questions are pooled for
_SAMPLE = 100  # labels that an expert gives again
# systems whose scores are the same to the last bit on every machine, and so is what is pooled of them
_POOLED = ("inverse", "neighbours", "popularity", "rules")
_UNSURE = 0.03
_REGISTER = "register.example"  # where the annotators look things up; no such host can exist
_SOURCE = f"https://{_REGISTER}/"
_TIMES = tuple(f"2026-01-{day:02d}T12:00:00Z" for day in (12, 13, 19, 26))  # made up, so that the folder is the same
_COMPARED = ("macro.MRR", "AP@20", "nDCG@20")
_LABELS = {
    "qrels/qrels.depth0.txt": "the labels known before",
    "qrels/qrels.txt": "the labels of the campaign",
    "kg/truth.txt": "the truth: every hidden fact",
}
_CELL = 8  # columns of a number in the table that compares them
_EXPLAINED = {
    "sparse": "Sparse labels: only the facts in kg/test.tsv count as answers, as in a real benchmark.",
    "complete": "Complete labels: every true fact counts as an answer, which only a closed world can tell.",
}
# relation -> what it asks of its head, and the question
_KINSHIP = {
    "father_of": ("man", "Is {head} the father of {tail}?"),
    "mother_of": ("woman", "Is {head} the mother of {tail}?"),
    "son_of": ("man", "Is {head} a son of {tail}?"),
    "daughter_of": ("woman", "Is {head} a daughter of {tail}?"),
    "husband_of": ("man", "Is {head} the husband of {tail}?"),
    "wife_of": ("woman", "Is {head} the wife of {tail}?"),
    "brother_of": ("man", "Is {head} a brother of {tail}?"),
    "sister_of": ("woman", "Is {head} a sister of {tail}?"),
    "grandfather_of": ("man", "Is {head} a grandfather of {tail}?"),
    "grandmother_of": ("woman", "Is {head} a grandmother of {tail}?"),
    "grandson_of": ("man", "Is {head} a grandson of {tail}?"),
    "granddaughter_of": ("woman", "Is {head} a granddaughter of {tail}?"),
    "uncle_of": ("man", "Is {head} an uncle of {tail}?"),
    "aunt_of": ("woman", "Is {head} an aunt of {tail}?"),
    "nephew_of": ("man", "Is {head} a nephew of {tail}?"),
    "niece_of": ("woman", "Is {head} a niece of {tail}?"),
    "cousin_of": ("person", "Is {head} a cousin of {tail}?"),
    "father_in_law_of": ("man", "Is {head} the father-in-law of {tail}?"),
    "mother_in_law_of": ("woman", "Is {head} the mother-in-law of {tail}?"),
    "son_in_law_of": ("man", "Is {head} a son-in-law of {tail}?"),
    "daughter_in_law_of": ("woman", "Is {head} a daughter-in-law of {tail}?"),
    "brother_in_law_of": ("man", "Is {head} a brother-in-law of {tail}?"),
    "sister_in_law_of": ("woman", "Is {head} a sister-in-law of {tail}?"),
}

_README = """# A worked annotation campaign

`kgtrec demo` made this folder: four baseline systems were pooled for some facts of a made-up family tree, two
annotators judged the pool, an adjudicator settled where they disagreed or could not tell, and an expert judged a sample
again. All of them are a program that knows the truth and errs on purpose; their link leads to a register that does not
exist.

docs/campaigns.md tells what each file holds, and the labels that came out of it are in `../qrels`. Try

    kgtrec campaign status annotation
    kgtrec campaign agreement annotation
    kgtrec campaign qrels annotation --out my-qrels
"""


@click.command(name="demo")
@click.option(
    "--out", required=True, type=click.Path(), help="Folder to write; it must not exist, or be an earlier demo."
)
@click.option(
    "--people",
    type=click.IntRange(min=20),
    default=200,
    show_default=True,
    help="Entities of the family tree. 6004 gives about 190,000 facts, and takes minutes.",
)
@click.option(
    "--hidden",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.3,
    show_default=True,
    help="Share of the true facts that systems do not see.",
)
@click.option(
    "--density",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.25,
    show_default=True,
    help="Share of the hidden facts that become sparse labels; the others are true but unlabelled.",
)
@click.option(
    "--error",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="How often an annotator says the opposite of the truth; an adjudicator errs a quarter as often.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Same seed, same folder.")  # fmt: skip
def command(out: str, people: int, hidden: float, density: float, error: float, seed: int) -> None:
    """Run the whole job on a made-up family tree; needs no data and no network.

    Builds a closed-world KG of 23 kinship relations, hides facts from the baseline systems, ranks what they score, and
    evaluates them on sparse and on complete labels. Then pools the systems for some of the sparse facts, has two
    annotators who err and an adjudicator judge the pool, and evaluates on the labels that come out of it.

    \b
    kgtrec demo --out demo
    kgtrec demo --out demo --people 6004 --density 0.1
    """
    tree = family_tree(people, seed)
    world = hide_facts(tree.facts, hidden=hidden, density=density, seed=seed)
    click.echo(
        f"A family tree of {people:,} people: {len(tree.facts):,} true facts under "
        f"{len(tree.facts.relations)} relations.\n"
        f"Hidden from the systems: {len(world.complete):,} facts, of which {len(world.splits.test):,} become sparse "
        "labels."
    )
    made_by = ["kgtrec", "demo", "--people", str(people), "--hidden", f"{hidden:g}", "--density", f"{density:g}"]
    made_by += ["--error", f"{error:g}", "--seed", str(seed), "--out", "demo"]
    with replacing_folder(out, made_by=STEPS) as folder, contextlib.chdir(folder):
        _write_world(Path("kg"), tree, world, seed)
        steps = _Steps()
        _evaluate_baselines(steps, seed)
        _annotate(steps, tree.facts, error, seed)
        _compare_labels(steps, world.complete)
        write_text(STEPS, steps.script(shlex.join(made_by)))
    click.echo(f"\nEverything is in {out}/; {Path(out, STEPS)} has each step as a command of its own.")


class _Steps:
    """Commands of the program, run one after the other in the folder at hand, and kept for a script."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def run(self, *words: str) -> str:
        """Run ``kgtrec WORDS``; gives back what it prints. A word with a * stands for the files that fit it."""
        self.lines.append(" ".join(["kgtrec", *(word if "*" in word else shlex.quote(word) for word in words)]))
        with _captured(quiet=words[0] != "baseline") as output:  # which takes long, and tells how far it is
            cli.main(args=list(_expanded(words)), standalone_mode=False)
        return output.getvalue().decode()

    def copy(self, source: str, target: str) -> None:
        self.lines.append(f"cp {source} {target}")
        shutil.copyfile(source, target)

    def note(self, text: str) -> None:
        self.lines.append(f"\n# {text}")

    def script(self, made_by: str) -> str:
        return (
            "# What kgtrec demo did, step by step, with the files in kg/ and filled/. Run it in this folder.\n"
            f"# They came from: {made_by}\n"
            "set -e\n" + "\n".join(self.lines) + "\n"
        )


@contextlib.contextmanager
def _captured(*, quiet: bool) -> Iterator[io.BytesIO]:
    """What is printed to standard output meanwhile; ``quiet`` drops messages to standard error too."""
    output = io.BytesIO()
    text = io.TextIOWrapper(output, "utf-8", write_through=True)
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(text))
        if quiet:
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        yield output
    text.detach()  # or it would close what has just been filled


def _expanded(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        yield from sorted(map(str, Path().glob(word))) if "*" in word else [word]


def _write_world(folder: Path, tree: FamilyTree, world: HiddenFacts, seed: int) -> None:
    """The triples, and what annotators need to know of the people."""
    splits = world.splits
    triples = {"train": splits.train, "valid": splits.valid, "test": splits.test, "complete": world.complete}
    for name, split in triples.items():
        write_triples(folder / f"{name}.tsv", split)
    drawn = np.random.Generator(np.random.PCG64(seed)).permutation(len(splits.test))[:_SEEDS]
    write_triples(folder / "seeds.tsv", splits.test.take(np.sort(drawn)))
    labels = list(tree.facts.entities)
    kinds = ["man" if male else "woman" for male in tree.is_male]
    _write_lines(
        folder / "entity_types.tsv",
        (row for pair in zip(labels, kinds, strict=True) for row in (pair, (pair[0], "person"))),
    )
    _write_lines(folder / "relation_types.tsv", ((name, kind, "person") for name, (kind, _) in _KINSHIP.items()))
    _write_lines(folder / "names.tsv", ((label, _name(label)) for label in labels))
    _write_lines(
        folder / "templates.tsv",
        (("relation", "template"), *((name, question) for name, (_, question) in _KINSHIP.items())),
    )
    write_text(folder / "annotation.md", _README)
    write_text(folder / "sources.txt", f"# the register of all families, which knows everything\n{_REGISTER}\n")


def _name(label: str) -> str:
    """What people call somebody: Brisa 17 for brisa_0017."""
    first, number = label.split("_")
    return f"{first.capitalize()} {int(number)}"


def _write_lines(path: Path, rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]) -> None:
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))


def _evaluate_baselines(steps: _Steps, seed: int) -> None:
    """Rank and evaluate all baselines on sparse and on complete labels."""
    # what is pooled must not hang on how a library compresses: the checksums of the runs are kept with the pool
    for labels, test, form in (("sparse", "test", "run"), ("complete", "complete", "run.gz")):
        steps.note(_EXPLAINED[labels])
        steps.run("questions", "kg/train.tsv", "kg/valid.tsv", f"kg/{test}.tsv", "--out", labels, "--force")
        steps.run(
            "baseline", "all", labels, "--out", f"{labels}-ranks", "--depth", str(_DEPTH), "--run-format", form,
            "--seed", str(seed),
        )  # fmt: skip
        table = steps.run("evaluate", labels, f"{labels}-ranks/*.ranks.parquet")
        steps.run("evaluate", labels, f"{labels}-ranks/*.ranks.parquet", "--out", f"{labels}-scores.csv")
        click.echo(f"\n{_EXPLAINED[labels]}\n\n{table}", nl=False)


def _annotate(steps: _Steps, truth: Triples, error: float, seed: int) -> None:
    """Pool the systems for some of the sparse facts, have the pool judged, and make qrels of it."""
    steps.note("A pool of what the systems put on top for some of the sparse facts, for people to judge.")
    pooled = (f"sparse-ranks/{name}.run" for name in _POOLED)
    types = ("--trivial", "types", "--entity-types", "kg/entity_types.tsv", "--relation-types", "kg/relation_types.tsv")
    report = steps.run(
        "pool", "sparse", *pooled, "--seeds", "kg/seeds.tsv", "--depth", str(_POOL_DEPTH), *types, "--seed", str(seed),
        "--out", "annotation",
    )  # fmt: skip
    click.echo(f"\nA pool for {_SEEDS} of the sparse labels, to be judged by people:\n\n{_paragraph(report, 0)}")
    people = {"annotator": ("annotator-1", "annotator-2"), "adjudicator": ("adjudicator",), "expert": ("expert",)}
    steps.run(
        "campaign", "init", "annotation", "--names", "kg/names.tsv", "--templates", "kg/templates.tsv",
        "--sources", "kg/sources.txt",
        *(word for role, names in people.items() for name in names for word in (f"--{role}", name)),
    )  # fmt: skip
    steps.run("campaign", "assign", "annotation", "--seed", str(seed))
    for name, time in zip(people["annotator"], _TIMES, strict=False):
        steps.run("campaign", "export", "annotation", "--annotator", name, "--out", f"tasks/{name}.csv")
        asked = tasks_for(read_campaign("annotation"), name)
        _fill(name, annotate(asked, truth, name, error=error, unsure=_UNSURE, source=_SOURCE, seed=seed))
        steps.run("campaign", "import", "annotation", f"filled/{name}.csv", "--time", time)
    agreed = steps.run("campaign", "agreement", "annotation")
    click.echo(f"\nTwo annotators, each wrong {error:.0%} of the time, agree so far:\n\n{_paragraph(agreed, 1)}")
    name = people["adjudicator"][0]
    steps.run("campaign", "adjudicate", "annotation", "--person", name, "--out", f"tasks/{name}.csv")
    asked = tasks_for_adjudicator(read_campaign("annotation"), name)
    _fill(name, annotate(asked, truth, name, error=error / 4, source=_SOURCE, seed=seed))
    steps.run(
        "campaign", "adjudicate", "annotation", "--person", name, "--import", f"filled/{name}.csv", "--time", _TIMES[2]
    )
    name = people["expert"][0]
    read = read_campaign("annotation")
    settled = decide(read.pool, read.automatic, read.judgements).verdict[~read.automatic.is_automatic] >= 0
    size = min(_SAMPLE, int(settled.sum()))
    steps.run("campaign", "sample", "annotation", "--size", str(size), "--expert", name, "--out", f"tasks/{name}.csv")
    asked = phrase_tasks(read, read_expert_sample("annotation", read.pool).triple.astype(np.intp), [(name,)] * size)
    _fill(name, annotate(asked, truth, name, source=_SOURCE, seed=seed))
    steps.run("campaign", "import", "annotation", f"filled/{name}.csv", "--role", "expert", "--time", _TIMES[3])
    quality = steps.run("campaign", "sample", "annotation", "--report")
    click.echo(f"\nAn expert who is never wrong judges some of the labels again:\n\n{_paragraph(quality, 0)}")
    made = steps.run("campaign", "qrels", "annotation", "--out", "qrels", "--force")
    click.echo(f"\nThe labels that come out of it:\n\n{_paragraph(made, 1)}")
    steps.copy("kg/annotation.md", "annotation/README.md")


def _paragraph(text: str, number: int) -> str:
    return text.split("\n\n")[number].rstrip()


def _fill(name: str, tasks: Tasks) -> None:
    write_tasks(Path("filled", f"{name}.csv"), tasks)


def _compare_labels(steps: _Steps, complete: Triples) -> None:
    """Evaluate the same runs on what was known, on what was judged, and on the truth, for the pooled questions."""
    pooled, asked = read_campaign("annotation").pool.questions, read_collection("sparse").questions
    question, entity = completions(asked, complete.recoded(asked.entities, asked.relations))
    question = pooled.ids.encode(asked.ids.labels)[question]
    entity, question = entity[question >= 0], question[question >= 0]
    grade = np.ones(len(question), np.int32)
    write_qrels("kg/truth.txt", Qrels.of(question, entity, grade, pooled.ids, asked.entities))
    steps.note("The same runs on the same questions, with three sets of labels.")
    words = [word for measure in _COMPARED for word in ("-m", measure)]
    scores = []
    for file in _LABELS:
        table = steps.run("evaluate", file, "sparse-ranks/*.run", *words, "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(table)))
        scores.append({(row["measure"], row["system"]): float(row["value"]) for row in rows})
    systems = sorted({system for _, system in scores[0]})
    click.echo(
        "\n"
        + "\n".join(f"{letter}  {about}, {file}" for letter, (file, about) in zip("KCT", _LABELS.items(), strict=True))
    )
    width = max(map(len, systems))
    header = "".join(f"{measure:>{3 * _CELL}}" for measure in _COMPARED)
    click.echo(
        f"\n{'':{width}}{header}\n{'system':{width}}"
        + "".join(f"{letter:>{_CELL}}" for letter in "KCT") * len(_COMPARED)
    )
    for system in systems:
        values = (labels[measure, system] for measure in _COMPARED for labels in scores)
        click.echo(f"{system:{width}}" + "".join(f"{value:{_CELL}.4f}" for value in values))
    vectors = [
        [np.array([labels[measure, system] for system in systems]) for measure in _COMPARED] for labels in scores
    ]
    taus = [
        kendall_tau_b(own, vectors[-1][place])
        for place in range(len(_COMPARED))
        for own in (row[place] for row in vectors)
    ]
    click.echo(f"{'tau to T':{width}}" + "".join(f"{float(tau):{_CELL}.4f}" for tau in taus))
