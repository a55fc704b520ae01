"""What `kgtrec demo` does: a made-up world, and a campaign on it, each step a command; a program plays the annotators.

Files for annotators that are the same for every world are in the folder demo_files.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
import tempfile
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

import click
import numpy as np

from kgtrec.campaign.decide import decisions_of
from kgtrec.campaign.tasks import phrase_tasks, tasks_for, tasks_for_adjudicator
from kgtrec.cli import cli
from kgtrec.data.judgements import Tasks
from kgtrec.data.triples import Triples
from kgtrec.formats.campaign.expert_samples import read_expert_sample
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.tasks import write_tasks
from kgtrec.formats.output.outputs import write_text
from kgtrec.formats.triples import write_triples
from kgtrec.kernels.sampling.label_draws import whole_share
from kgtrec.openworld.annotators import annotate
from kgtrec.openworld.family_tree import FamilyTree, HiddenFacts, family_tree, hide_facts

PEOPLE, HIDDEN, LABELS = 200, 0.6, 40  # chosen with seeds below 41; benchmarks/demo_seeds.py tries others
FAVOURED = "inverse"  # the system that the sparse labels come from
POOL_DEPTH = 10
_SAMPLE = 100  # labels that an expert gives again
# systems whose scores are bit-identical on every machine, so that the pool is too
POOLED = ("inverse", "neighbours", "popularity", "rules")
_ANNOTATORS, _ADJUDICATOR, _EXPERT = ("annotator-1", "annotator-2"), "adjudicator", "expert"
_MANAGER = "manager"  # of a campaign that is served; one that a program judges needs none
ERROR, _UNSURE = 0.05, 0.03
_SOURCE = "https://register.example/"  # where the annotators look things up; no such host can exist
# when they judged: made up, so that the folder is the same
_ANNOTATED = ("2026-01-12T12:00:00Z", "2026-01-13T12:00:00Z")
_ADJUDICATED, _SAMPLED = "2026-01-19T12:00:00Z", "2026-01-26T12:00:00Z"


class Script:
    """Commands of the program, run one after the other in the current folder, and recorded as a script."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def run(self, line: str) -> str:
        """Run ``kgtrec LINE`` and return its output. A word with a * is a file pattern."""
        self.lines.append(f"kgtrec {line}")
        words = shlex.split(line)
        output = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stdout(output))
            if "--baseline" not in words:  # which takes long, and shows its progress
                stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            patterns = {word: sorted(map(str, Path().glob(word))) for word in words if "*" in word}
            cli.main(args=[name for word in words for name in patterns.get(word, [word])], standalone_mode=False)
        output.seek(0)
        return output.read()

    def copy(self, source: str, target: str) -> None:
        """Copy a file."""
        self.lines.append(f"cp {source} {target}")
        shutil.copyfile(source, target)

    def note(self, text: str) -> None:
        """Add a comment about the following commands."""
        self.lines.append(f"\n# {text}")

    def text(self, made_by: str) -> str:
        """Give the commands as a file for a shell."""
        return (
            "# What kgtrec demo did, step by step, with the files in kg/ and filled/.\n"
            "# `sh steps.sh` in this folder does all of it again in a new one, again.XXXXXX.\n"
            f"# They came from: {made_by}\n"
            "set -e\n"
            "new=$(mktemp -d again.XXXXXX)\n"
            "cp -r kg filled $new\n"
            "cd $new\n" + "\n".join(self.lines) + "\n"
        )


def make_world(
    people: int = PEOPLE, hidden: float = HIDDEN, labels: int = LABELS, seed: int = 0
) -> tuple[FamilyTree, HiddenFacts]:
    """Make a family tree, and sparse labels that favour one system."""
    tree = family_tree(people, seed)
    density = min(1.0, labels / max(1, whole_share(hidden, len(tree.facts))))
    return tree, hide_facts(tree.facts, hidden=hidden, density=density, labels_from=FAVOURED, seed=seed)


def write_world(folder: Path, tree: FamilyTree, world: HiddenFacts) -> None:
    """Write the triples, and the files for annotators."""
    splits = world.splits
    triples = {"train": splits.train, "valid": splits.valid, "test": splits.test, "complete": world.complete}
    for name, split in triples.items():
        write_triples(folder / f"{name}.tsv", split)
    labels = list(tree.facts.entities)
    kinds = ["man" if male else "woman" for male in tree.is_male]
    _write_lines(
        folder / "entity_types.tsv",
        (row for pair in zip(labels, kinds, strict=True) for row in (pair, (pair[0], "person"))),
    )
    _write_lines(folder / "names.tsv", ((label, _name(label)) for label in labels))
    for file in files("kgtrec.cli").joinpath("demo_files").iterdir():
        write_text(folder / file.name, file.read_text(encoding="utf-8"))


def _name(label: str) -> str:
    """The display name: Brisa 17 for brisa_0017."""
    first, number = label.split("_")
    return f"{first.capitalize()} {int(number)}"


def _write_lines(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))


def run_campaign(script: Script, truth: Triples, error: float, seed: int) -> None:
    """Pool the systems, have the pool judged, and write its qrels."""
    _pool(script, seed)
    _annotate(script, truth, error, seed)
    _adjudicate(script, truth, error / 4, seed)
    _judge_sample(script, truth, seed)
    made = script.run("campaign qrels annotation --out qrels")
    click.echo(f"\nThe labels that come out of it:\n\n{_paragraph(made, 1)}")
    script.copy("kg/annotation.md", "annotation/README.md")


def _pool(script: Script, seed: int, depth: int = POOL_DEPTH) -> None:
    script.note("A pool of what the systems put on top, for people to judge.")
    pooled = " ".join(f"sparse-ranks/{name}.run" for name in POOLED)
    types = "--trivial types --entity-types kg/entity_types.tsv --relation-types kg/relation_types.tsv"
    report = script.run(f"pool sparse {pooled} --depth {depth} {types} --seed {seed} --out annotation")
    click.echo(f"\nA pool of what the systems put on top, to be judged by people:\n\n{_paragraph(report, 0)}")


def write_demo_campaign(folder: Path, depth: int = POOL_DEPTH) -> None:
    """Make the demo's campaign in a new folder, with people of every role and nothing judged; less deep on request."""
    tree, world = make_world(seed=0)
    target = folder.absolute()
    with (
        tempfile.TemporaryDirectory() as work,
        contextlib.chdir(work),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        write_world(Path("kg"), tree, world)
        script = Script()
        script.run("questions kg/train.tsv kg/valid.tsv kg/test.tsv --out sparse")
        for name in POOLED:
            script.run(f"rank sparse --baseline {name} --out sparse-ranks --depth {PEOPLE} --run-format run")
        _pool(script, 0, depth)
        _init(script, f" --manager {_MANAGER}")
        script.run("campaign assign annotation --seed 0")
        shutil.copytree("annotation", target)


def _init(script: Script, more: str = "") -> None:
    people = " ".join(f"--annotator {name}" for name in _ANNOTATORS)
    script.run(
        "campaign init annotation --names kg/names.tsv --sources kg/sources.txt "
        f"{people} --adjudicator {_ADJUDICATOR} --expert {_EXPERT}{more}"
    )


def _annotate(script: Script, truth: Triples, error: float, seed: int) -> None:
    _init(script)
    script.run(f"campaign assign annotation --seed {seed}")
    for name, time in zip(_ANNOTATORS, _ANNOTATED, strict=True):
        script.run(f"campaign export annotation --annotator {name} --out tasks/{name}.csv")
        asked = tasks_for(read_campaign("annotation"), name)
        _fill(name, annotate(asked, truth, name, error=error, unsure=_UNSURE, source=_SOURCE, seed=seed))
        script.run(f"campaign import annotation filled/{name}.csv --time {time}")
    agreed = script.run("campaign agreement annotation")
    text = f"Two annotators, each wrong {error:.0%} and unsure {_UNSURE:.0%} of the time, agree so far:"
    click.echo(f"\n{text}\n\n{_paragraph(agreed, 1)}")


def _adjudicate(script: Script, truth: Triples, error: float, seed: int) -> None:
    name = _ADJUDICATOR
    script.run(f"campaign adjudicate annotation --person {name} --out tasks/{name}.csv")
    asked = tasks_for_adjudicator(read_campaign("annotation"), name)
    _fill(name, annotate(asked, truth, name, error=error, source=_SOURCE, seed=seed))
    script.run(f"campaign adjudicate annotation --person {name} --import filled/{name}.csv --time {_ADJUDICATED}")


def _judge_sample(script: Script, truth: Triples, seed: int) -> None:
    name, read = _EXPERT, read_campaign("annotation")
    settled = decisions_of(read).verdict[read.automatic.for_people] >= 0
    size = min(_SAMPLE, int(settled.sum()))
    script.run(f"campaign sample annotation --size {size} --expert {name} --out tasks/{name}.csv")
    asked = phrase_tasks(read, read_expert_sample("annotation", read.pool).triple.astype(np.intp), [(name,)] * size)
    _fill(name, annotate(asked, truth, name, source=_SOURCE, seed=seed))
    script.run(f"campaign import annotation filled/{name}.csv --role expert --time {_SAMPLED}")
    quality = script.run("campaign sample annotation --report")
    click.echo(f"\nAn expert who is never wrong judges some of the labels again:\n\n{_paragraph(quality, 0)}")


def _paragraph(text: str, number: int) -> str:
    return text.split("\n\n")[number].rstrip()


def _fill(name: str, tasks: Tasks) -> None:
    write_tasks(Path("filled", f"{name}.csv"), tasks)
