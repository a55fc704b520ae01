"""What meets on the command line is of one collection, or an error that says which; each was a wrong number once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from kgtrec.data.identity import entity_names
from kgtrec.formats.collections import read_collection
from kgtrec.formats.trec.runs import read_run
from tests.program import exit_code as run
from tests.program import printed_by, refusal

CITIES = Path(__file__).parents[2] / "examples" / "cities"
SPLITS = [str(CITIES / f"{name}.tsv") for name in ("train", "valid", "test")]


@pytest.fixture
def here(tmp_path, monkeypatch, capsys) -> Path:
    """The cities as a whole, a sample of them, and the same with test triples in another order; scores of a model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turned.tsv").write_text("".join(sorted(Path(SPLITS[2]).read_text().splitlines(keepends=True))))
    assert run("questions", *SPLITS, "--out", "whole") == 0
    assert run("questions", *SPLITS, "--sample", 4, "--seed", 3, "--out", "part") == 0
    assert run("questions", *SPLITS[:2], "turned.tsv", "--out", "turned") == 0
    whole = read_collection("whole")
    scores = np.random.default_rng(0).random((len(whole.questions), len(whole.entities)))
    scores[whole.qrels.question, whole.qrels.entity] += 10
    np.save("perfect.npy", scores)
    capsys.readouterr()
    return tmp_path


def value(text, measure) -> float:
    """Of the one system in a table."""
    header, row = (line.split() for line in text.splitlines()[:2])
    return float(row[header.index(measure)])


def test_a_matrix_on_a_sample_is_matched_by_what_its_rows_ask(here, capsys):
    """By the whole collection's topics it is perfect there too; by its shape alone it is nothing at all."""
    assert run("rank", "whole", "perfect.npy", "--out", "o") == 2
    assert "expected files that say which question each row is about" in capsys.readouterr().err
    named = ["--topics", "whole/topics.tsv", "--entities", "whole/entities.txt"]
    assert run("rank", "part", "perfect.npy", *named, "--out", "o") == 0
    assert value(printed_by(capsys, "evaluate", "part", "o", "-m", "micro.MRR"), "micro.MRR") == 1


def test_a_stamped_matrix_is_of_its_collection(here, capsys):
    """And of no other."""
    assert run("convert", "--stamp", "whole", "perfect.npy") == 0
    assert run("rank", "whole", "perfect.npy", "--out", "o") == 0
    assert value(printed_by(capsys, "evaluate", "whole", "o", "-m", "micro.MRR"), "micro.MRR") == 1
    for other in ("part", "turned"):
        assert "expected scores of collection" in refusal(capsys, "rank", other, "perfect.npy", "--out", "p")
    assert not Path("p").exists()
    assert run("convert", "--stamp", "part", "perfect.npy") == 2
    assert "expected a matrix of 8 questions x 45 entities, found 20 x 45" in capsys.readouterr().err


def test_an_error_names_all_that_is_missing_and_a_command_that_works(here, capsys):
    """Rows and columns at once, and the matrix by its whole path."""
    (here / "my").mkdir()
    shutil.copy("perfect.npy", "my/perfect.npy")
    error = refusal(capsys, "rank", "whole", "my/perfect.npy", "--out", "o")
    assert "which question each row is about and which entity each column is about" in error
    assert "(--topics FILE --entities FILE)" in error
    assert "kgtrec convert --stamp COLLECTION my/perfect.npy" in error


def test_check_knows_a_matrix_by_what_stands_beside_it(here, capsys):
    """No note where its order is told; a finding where it is that of another collection, as kgtrec rank has it."""
    assert run("check", "whole", "perfect.npy") == 0
    assert "perfect.npy: note: no file beside it records the order" in capsys.readouterr().out
    for name in ("topics.tsv", "entities.txt"):
        shutil.copy(f"whole/{name}", name)
    assert "perfect.npy: note" not in printed_by(capsys, "check", "whole", "perfect.npy")
    shutil.copy("part/topics.tsv", "topics.tsv")
    assert run("check", "whole", "perfect.npy") == 2
    assert "topics.tsv: expected all 20 questions of the collection" in capsys.readouterr().out
    shutil.copy("whole/topics.tsv", "topics.tsv")
    assert run("convert", "--stamp", "whole", "perfect.npy") == 0
    assert run("check", "part", "perfect.npy") == 2
    assert "perfect.npy: expected scores of collection" in capsys.readouterr().out


def test_a_matrix_whose_order_another_file_tells_is_not_stamped(here, capsys):
    """A stamp would win over the file, and every column be taken for another entity."""
    labels = Path("whole/entities.txt").read_text().splitlines()
    Path("entities.txt").write_text("\n".join(sorted(labels)) + "\n")
    assert "found another one in entities.txt" in refusal(capsys, "convert", "--stamp", "whole", "perfect.npy")
    assert not Path("perfect.npy.json").exists()
    Path("entities.txt").write_text("\n".join(labels) + "\n")
    assert run("convert", "--stamp", "whole", "perfect.npy") == 0


@pytest.mark.parametrize("form", ["run", "run.gz", "run.zst", "parquet"])
def test_a_run_is_of_its_collection(here, form, capsys):
    """Against a folder, its qrels by path, and both; --mixed takes the ids as they are."""
    assert run("convert", "--stamp", "whole", "perfect.npy") == 0
    assert run("rank", "whole", "perfect.npy", "--out", "o", "--run-format", form) == 0
    capsys.readouterr()
    file = f"o/perfect.{form}"
    assert value(printed_by(capsys, "evaluate", "whole/qrels.txt", file, "-m", "RR"), "RR") == 1
    for other in ("part", "turned"):
        for qrels in ([other], [f"{other}/qrels.txt"], [f"{other}/qrels.txt", "--collection", other]):
            for system in (file, "o/perfect.ranks.parquet"):
                told = refusal(capsys, "evaluate", qrels[0], system, *qrels[1:], "-m", "RR")
                assert "was ranked on collection" in told
                assert "--mixed" in told
        assert value(printed_by(capsys, "evaluate", f"{other}/qrels.txt", file, "-m", "RR", "--mixed"), "RR") < 1
        assert run("check", other, file) == 2
        assert "was ranked on collection" in capsys.readouterr().out
    assert "was ranked on collection" in refusal(capsys, "pool", "turned", file, "--out", "P")
    assert not Path("P").exists()


def test_a_run_of_another_tool_can_be_stamped(here, capsys):
    """If its ids and labels are the collection's; what took its place is not mistaken for it."""
    Path("own.run").write_text("head0 Q0 vienna 1 2 own\ntail0 Q0 austria 1 1 own\n")
    assert run("convert", "--stamp", "whole", "own.run", "--filter", "raw") == 0
    assert json.loads(Path("own.run.json").read_text())["filtered_by"] == []
    assert run("evaluate", "part/qrels.txt", "own.run", "-m", "RR") == 2
    Path("own.run").write_text("head0 Q0 vienna 1 3 own\n")
    capsys.readouterr()
    assert run("evaluate", "whole", "own.run", "-m", "RR") == 2
    assert "own.run.json: expected the origin of own.run, found that of another file" in capsys.readouterr().err
    assert "own.run.json: exists; --force replaces it" in refusal(capsys, "convert", "--stamp", "whole", "own.run")
    assert run("convert", "--stamp", "whole", "own.run", "--force") == 0
    Path("odd.run").write_text("head0 Q0 atlantis 1 2 odd\n")
    capsys.readouterr()
    assert run("convert", "--stamp", "whole", "odd.run") == 2
    assert "expected a run of the collection, found the entity 'atlantis' (1 of 1)" in capsys.readouterr().err
    Path("good.run").write_text("head0 Q0 vienna 1 3 good\n")
    assert run("convert", "--stamp", "whole", "good.run", "odd.run") == 2  # none where one is wrong
    assert not [*Path().glob("odd.run.json"), *Path().glob("good.run.json")]


def test_what_stands_beside_a_run_is_no_run(here, capsys):
    """A pattern takes both; a run that is converted without it loses nothing but that."""
    assert run("rank", "whole", "--baseline", "svd", "--out", "o") == 0
    own = printed_by(capsys, "evaluate", "whole", "o/svd.run.gz", "o/svd.run.gz.json", "-m", "RR")
    assert run("convert", "o/svd.run.gz", "c.parquet") == 0
    assert run("convert", "c.parquet", "c.run") == 0
    assert json.loads(Path("c.run.json").read_text())["filtered_by"] == ["train", "valid", "test"]
    whole = json.loads(Path("c.run.json").read_text())
    for wrong in ({"origin": "x"}, {"collection": 5}, {"collection": []}, {"collection": "x"}, {"ranks": 5}):
        Path("c.run.json").write_text(json.dumps(whole | wrong))
        assert run("evaluate", "whole", "c.run", "-m", "RR") == 2, wrong
        assert "c.run.json: expected origin, version, collection" in capsys.readouterr().err
    Path("c.run.json").write_text('{"origin": "run"}')
    assert "c.run.json: expected the origin of a file of" in refusal(capsys, "evaluate", "whole", "c.run", "-m", "RR")
    Path("c.run.json").unlink()
    assert value(printed_by(capsys, "evaluate", "whole", "c.run", "-m", "RR"), "RR") == value(own, "RR")


def test_runs_of_other_filters_are_refused(here, capsys):
    """As answer ranks are, and for a raw pool; --mixed warns."""
    for name, splits in (("svd", "train,valid,test"), ("rules", "raw")):
        assert run("rank", "whole", "--baseline", name, "--out", "o", "--filter", splits) == 0
    capsys.readouterr()
    runs = ["o/rules.run.gz", "o/svd.run.gz"]
    assert "expected systems that were filtered" in refusal(capsys, "evaluate", "whole", *runs, "-m", "RR")
    assert run("evaluate", "whole", *runs, "-m", "RR", "--mixed") == 0
    assert "a mixture: expected systems that were filtered in the same way" in capsys.readouterr().err
    assert run("pool", "whole", *runs, "--cut", "raw", "--out", "P") == 2
    assert run("pool", "whole", *runs, "--out", "P") == 0


def test_one_model_has_one_number_in_a_study_whatever_its_form(here, capsys):
    """As an archive and as a matrix, on all test triples and on a sample."""
    whole = read_collection("whole")
    names = list(entity_names(whole))
    scores = np.random.default_rng(2).integers(0, 9, (len(whole.questions), len(names))).astype(np.float32)
    Path("npy").mkdir()
    np.save("npy/matrix.npy", scores)
    for name in ("topics.tsv", "entities.txt"):
        shutil.copy(f"whole/{name}", "npy")
    rng, questions = np.random.default_rng(1), whole.questions
    order, columns = rng.permutation(len(questions)), rng.permutation(len(names))
    number = np.argsort(columns)
    coded = np.stack([questions.is_head, questions.relation, number[questions.anchor]], axis=1)[order]
    Path("npz").mkdir()
    np.savez(
        "npz/archive.npz",
        E=np.eye(len(names), dtype=np.float32),
        Q=scores[order][:, columns],
        questions=coded.astype(np.int32),
    )
    Path("npz/entities.txt").write_text("".join(f"{names[column]}\n" for column in columns))
    Path("npz/relations.txt").write_text("".join(f"{relation}\n" for relation in whole.relations))
    Path("s.toml").write_text(
        'title = "T"\n[data]\ntrain = "{}"\nvalid = "{}"\ntest = "{}"\n'.format(*SPLITS)
        + '[systems]\nscores = ["npy/matrix.npy", "npz/archive.npz"]\nbaselines = ["svd"]\n'
        '[[labels]]\nname = "all"\nkind = "test"\n[[labels]]\nname = "few"\nkind = "sample"\nsize = 4\nseed = 3\n'
        '[measures]\nnames = ["micro.MRR", "macro.MRR", "AP@20"]\nresamples = 2\n'
        '[stability]\nlabels = []\n[power]\nlabels = []\n[report]\nformats = ["csv"]\n'
    )
    assert run("study", "s.toml") == 0, capsys.readouterr().err
    several = set()
    for labels in ("all", "few"):
        lines = [line.split(",") for line in Path(f"s/data/scores-{labels}.csv").read_text().splitlines()[1:]]
        found = {(system, measure): rest for system, measure, *rest in lines}
        for measure in ("micro.MRR", "macro.MRR", "AP@20"):
            assert found["matrix", measure] == found["archive", measure]
            several.add(found["matrix", measure][0])
    assert len(several) > 3, "the label sets are of different questions"


def test_a_judged_file_of_another_collection_is_no_label_set(here, capsys):
    """A study refuses it, also where its step was made before; mixed = true takes the ids as they are."""
    for name in ("one.npy", "two.npy"):
        shutil.copy("perfect.npy", name)
        assert run("convert", "--stamp", "whole", name) == 0
    shutil.copy("turned/qrels.txt", "copy.txt")
    text = (
        'title = "T"\n[data]\ntrain = "{}"\nvalid = "{}"\ntest = "{}"\n'.format(*SPLITS)
        + '[systems]\nscores = ["one.npy", "two.npy"]\n[[labels]]\nname = "other"\nkind = "qrels"\n'
        'file = "turned/qrels.txt"\n[measures]\nnames = ["macro.MRR"]\nresamples = 2\n'
        '[stability]\nlabels = []\n[power]\nlabels = []\n[ties]\nlabels = []\n[report]\nformats = ["csv"]\n'
    )
    Path("s.toml").write_text(text)
    assert "turned/qrels.txt: expected qrels of collection" in refusal(capsys, "study", "s.toml")
    Path("s.toml").write_text(text.replace("scores =", "mixed = true\nscores ="))
    assert run("study", "s.toml") == 0, capsys.readouterr().err
    Path("s.toml").write_text(text)
    assert "mixed = true under [systems]" in refusal(capsys, "study", "s.toml")


@pytest.mark.slow
def test_a_campaign_is_of_the_collection_that_was_pooled_for(here, capsys):
    """Its diagnostics and its qrels of either level refuse runs of another one."""
    for folder in ("whole", "turned"):
        assert (
            run("rank", folder, "--baseline", "all", "--out", f"o-{folder}", "--depth", 20, "--run-format", "run") == 0
        )
    own, other = ([f"o-{folder}/{name}.run" for name in ("svd", "rules")] for folder in ("whole", "turned"))
    assert run("pool", "whole", *own, "--depth", 1, "--out", "P") == 0
    assert "was ranked on collection" in refusal(capsys, "campaign", "diagnostics", "P", *other)
    assert run("campaign", "diagnostics", "P", *own) == 0
    assert run("campaign", "diagnostics", "P", *other, "--mixed") == 0
    for level in ("question", "triple"):
        assert run("campaign", "qrels", "P", "--level", level, "--out", level) == 0
        capsys.readouterr()
        assert run("evaluate", f"{level}/qrels.txt", own[0], "-m", "RR") == 0
        assert "was ranked on collection" in refusal(capsys, "evaluate", f"{level}/qrels.txt", other[0], "-m", "RR")


def test_an_estimate_puts_no_qrels_of_two_collections_together(here, capsys):
    """Labels, judgements and what is known by file or folder; --mixed takes their ids as they are."""
    assert run("rank", "whole", "--baseline", "svd", "--out", "o", "--depth", 20) == 0
    capsys.readouterr()
    for judged in ("turned", "turned/qrels.txt"):
        assert run("openworld", "estimate", judged, "o/svd.run.gz", "--labels", "whole/qrels.txt") == 2
        assert "expected qrels of one collection, found labels of collection" in capsys.readouterr().err
        run("openworld", "estimate", judged, "o/svd.run.gz", "--labels", "whole", "--mixed")
        assert "of one collection" not in capsys.readouterr().err
    assert run("rank", "turned", "--baseline", "svd", "--out", "p", "--depth", 20) == 0
    estimate = ["openworld", "estimate", "whole", "--labels", "whole", "--known", "whole"]
    assert run(*estimate, "o/svd.run.gz") == 0
    assert "was ranked on collection" in refusal(capsys, *estimate, "p/svd.run.gz")


def test_whoever_trusts_ids_is_told_of_mixed_filters(here, capsys):
    """By which splits a run was filtered is believed; the origin of another file is refused as ever."""
    for name, splits in (("svd", "train,valid,test"), ("rules", "raw")):
        for form in ("run", "parquet"):
            assert (
                run("rank", "whole", "--baseline", name, "--out", form, "--run-format", form, "--filter", splits) == 0
            )
    for form in ("run", "parquet"):
        capsys.readouterr()
        assert run("evaluate", "turned", f"{form}/svd.{form}", f"{form}/rules.{form}", "-m", "RR", "--mixed") == 0
        assert "a mixture: expected systems that were filtered in the same way" in capsys.readouterr().err
    shutil.copy("run/svd.run.json", "run/rules.run.json")
    assert run("evaluate", "turned", "run/svd.run", "run/rules.run", "-m", "RR", "--mixed") == 2
    assert "run/rules.run.json: expected the origin of rules.run, found that of another" in capsys.readouterr().err


def test_a_link_to_a_run_is_of_its_collection(here, capsys):
    """What stands beside the file itself says so."""
    assert run("rank", "whole", "--baseline", "svd", "--out", "o", "--run-format", "run") == 0
    Path("links").mkdir()
    Path("links/mine.run").symlink_to(Path("o/svd.run").absolute())
    assert "was ranked on collection" in refusal(capsys, "evaluate", "turned", "links/mine.run", "-m", "RR")


def test_entities_may_begin_with_a_byte_order_mark(here, capsys):
    """As some editors write it; it is no part of the first label."""
    Path("entities.txt").write_bytes(b"\xef\xbb\xbf" + Path("whole/entities.txt").read_bytes())
    assert run("rank", "whole", "perfect.npy", "--topics", "whole/topics.tsv", "--out", "o") == 0
    assert value(printed_by(capsys, "evaluate", "whole", "o", "-m", "micro.MRR"), "micro.MRR") == 1


def test_topics_of_another_collection_give_no_ids_to_triple_level_qrels(here, capsys):
    """Pooled questions would keep other ids than the topics have for them."""
    assert run("rank", "whole", "--baseline", "svd", "--out", "o") == 0
    assert run("pool", "whole", "o/svd.run.gz", "--depth", 1, "--out", "P") == 0
    capsys.readouterr()
    arguments = ["campaign", "qrels", "P", "--level", "triple", "--out", "q", "--topics"]
    assert "use the topics that the pool was made for" in refusal(capsys, *arguments, "turned/topics.tsv")
    assert run(*arguments, "whole/topics.tsv") == 0
    report = json.loads(Path("q/report.json").read_text())
    assert report["collection"] == read_collection("whole").stamp


@pytest.mark.parametrize(
    "command",
    [
        ["openworld", "estimate", "whole", "o/svd.run.gz", "--labels", "whole", "--known", "whole", "-m"],
        ["meta", "compare", "whole", "o/svd.ranks.parquet", "o/rules.ranks.parquet", "--by"],
        ["published", "adjust", "--value", "0.3", "--chance", "umls", "--measure"],
        ["evaluate", "whole", "o/svd.ranks.parquet", "-m"],
    ],
)
def test_a_measure_is_named_in_one_way(here, command, capsys):
    """A bare name is refused in the same words, and PyKEEN's name is that of the measure over answers."""
    for system in ("svd", "rules"):
        assert run("rank", "whole", "--baseline", system, "--out", "o") == 0
    assert "MRR: expected micro.MRR, over answers, as link-prediction papers" in refusal(capsys, *command, "MRR")
    by_pykeen = printed_by(capsys, *command, "inverse_harmonic_mean_rank")
    assert printed_by(capsys, *command, "micro.MRR") == by_pykeen
    assert "micro.MRR" in by_pykeen


def test_a_campaign_under_ids_is_of_the_collection_that_gave_them(here, capsys):
    """Its known answers are told by labels, and it gives no judgements to a collection where the ids are others."""
    assert run("questions", *SPLITS, "--ids", "--out", "ids") == 0
    Path("train.tsv").write_text("aachen\tcity_in\tgermany\n" + Path(SPLITS[0]).read_text())
    assert run("questions", "train.tsv", *SPLITS[1:], "--ids", "--out", "others") == 0
    found = {}
    for folder in ("whole", "ids"):
        assert run("rank", folder, "--baseline", "svd", "--out", f"o-{folder}") == 0
        arguments = ["--seeds", SPLITS[2], "--depth", 1, "--out", f"P-{folder}"]
        assert run("pool", folder, f"o-{folder}/svd.run.gz", *arguments) == 0
        found[folder] = len(Path(f"P-{folder}/seeds.txt").read_text().splitlines())
    assert found["ids"] == found["whole"]
    assert run("campaign", "qrels", "P-ids", "--collection", "ids", "--out", "q") == 0
    capsys.readouterr()
    assert run("campaign", "qrels", "P-ids", "--collection", "others", "--out", "r") == 2
    assert "where e0, e1, ... may stand for other entities" in capsys.readouterr().err


def test_a_frame_that_pandas_wrote_is_of_its_collection(here, capsys):
    """Pandas keeps what is noted in a frame in the Parquet file, where read_run finds it."""
    pytest.importorskip("pandas", "2.1")
    assert run("rank", "whole", "--baseline", "svd", "--out", "o") == 0
    read_run("o/svd.run.gz").to_frame().to_parquet("frame.parquet")
    found = read_run("frame.parquet")
    assert (found.collection, found.filtered_by) == (read_collection("whole").stamp, ("train", "valid", "test"))
    assert "was ranked on collection" in refusal(capsys, "evaluate", "turned", "frame.parquet", "-m", "RR")


@pytest.mark.slow
def test_what_was_made_for_another_numbering_is_renumbered(here, capsys):
    """The message names the command; by the old topics, runs of any form and answer ranks give the same number."""
    assert read_collection("turned").fingerprint == read_collection("whole").fingerprint
    assert run("rank", "whole", "--baseline", "svd", "--out", "o", "--run-format", "run.gz") == 0
    assert run("rank", "whole", "--baseline", "svd", "--out", "p", "--run-format", "parts") == 0
    assert run("convert", "o/svd.run.gz", "svd.parquet") == 0
    capsys.readouterr()
    ways = ["--topics", "whole/topics.tsv", "--collection", "turned"]
    for file in ("o/svd.run.gz", "svd.parquet", "p/svd.run", "o/svd.ranks.parquet"):
        measure = "micro.MRR" if file.endswith("ranks.parquet") else "RR"
        assert run("evaluate", "turned", file, "-m", measure) == 2
        assert "other ids of questions; renumber it by its old topics (kgtrec convert RUN" in capsys.readouterr().err
        own = value(printed_by(capsys, "evaluate", "whole", file, "-m", measure), measure)
        new = f"new.{Path(file).name}"
        assert run("convert", file, new, *ways) == 0
        assert value(printed_by(capsys, "evaluate", "turned", new, "-m", measure), measure) == own
        assert "renumber it" in refusal(capsys, "evaluate", "whole", new, "-m", measure)
    assert run("convert", "whole/qrels.txt", "q.txt", *ways) == 0
    assert sorted(Path("q.txt").read_text().split()) == sorted(Path("turned/qrels.txt").read_text().split())
    capsys.readouterr()
    assert run("convert", "o/svd.run.gz", "no.run", *ways[:2], "--collection", "part") == 2
    assert "expected only questions of the collection" in capsys.readouterr().err
    assert run("convert", "o/svd.run.gz", "no.run", "--topics", "turned/topics.tsv", "--collection", "turned") == 2
    assert "which the ids are of, found those of" in capsys.readouterr().err
    assert "--topics and --collection go together" in refusal(capsys, "convert", "o/svd.run.gz", "no.run", *ways[:2])
    assert not Path("no.run").exists()
    assert run("convert", "--stamp", "whole", "perfect.npy") == 0
    assert "expected scores of collection" in refusal(capsys, "rank", "turned", "perfect.npy", "--out", "n")


def test_a_matrix_is_of_one_order_of_entities(here, capsys):
    """Train lines in another order are the same collection, and ranks go on; columns of a matrix would be others."""
    Path("train.tsv").write_text("".join(sorted(Path(SPLITS[0]).read_text().splitlines(keepends=True))))
    assert run("questions", "train.tsv", *SPLITS[1:], "--out", "again") == 0
    assert read_collection("again").stamp == read_collection("whole").stamp
    assert run("convert", "--stamp", "whole", "perfect.npy") == 0
    assert run("rank", "whole", "perfect.npy", "--out", "o") == 0
    assert value(printed_by(capsys, "evaluate", "again", "o", "-m", "micro.MRR"), "micro.MRR") == 1
    assert "expected scores of collection" in refusal(capsys, "rank", "again", "perfect.npy", "--out", "n")
    named = ["--topics", "whole/topics.tsv", "--entities", "whole/entities.txt"]
    assert run("rank", "again", "perfect.npy", *named, "--out", "n") == 0
    assert value(printed_by(capsys, "evaluate", "again", "n", "-m", "micro.MRR"), "micro.MRR") == 1
