"""Every command that writes, into folders that hold anything: --force alone replaces, and only what is of its kind.

And what a command writes is there as a whole or not at all, wherever it is stopped.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgtrec.cli import cli, main
from kgtrec.formats.answer_ranks import read_answer_ranks, write_answer_ranks
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.trec.runs import read_run, write_run
from tests.campaign_folders import folder_of, people_of
from tests.examples import examples
from tests.judged_pools import judgements_of
from tests.published_labels import published
from tests.trees import faulty_runs, is_part, tree, without_parts

ROOT = Path(__file__).parents[2]

#: words of each command that writes, with OUT for what it writes: a folder, a file, or a folder of single files
# what makes verdicts, or what holds them, which no command replaces
ONCE = {"campaign import-kgc-sparsity", "demo", *(f"campaign export {form}" for form in ("csv", "xlsx", "jsonl"))}
FOLDERS = {
    "questions": "questions kg --out OUT",
    "pool": "pool C RUNS --depth 2 --out OUT",
    "campaign qrels": "campaign qrels campaign --depth 1 --out OUT",
    "campaign export": "campaign export campaign --annotator annotator-1 --all --format label-studio --out OUT",
    "campaign import-kgc-sparsity": "campaign import-kgc-sparsity published --out OUT",
    "openworld curve": "openworld curve C RANKS --densities 0.5 -m micro.MRR --out OUT",
    "openworld world": "openworld world --people 20 --out OUT",
    "demo": "demo --people 20 --out OUT",
}
FILES = {
    "evaluate": "evaluate C ranks/rules.ranks.parquet --out OUT.csv",
    "evaluate parquet": "evaluate C ranks/rules.ranks.parquet --out OUT.parquet",
    "evaluate ties": "evaluate C ranks/rules.ranks.parquet -m macro.MRR --ties all --format csv --out OUT.csv",
    "data list": "data list --all --out OUT.csv",
    "chance": "chance C --format csv --out OUT.csv",
    "published adjust": "published adjust --measure micro.MRR --value 0.3 --chance nations --out OUT.json",
    "published check": "published check paper.csv --data nations --out OUT.csv",
    "convert": "convert ranks/rules.run.gz OUT.run",
    "convert zst": "convert ranks/rules.run.gz OUT.run.zst",
    "convert parquet": "convert ranks/rules.run.gz OUT.parquet",
    "campaign export csv": "campaign export campaign --annotator annotator-1 --all --out OUT.csv",
    "campaign export xlsx": "campaign export campaign --annotator annotator-1 --all --out OUT.xlsx",
    "campaign export jsonl": "campaign export campaign --annotator annotator-1 --all --out OUT.jsonl",
    "campaign adjudicate": "campaign adjudicate campaign --out OUT.csv",
    "campaign sample": "campaign sample campaign --size 2 --out OUT.csv",
    "campaign status": "campaign status campaign --per relation --out OUT.csv",
    "campaign agreement": "campaign agreement campaign --resamples 10 --format json --out OUT.json",
    "campaign agreement gold": "campaign agreement golden --gold --format csv --out OUT.csv",
    "campaign plan": "campaign plan P --share 0.5 -m P@2 --format json --out OUT.json",
    "campaign diagnostics": "campaign diagnostics campaign --table runs --format csv --out OUT.csv",
    "campaign machines": "campaign machines said --resamples 10 --table machines --out OUT.csv",
    "campaign learn": "campaign learn pooled C --resamples 10 --out OUT.csv",
    "meta correlate": "meta correlate scores-a.csv scores-b.csv --out OUT.json",
    "meta sparsity": "meta sparsity C/qrels.txt more.txt --systems ranks -m AP@20 --format json --out OUT.json",
    "meta stability": "meta stability C RANKS --repeats 2 -m micro.MRR --format json --out OUT.json",
    "meta power": "meta power C RANKS -m micro.MRR --out OUT.json",
    "meta compare": "meta compare C RANKS -m micro.MRR --format json --out OUT.json",
    "meta withstand": "meta withstand C RANKS --reason random --repeats 1 -m AP@20 --format json --out OUT.json",
    "meta sampled": "meta sampled RANKS --candidates 3 --format json --out OUT.json",
    "explore": "explore C RANKS RUNS --out OUT.html",
    "explore question": "explore C RUNS --question head0 --format csv --out OUT.csv",
    "openworld estimate": "openworld estimate C/qrels.txt RUNS --labels more.txt --out OUT.json",
}
PARTS = {
    "rank": "rank C zeros.npy --topics C/topics.tsv --entities C/entities.txt --depth 3 --out OUT",
    "baseline": "rank C --baseline popularity --depth 3 --out OUT",
    "align": "align vectors.npz --by-size 3 --repeats 2 --out OUT",
    "report": "study study --out OUT/report.html --formats html,svg,csv,latex",
    "pool report": "pool C ranks/rules.run.gz --depth 2 --out OUT-pool --report OUT/report.txt",
    "study": "study study.toml --out OUT",
}
SLOW = {"demo", "study", "report"}
WORKBOOK = "campaign export xlsx"
COMMANDS = {**FOLDERS, **FILES, **PARTS}


def words_of(words) -> list[str]:
    words = words.replace("RUNS", "ranks/rules.run.gz ranks/popularity.run.gz")
    return words.replace("RANKS", "ranks/rules.ranks.parquet ranks/popularity.ranks.parquet").split()


def run(words, out) -> int:
    try:
        main([word.replace("OUT", out) for word in words_of(words)])
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return 0


STUDY = """title = "S"
[data]
folder = "kg"
[systems]
baselines = ["rules", "popularity"]
[measures]
names = ["RR"]
resamples = 2
[stability]
labels = []
[report]
formats = ["html", "csv"]
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A folder in which every command finds what it reads."""
    folder = tmp_path_factory.mktemp("world") / "world"
    folder.mkdir()
    shutil.copytree(ROOT / "examples" / "cities", folder / "kg")
    shutil.copytree(ROOT / "annotation", folder / "campaign")
    (folder / "campaign" / "expert_sample.tsv").unlink()
    shutil.copytree(folder / "campaign", folder / "golden")
    triple = "\t".join((folder / "golden" / "assignments.tsv").read_text().splitlines()[1].split("\t")[2:])
    (folder / "golden" / "gold.tsv").write_text(f"head\trelation\ttail\tverdict\n{triple}\tY\n")
    shutil.copytree(folder / "campaign", folder / "said")
    (folder / "said" / "machine").mkdir()
    keys = ("head", "relation", "tail", "verdict")
    said = json.dumps(dict(zip(keys, (*triple.split("\t"), "Y"), strict=True)))
    (folder / "said" / "machine" / "m.jsonl").write_text(f"{said}\n")
    published(folder / "published")
    with chdir(folder):
        for words in (
            "questions kg --out C",
            "rank C --baseline rules --out ranks",
            "rank C --baseline popularity --out ranks",
        ):
            assert run(words, "") == 0
        for words in ("pool C RUNS --depth 2 --out P", "campaign init P --annotator ann --annotator bob"):
            assert run(words, "") == 0
        pooled = read_campaign("P")
        half = range(0, len(pooled.pool), 2)
        said = [(row, name, "annotator", "YN"[row % 4 // 2]) for row in half for name in ("ann", "bob")]
        who = people_of(("ann", "annotator", True), ("bob", "annotator", True))
        folder_of(replace(pooled, people=who, judgements=judgements_of(said)), folder / "pooled")
        n = len(Path("C/topics.tsv").read_text().splitlines()), len(Path("C/entities.txt").read_text().splitlines())
        np.save("zeros.npy", np.zeros(n, np.float32))
        rng = np.random.default_rng(0)
        left = rng.integers(0, 4, (12, 3)).astype(np.float16)
        np.savez("vectors.npz", left=left, right=left, is_test=np.arange(12) % 3 > 0)
        for name in "ab":
            Path(f"scores-{name}.csv").write_text("System,micro_mrr\nx,0.1\ny,0.2\nz,0.3\n")
        Path("paper.csv").write_text("model,MRR\nx,0.1\n")
        Path("more.txt").write_text("".join(Path("C/qrels.txt").read_text().splitlines(keepends=True)[::2]))
        Path("study.toml").write_text(STUDY)
        assert run("study study.toml", "") == 0
    return folder


def copied(world, place, words) -> None:
    """What a command reads by its words, and kg/ as what it does not."""
    named = {"kg", *(word.partition("/")[0] for word in words_of(words))}
    shutil.copytree(
        world, place, symlinks=True, ignore=lambda at, names: set(names) - named if at == str(world) else ()
    )


def test_every_command_that_writes_is_here():
    """A command with an option or argument for what it writes has its words above."""
    writing = set()
    stack: list[tuple[str, click.Command]] = [("", cli)]
    while stack:
        name, command = stack.pop()
        if isinstance(command, click.Group):
            context = click.Context(command)
            stack += [
                (f"{name} {inner}".strip(), command.get_command(context, inner))
                for inner in command.list_commands(context)
            ]
        elif {parameter.name for parameter in command.params} & {"out", "target", "report_path"}:
            writing.add(name)
            assert any(parameter.name == "force" for parameter in command.params), name
    assert writing == {name for name in writing if any(words.startswith(name) for words in COMMANDS.values())}


def names_of(word) -> st.SearchStrategy[str]:
    """Names of files that somebody may have, those that ours have among them."""
    ours = [
        "steps.sh",
        "points.csv",
        "labelling.xml",
        "SHA256SUMS",
        "manifest.json",
        "campaign.json",
        "export.json",
        "topics.tsv",
        "qrels.txt",
        "report.html",
        "study.toml",
        "judgements.jsonl",
        "zeros.run.gz",
        "zeros.ranks.parquet",
        "popularity.run.gz",
        "collection/qrels.txt",
        "figures/a.svg",
        "steps/x/step.json",
        "study.csv",
        "tables/a.tex",
    ]
    return st.sampled_from([*ours, "thesis.tex", "sub/notes.txt", ".hidden", f"{word}.csv"])


SPELLINGS = ("out", "./out", "out/", "../world/out", "ABSOLUTE", "link", "out/../out")


def held(place) -> dict[str, bytes]:
    """All that is there, but for what a program that was killed was writing."""
    return without_parts(tree(place))


def run_on_anything(world, place, name, theirs, spelling, here) -> None:
    words = COMMANDS[name]
    copied(world, place, words)
    with chdir(place):
        if name in FILES:
            suffix = words.split("OUT")[1].split()[0]
            for theirs_name, text in theirs.items():
                Path(
                    f"out{suffix}" if theirs_name == "thesis.tex" else f"{theirs_name.replace('/', '-')}.x"
                ).write_text(text)
        elif theirs:
            for own, text in theirs.items():
                path = Path("out", own)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        if spelling == "link":
            Path("out").mkdir(exist_ok=True)
            Path("link").symlink_to("out")
        if spelling == "out/../out":
            Path("out").mkdir(exist_ok=True)
        out = str(place / "out") if spelling == "ABSOLUTE" else spelling
        if name in FILES:
            out = "out" if spelling == "link" else out.rstrip("/")
    before = tree(place)
    inside = here and name not in FILES and (place / "out").is_dir() and spelling == "out"
    if inside:
        words = " ".join(
            f"../{word}" if (place / word.partition("/")[0]).exists() and word != "study" else word
            for word in words.split()
        )
        out = "."
    with chdir(place / "out" if inside else place):
        code = run(words, out)
    after = tree(place)
    assert code == 0 or theirs or spelling != "out" or here
    kept = {path: text for path, text in before.items() if after.get(path) != text}
    # a file that holds nothing may be filled
    kept = {path: text for path, text in kept.items() if text or path.endswith("/")}
    # campaign sample keeps in the campaign which triples were drawn
    assert not [path for path in kept if path != "campaign/expert_sample.tsv"], (code, kept)
    assert not [path for path in after if is_part(path)]
    if code:
        assert code == 2
        new = set(after) - set(before)
        assert not [path for path in new if not path.startswith(("campaign/", "OUT-pool", "out/steps"))], (name, new)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in SLOW])
def test_nothing_of_others_changes(world, tmp_path, name):
    """Whatever the place of the output holds, and however its path is written."""
    for turn, (theirs, spelling) in enumerate(
        [({}, "out"), ({"thesis.tex": "mine"}, "./out"), ({"steps.sh": "", "thesis.tex": "mine"}, "link")]
    ):
        run_on_anything(world, tmp_path / str(turn) / "world", name, theirs, spelling, turn == 1)


@pytest.mark.parametrize("kind", ["answer ranks", "a run"])
@pytest.mark.parametrize("name", [name for name in FILES if name != "convert zst"])
def test_answer_ranks_and_runs_are_replaced_by_nothing_else(world, tmp_path, capsys, name, kind):
    """Though it is told --force, as a score table over a file of ranks that took hours."""
    if name.startswith("convert") and kind == "a run":
        return  # by another run
    place = tmp_path / "world"
    copied(world, place, FILES[name])
    shutil.copytree(world / "ranks", place / "ranks", dirs_exist_ok=True)
    with chdir(place):
        out = f"out{FILES[name].split('OUT')[1]}"
        if kind == "answer ranks":
            write_answer_ranks(out, read_answer_ranks("ranks/rules.ranks.parquet"))
        else:
            write_run(out, read_run("ranks/rules.run.gz"))
        before = tree(place)
        capsys.readouterr()
        for words in (FILES[name], f"{FILES[name]} --force"):
            assert run(words, "out") == 2
            error = capsys.readouterr().err.splitlines()[-1]
            if not name.startswith("convert") or "--force" in words:  # which looks at what it reads later
                assert error.endswith(f": holds {kind}, which nothing else replaces; choose another name")
            assert tree(place) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name == "demo" else name for name in COMMANDS]
)
def test_nothing_of_others_changes_whatever_they_have(world, tmp_path_factory, name):
    """Random files under names that ours have, in every spelling, from outside and inside of the folder."""

    @settings(
        max_examples=examples(4) if name in {*SLOW, WORKBOOK} else examples(25),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        st.dictionaries(names_of("out"), st.sampled_from(["", "mine", "{}", '{"collection_format": 1}']), max_size=4),
        st.sampled_from(SPELLINGS),
        st.booleans(),
    )
    def anything(theirs, spelling, here):
        run_on_anything(world, tmp_path_factory.mktemp("any") / "world", name, theirs, spelling, here)

    anything()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name == WORKBOOK else name for name in COMMANDS if name not in SLOW],
)
def test_given_again_a_command_says_that_its_output_exists(world, tmp_path, capsys, name):
    """With --force it makes the same once more, among files of others; where verdicts are it never does."""
    place = tmp_path / "world"
    copied(world, place, COMMANDS[name])
    with chdir(place):
        assert run(COMMANDS[name], "out") == 0
        for folder in {"out", "OUT-pool"} & {path.name for path in place.iterdir() if path.is_dir()}:
            for theirs in ("README", ".git/HEAD", ".ipynb_checkpoints/x.csv", ".DS_Store"):
                (place / folder / theirs).parent.mkdir(exist_ok=True)
                (place / folder / theirs).write_text("mine")
        before = tree(place)
        capsys.readouterr()
        assert run(COMMANDS[name], "out") == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert ": exists; --force replaces it" in error or name in ONCE, error
        assert tree(place) == before
        code = run(f"{COMMANDS[name]} --force", "out")
        assert code == (2 if name in ONCE else 0), capsys.readouterr().err
        assert tree(place) == before


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("is_there", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in {"questions", "evaluate"} else pytest.mark.long)
        for name in COMMANDS
        if name not in SLOW
    ],
)
def test_stopped_anywhere_a_command_leaves_all_or_nothing(world, tmp_path, name, is_there):
    """At each call of the system that changes a file, whether an earlier output is replaced or none is there.

    And run again it makes what it makes undisturbed.
    """
    if is_there and name in ONCE:
        return
    place = tmp_path / "world"
    copied(world, place, COMMANDS[name])
    words = f"{COMMANDS[name]} --force"
    before = held(place)
    with chdir(place):
        assert run(words, "out") == 0
    made = {path: text for path, text in held(place).items() if before.get(path) != text}
    if is_there:  # edited, so that old and new differ
        for path in made:
            if path.endswith((".csv", ".txt", ".tsv")):
                with (place / path).open("ab") as stream:
                    stream.write(b"\n")
        before = held(place)
    shutil.copytree(place, tmp_path / "former", symlinks=True)
    mended: list[dict[str, bytes]] = []  # from which the command makes what it makes undisturbed

    def reset() -> None:
        shutil.rmtree(place)
        if is_there:
            shutil.copytree(tmp_path / "former", place, symlinks=True)
        else:
            copied(world, place, COMMANDS[name])

    def act() -> None:
        with chdir(place):
            if code := run(words, "out"):
                raise SystemExit(code)

    for fault, number, ended in faulty_runs(act, reset, ("kill after", "interrupt", "fail")):
        found = held(place)
        where = fault, number
        assert {path: found.get(path) for path in before if path not in made} == {
            path: text for path, text in before.items() if path not in made
        }, where
        new = {path for path, text in found.items() if before.get(path) != text and not path.endswith("/")}
        assert {(path, found[path]) for path in new} <= made.items(), where
        files = {path for path, text in made.items() if not path.endswith("/") and before.get(path) != text}
        if ended == 0 or (name in FOLDERS and "kill" not in fault):
            assert new in (set(), files), (where, files ^ new)
        if "kill" not in fault and ended:
            assert not [path for path in tree(place) if is_part(path)] or new == files, where
        if (state := tree(place)) in mended:
            continue  # what comes out of it is known
        if not (new and name in ONCE):
            act()
            after = tree(place)
            assert {path: after.get(path) for path in {**before, **made}} == {**before, **made}, where
            assert not [path for path in after if is_part(path)], where
        mended.append(state)
