"""kgtrec study: the same report at every run, however often it was stopped."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from tests.program import exit_code as run
from tests.studies import MORE, sample, study_toml
from tests.trees import tree

ROOT = Path(__file__).parents[2]
CONFIG = study_toml(
    "Cities <script>alert(1)</script>",
    data={"folder": "cities"},
    systems={"baselines": ["rules", "popularity", "inverse"]},
    labels=sample(0.5) | MORE,
    measures={"names": ["micro.MRR", "macro.MRR", "AP@20"], "resamples": 50},
    stability={"sizes": [0.5, 0.75], "repeats": 4},
    report={"formats": ["html", "svg", "csv", "latex"]},
)
SMALL = study_toml(
    "S",
    data={"folder": "cities"},
    systems={"baselines": ["rules", "popularity"]},
    measures={"names": ["RR"], "resamples": 2},
    stability={"labels": []},
    report={"formats": ["csv"]},
)


def files(folder: Path) -> dict[str, bytes]:
    return {name: held for name, held in tree(folder).items() if not name.endswith("/")}


def write_study(folder: Path) -> Path:
    shutil.copytree(ROOT / "examples" / "cities", folder / "cities")
    (folder / "study.toml").write_text(CONFIG)
    (folder / "more.txt").write_text("head0 0 vienna 1\nhead0 0 lyon 0\n")
    return folder / "study.toml"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole")
    assert run("study", write_study(folder)) == 0
    return folder


@pytest.mark.slow
def test_the_study_writes_a_page_figures_tables_and_a_manifest(whole: Path):
    made = files(whole / "study")
    assert {
        "report.html",
        "manifest.json",
        "study.toml",
        "figures/stability-all.svg",
        "tables/scores-all.tex",
        "data/scores-all.csv",
    } <= set(made)
    assert b"<script>alert(1)" not in made["report.html"]
    manifest = json.loads(made["manifest.json"])
    assert {each["name"] for each in manifest["inputs"]} == {
        "cities/train.tsv",
        "cities/valid.tsv",
        "cities/test.tsv",
        "more.txt",
    }
    assert str(whole).encode() not in made["manifest.json"] + made["report.html"]


@pytest.mark.slow
def test_scores_are_those_of_kgtrec_evaluate(whole: Path, capsys):
    steps = whole / "study" / "steps"
    collection = next(steps.glob("collection-test-*")) / "collection"
    ranks = sorted(map(str, steps.glob("ranks-*/*.ranks.parquet")))
    run("evaluate", collection, *ranks, "-m", "micro.MRR macro.MRR AP@20", "--format", "csv")
    told = {tuple(line.split(",")[:2]): float(line.split(",")[2]) for line in capsys.readouterr().out.split()[1:]}
    lines = (whole / "study" / "data" / "scores-all.csv").read_text().split()[1:]
    assert {tuple(line.split(",")[:2]): float(line.split(",")[2]) for line in lines} == told


@pytest.mark.slow
def test_the_report_leads_to_each_question_with_its_own_scores(whole: Path):
    """The page of single questions beside it has the scores of the report, digit for digit."""
    report, page = ((whole / "study" / name).read_text("utf-8") for name in ("report.html", "explore.html"))
    assert '<a href="explore.html">Question by question</a>' in report
    data = json.loads(re.findall(r'<script type="application/json" id="explore">(.*?)</script>', page, re.DOTALL)[0])
    shown = set(re.findall(r'<span class="value">([^<]+)</span>', report))
    scores = {each["text"] for by_measure in data["scores"][0] for each in by_measure}
    assert scores
    assert scores <= shown


@pytest.mark.slow
def test_a_second_run_computes_nothing_and_changes_nothing(whole: Path, capsys):
    before = files(whole / "study")
    assert run("study", whole / "study.toml") == 0
    told = capsys.readouterr().err
    assert "0 steps computed" in told
    assert told.endswith(f"\nwrote {whole / 'study' / 'report.html'}\n")
    assert files(whole / "study") == before


@pytest.mark.slow
def test_another_place_and_more_workers_give_the_same_bytes(whole: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(import_module("kgtrec.workers.results"), "_WORTH", 0)
    assert run("study", write_study(tmp_path), "--workers", "2", "--out", tmp_path / "other") == 0
    assert files(tmp_path / "other") == files(whole / "study")


@pytest.mark.slow
def test_after_a_change_only_what_hangs_on_it_is_computed(whole: Path, tmp_path: Path, capsys):
    shutil.copytree(whole, tmp_path / "copy")
    config = tmp_path / "copy" / "study.toml"
    config.write_text(CONFIG.replace("repeats = 4", "repeats = 5"))
    assert run("study", config) == 0
    told = capsys.readouterr().err
    assert "computing stability-all" in told
    assert "1 step computed" in told
    assert len(list((tmp_path / "copy" / "study" / "steps").glob("stability-all-*"))) == 2
    assert run("study", config, "--prune") == 0
    assert len(list((tmp_path / "copy" / "study" / "steps").glob("stability-all-*"))) == 1


@pytest.mark.slow
def test_a_damaged_step_is_computed_again(whole: Path, tmp_path: Path, capsys):
    shutil.copytree(whole, tmp_path / "copy")
    broken = next((tmp_path / "copy" / "study" / "steps").glob("ties-all-*")) / "ties.parquet"
    broken.write_bytes(b"mine")
    assert run("study", tmp_path / "copy" / "study.toml") == 0
    err = capsys.readouterr().err
    assert "1 step computed" in err
    assert "was changed since it was computed, so it is computed again; the changed one is kept as ties-all-" in err
    aside = broken.parent.with_name(f"{broken.parent.name}.1")
    assert (aside / "ties.parquet").read_bytes() == b"mine"
    shutil.rmtree(aside)
    assert files(tmp_path / "copy" / "study") == files(whole / "study")


@pytest.mark.long
@pytest.mark.parametrize("steps_done", [1, 6, 13])
def test_a_study_that_is_killed_goes_on_to_the_same_report(whole: Path, tmp_path: Path, steps_done: int):
    """SIGKILL, which no program can prepare for, once so many steps are there."""
    config = write_study(tmp_path)
    program = subprocess.Popen(
        [sys.executable, "-m", "kgtrec", "study", str(config)], stderr=subprocess.DEVNULL, env=os.environ
    )
    steps, until = tmp_path / "study" / "steps", time.monotonic() + 300
    while len([step for step in steps.glob("*-*") if not step.name.startswith(".")]) < steps_done:
        assert program.poll() is None, "the study ended before it was killed"
        assert time.monotonic() < until
        time.sleep(0.01)
    program.send_signal(signal.SIGKILL)
    program.wait()
    assert not (tmp_path / "study" / "report.html").exists()
    assert run("study", tmp_path / "study", "--out", tmp_path / "r.html") == 2  # there is nothing to report yet
    assert run("study", config) == 0
    assert files(tmp_path / "study") == files(whole / "study")


@pytest.mark.slow
def test_what_a_killed_report_left_half_written_goes(whole: Path, tmp_path: Path):
    shutil.copytree(whole, tmp_path / "copy")
    half = [
        tmp_path / "copy" / "study" / name
        for name in (".report.html.0123abcd.part", "figures/.x.svg.0123abcd.part", "steps/.x.0123abcd.part")
    ]
    for path in half:
        path.write_text("half")
    assert run("study", tmp_path / "copy" / "study.toml") == 0
    assert files(tmp_path / "copy" / "study") == files(whole / "study")


@pytest.mark.slow
def test_what_others_put_into_a_study_stays_and_does_not_block_it(whole: Path, tmp_path: Path):
    """Also under names that look like ours."""
    shutil.copytree(whole, tmp_path / "copy")
    study = tmp_path / "copy" / "study"
    (study / ".x.part").mkdir()
    (study / "steps" / ".y.part").mkdir()
    (study / ".x.part" / "thesis.tex").write_text("mine")
    (study / "steps" / "notes-mine").mkdir()
    (study / "steps" / "notes-mine" / "step.json").write_text("mine")
    assert run("study", tmp_path / "copy" / "study.toml", "--prune") == 0
    assert (study / ".x.part" / "thesis.tex").read_text() == "mine"
    assert (study / "steps" / ".y.part").is_dir()
    assert (study / "steps" / "notes-mine" / "step.json").read_text() == "mine"


@pytest.mark.long
@pytest.mark.parametrize("name", ["report.html", "manifest.json", "study.toml", "tables/data.tex"])
def test_what_somebody_changed_in_a_study_is_replaced_with_force_only(whole: Path, tmp_path: Path, capsys, name: str):
    """It is named, before any other file of the report is written; the study's own sums say what was changed."""
    shutil.copytree(whole, tmp_path / "copy")
    study = tmp_path / "copy" / "study"
    changed = study / name if (study / name).exists() else next((study / "tables").glob("*.tex"))
    changed.write_text("mine")
    before = {path: text for path, text in files(study).items() if path != "manifest.json"}
    config = tmp_path / "copy" / "study.toml"
    config.write_text(CONFIG.replace("title = ", "title = 'Another' #"))
    assert run("study", config) == 2
    assert capsys.readouterr().err.endswith(f"error: {changed}: exists; --force replaces it\n")
    assert {path: text for path, text in files(study).items() if path != "manifest.json"} == before
    assert changed.read_text() == "mine"
    assert run("study", config, "--force") == 0
    assert run("study", config) == 0
    assert b"Another" in (study / "report.html").read_bytes()


@pytest.mark.slow
def test_files_of_somebody_else_stay(whole: Path, tmp_path: Path):
    """Of the folders of a report only what an earlier report wrote is removed."""
    shutil.copytree(whole, tmp_path / "copy")
    study, config = tmp_path / "copy" / "study", tmp_path / "copy" / "study.toml"
    (study / "data" / "my.tsv").write_text("mine")
    config.write_text(CONFIG.replace('"html", "svg", "csv", "latex"', '"svg"'))
    assert run("study", config) == 0
    assert set(tree(study / "data")) == {"my.tsv"}
    assert (study / "figures" / "stability-all.svg").is_file()
    assert not (study / "report.html").exists()


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (".", ".: expected a new or empty folder, or one to replace by the same kind, found one with cities, more.txt"),
        ("cities", "cities: expected a new or empty folder, or one to replace by the same kind, found one with "),
        ("study.toml", "study.toml: expected a folder to write, found a file"),
    ],
)
def test_a_study_goes_to_a_folder_of_its_own(tmp_path: Path, monkeypatch, capsys, out: str, message: str):
    """Where it would mix with, overwrite or remove the files that it reads."""
    write_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = files(tmp_path)
    assert run("study", "study.toml", "--out", out) == 2
    assert message in capsys.readouterr().err
    assert files(tmp_path) == before


def test_a_table_that_was_changed_is_not_reported(whole: Path, tmp_path: Path, capsys):
    shutil.copytree(whole / "study", tmp_path / "study")
    steps = tmp_path / "study" / "steps"
    one, other = (next(steps.glob(f"scores-{name}-*")) / "scores.parquet" for name in ("all", "more"))
    one.write_bytes(other.read_bytes())
    assert run("study", tmp_path / "study", "--out", tmp_path / "r.html") == 2
    assert "expected the table that the study computed, found another" in capsys.readouterr().err


def test_an_input_that_changes_while_the_study_runs_is_told(tmp_path: Path, monkeypatch, capsys):
    """Or a step would be kept under the checksum of what it was not made of."""
    from kgtrec.formats import triples

    def read_and_change(path, **options):
        found = read(path, **options)
        with Path(path).open("a") as stream:
            stream.write("\n")
        return found

    read = triples.read_triples
    monkeypatch.setattr(triples, "read_triples", read_and_change)
    assert run("study", write_study(tmp_path)) == 2
    assert "expected a file that does not change while the study runs" in capsys.readouterr().err
    assert not list((tmp_path / "study" / "steps").iterdir())


def write_small(folder: Path) -> Path:
    write_study(folder)
    (folder / "small.toml").write_text(SMALL)
    return folder / "small.toml"


def test_without_a_page_the_folder_is_what_was_written(tmp_path: Path, capsys):
    assert run("study", write_small(tmp_path)) == 0
    assert capsys.readouterr().err.endswith(f"\nwrote {tmp_path / 'small'}\n")
    assert not (tmp_path / "small" / "report.html").exists()


def test_the_study_keeps_the_configuration_that_was_run(tmp_path: Path, monkeypatch):
    """Not what somebody makes of the file meanwhile."""
    from kgtrec.formats import triples

    def read_and_change(path, **options):
        config.write_text("title = 3")
        return read(path, **options)

    config, read = write_small(tmp_path), triples.read_triples
    monkeypatch.setattr(triples, "read_triples", read_and_change)
    assert run("study", config) == 0
    assert config.read_text() == "title = 3"
    assert (tmp_path / "small" / "study.toml").read_text() == SMALL


def test_a_question_that_the_collection_lacks_is_told_with_its_file(tmp_path: Path, capsys):
    config = write_small(tmp_path)
    config.write_text(SMALL + '[[labels]]\nname = "more"\nkind = "qrels"\nfile = "more.txt"\n')
    (tmp_path / "more.txt").write_text("head0 0 vienna 1\nhead99 0 vienna 1\n")
    assert run("study", config) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert f"{tmp_path / 'more.txt'}: " in told
    assert "head99" in told


def write_runs(folder: Path, **runs: str) -> Path:
    splits = (ROOT / "examples" / "cities" / f"{name}.tsv" for name in ("train", "valid", "test"))
    assert run("questions", *splits, "--out", folder / "C") == 0
    (folder / "runs").mkdir()
    for name, text in runs.items():
        (folder / "runs" / f"{name}.run").write_text(text)
    text = study_toml(
        data={"collection": "C"},
        systems={"runs": ["runs"]},
        labels={name: {"kind": "test"} for name in ("a", "b-c", "a-b", "c")},
        measures={"names": ["RR", "recip_rank", "MAP"], "main": ["RR"], "resamples": 2},
        correlation={"pairs": [["a", "b-c"], ["a-b", "c"]]},
        stability={"labels": []},
        power={"labels": ["a"], "measures": ["recip_rank"]},
        report={"formats": ["csv"]},
    )
    (folder / "s.toml").write_text(text)
    return folder / "s.toml"


def test_other_spellings_of_measures_and_runs_of_one_side_and_label_sets_that_run_together(tmp_path: Path):
    """MRR and recip_rank are one measure; a run may answer head questions only; a/b-c and a-b/c are two pairs."""
    one = "head0 Q0 vienna 1 1 one\ntail0 Q0 austria 1 1 one\n"
    assert run("study", write_runs(tmp_path, one=one, two="head0 Q0 lyon 1 1 two\n", **{"l" * 200: one})) == 0
    manifest = json.loads((tmp_path / "s" / "manifest.json").read_text())
    assert (manifest["measures"], manifest["main"]) == (["RR", "AP"], ["RR"])
    written = {path.name for path in (tmp_path / "s" / "data").glob("correlation-a*")}
    assert written == {"correlation-a-b-c.csv", "correlation-a-b-c-2.csv"}


def test_models_that_were_trained_several_times_have_a_table(tmp_path: Path):
    """With the letters of tests over seeds and questions, and the pairs among the data."""
    one, other = (
        "".join(f"{q} Q0 {e} 1 1 t\n" for q, e in own) for own in ([("head0", "vienna")], [("tail0", "austria")])
    )
    config = write_runs(tmp_path, **{"m.s1": one, "m.s2": other, "n.s1": one, "n.s2": one})
    config.write_text(config.read_text().replace("[power]\n", '[power]\nfamilies = "seeds"\n'))
    assert run("study", config) == 0
    rows = (tmp_path / "s" / "data" / "families-a.csv").read_text().splitlines()
    assert rows[0] == "measure,system,seeds,value,deviation,groups"
    assert sorted(row.split(",")[1] for row in rows[1:]) == ["m", "n"]
    pairs = (tmp_path / "s" / "data" / "families-pairs-a.csv").read_text().splitlines()
    assert [row.split(",")[8] for row in pairs[1:]] == ["seeds", "best"]


def test_after_a_change_of_a_dictionary_the_collection_is_built_anew(tmp_path: Path, capsys):
    """The numbers of OpenKE's files stand for what the dictionaries beside them say."""
    write_study(tmp_path)
    folder = tmp_path / "numbers"
    folder.mkdir()
    for name in ("train", "valid", "test"):
        (folder / f"{name}2id.txt").write_text("2\n0 1 0\n2 3 0\n" if name == "train" else "1\n0 3 0\n")
    (folder / "relation2id.txt").write_text("1\nr\t0\n")
    for names, told in (("abcd", "computing collection-test"), ("abcd", "0 steps computed"), ("abce", "collection-")):
        (folder / "entity2id.txt").write_text("4\n" + "".join(f"{name}\t{n}\n" for n, name in enumerate(names)))
        (tmp_path / "n.toml").write_text(SMALL.replace("cities", "numbers"))
        assert run("study", tmp_path / "n.toml") == 0
        assert told in capsys.readouterr().err


def test_two_studies_do_not_write_to_one_folder(whole: Path, capsys):
    import fcntl

    lock = os.open(whole / "study" / "steps", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert run("study", whole / "study.toml") == 2
    os.close(lock)
    assert "another kgtrec study is writing to it" in capsys.readouterr().err


@pytest.mark.slow
def test_the_report_is_made_anew_without_the_inputs(whole: Path, tmp_path: Path):
    """It needs the study's folder only, and is the same page."""
    shutil.copytree(whole / "study", tmp_path / "study")
    assert run("study", tmp_path / "study", "--out", tmp_path / "out" / "mine.html", "--formats", "html,latex") == 0
    made = files(tmp_path / "out")
    assert made["mine.html"] == (whole / "study" / "report.html").read_bytes()
    assert made["tables/scores-all.tex"] == (whole / "study" / "tables" / "scores-all.tex").read_bytes()
    assert not [name for name in made if name.startswith("figures/")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "width", ["3.3in", *(pytest.param(width, marks=pytest.mark.slow) for width in ("8.382cm", "83.82 mm", "238.491pt"))]
)
def test_figures_and_tables_for_a_paper(whole: Path, tmp_path: Path, width: str):
    """Figures of the width of its column, whatever the unit; intervals in its tables only if they are asked for."""
    page = tmp_path / "mine.html"
    words = ["--formats", "svg,latex", "--width", width, *(["--intervals"] if width == "3.3in" else [])]
    assert run("study", whole / "study", "--out", page, *words) == 0
    drawn = [path.read_text() for path in (tmp_path / "figures").glob("*.svg")]
    assert drawn
    assert all('width="237.6pt"' in text for text in drawn)
    assert (" [0." in (tmp_path / "tables" / "scores-all.tex").read_text()) == (width == "3.3in")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formats", "written"),
    [("html,csv", "out/mine.html"), ("csv", "out"), pytest.param(None, "out/mine.html", marks=pytest.mark.slow)],
)
def test_what_was_written_is_told(whole: Path, tmp_path: Path, monkeypatch, capsys, formats: str | None, written: str):
    """The page, or without one the folder of the other files."""
    monkeypatch.chdir(tmp_path)
    words = ["--formats", formats] if formats else []
    assert run("study", whole / "study", "--out", "out/mine.html", *words) == 0
    assert capsys.readouterr().err == f"wrote {written}\n"
    assert Path(written).exists()
    assert Path("out/mine.html").exists() == (written != "out")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "--out", "r.html"], "nowhere: cannot read it: No such file or directory"),
        (["cities", "--out", "r.html"], "found no manifest.json in it; kgtrec study CONFIG.toml writes"),
        (["study", "--out", "r.pdf"], "expected a name that ends in .html"),
        (["study", "--out", "r.html", "--formats", "docx"], "expected html, svg, pdf, latex, csv, png, found 'docx'"),
        (["study", "--out", "r.html", "--width", "3.3"], "such as 3.3in, 84mm, 8.4cm or 240pt, found '3.3'"),
        (["study", "--out", "r.html", "--width", "1in"], "expected a width of 2 to 20 inches"),
    ],
)
def test_what_is_no_study_is_refused(whole: Path, monkeypatch, capsys, words: list[str], message: str):
    monkeypatch.chdir(whole)
    assert run("study", *words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "to", "message"),
    [
        ('"inverse"]', '"invers"]', "all, found 'invers'; did you mean inverse?"),
        ('"rules", "popularity", "inverse"', '"rules"', "expected at least two systems to compare, found only rules"),
        ('"AP@20"', '"AP20x"', "study.toml:18: unknown measure 'AP20x'"),
        (
            "resamples = 50",
            'resamples = 50\nmain = ["micro.MR"]',
            "expected main measures among micro.MRR, macro.MRR, AP@20",
        ),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_computed(tmp_path: Path, capsys, change: str, to: str, message: str):
    config = write_study(tmp_path)
    config.write_text(CONFIG.replace(change, to))
    assert run("study", config) == 2
    told = capsys.readouterr().err
    assert f"{config}:" in told
    assert message in told
    assert not (tmp_path / "study").exists()


@pytest.mark.slow
def test_answer_ranks_of_different_filters_are_refused_before_anything_is_computed(tmp_path: Path, capsys):
    """By file, unless the configuration says that a mixture is meant; then every step that compares them notes it."""
    config = write_runs(tmp_path)
    for name, splits in (("svd", "train,valid,test"), ("rules", "raw")):
        words = f"--baseline {name} --filter {splits} --depth 0 --out".split()
        assert run("rank", tmp_path / "C", *words, tmp_path / "ranks") == 0
    text = config.read_text().replace('runs = ["runs"]', 'ranks = ["ranks"]').replace('"RR"', '"micro.MRR"')
    config.write_text(text)
    capsys.readouterr()
    assert run("study", config) == 2
    told = capsys.readouterr().err
    assert "expected answer ranks that were filtered in the same way, found" in told
    assert "rules.ranks.parquet not filtered (raw)" in told
    assert not (tmp_path / "s").exists()
    config.write_text(text.replace("[systems]", "[systems]\nmixed = true"))
    assert run("study", config) == 0
    assert "note: a mixture: expected answer ranks that were filtered in the same way" in capsys.readouterr().err
