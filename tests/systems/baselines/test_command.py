"""kgtrec rank --baseline, from a collection's folder to files."""

from __future__ import annotations

import pytest

from kgtrec.cli import main
from kgtrec.collection.questions import build_questions
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.formats.collections import write_collection
from kgtrec.formats.trec.runs import read_run
from kgtrec.openworld.family_tree import family_tree, hide_facts
from kgtrec.systems.baselines import BASELINES
from tests.trees import tree


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    splits = hide_facts(family_tree(40).facts).splits
    folder = tmp_path_factory.mktemp("world") / "C"
    write_collection(folder, build_questions(splits.train, splits.valid, splits.test))
    return folder


def failure(capsys, *args) -> str:
    with pytest.raises(SystemExit) as caught:
        main([str(arg) for arg in args])
    assert caught.value.code == 2
    return capsys.readouterr().err


def test_all_writes_ranks_and_a_run_of_every_baseline_that_is_no_control(collection, tmp_path):
    main(["rank", str(collection), "--baseline", "all", "--out", str(tmp_path), "--depth", "10"])
    names = [name for name, record in BASELINES.items() if record.is_in_all]
    assert sorted(tree(tmp_path)) == sorted(
        f"{name}.{suffix}" for name in names for suffix in ("ranks.parquet", "run.gz", "run.gz.json")
    )
    for name in names:
        assert read_answer_ranks(tmp_path / f"{name}.ranks.parquet").name == name
        assert read_run(tmp_path / f"{name}.run.gz").name == name


def test_the_same_seed_writes_the_same_bytes(collection, tmp_path):
    for folder in ("one", "two"):
        for name in ("rules", "random"):
            main(["rank", str(collection), "--baseline", name, "--out", str(tmp_path / folder), "--seed", "3"])
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_options_reach_the_baseline_and_depth_0_writes_no_run(collection, tmp_path):
    for folder, option in (("one", "candidates=any"), ("two", "candidates=seen")):
        out = str(tmp_path / folder)
        main(["rank", str(collection), "--baseline", "neighbours", "--out", out, "--depth", "0", "--option", option])
        assert list(tree(tmp_path / folder)) == ["neighbours.ranks.parquet"]
    one, two = (read_answer_ranks(tmp_path / folder / "neighbours.ranks.parquet") for folder in ("one", "two"))
    assert one.above.sum() != two.above.sum()


def test_list_needs_no_arguments_and_names_every_baseline_with_its_options(capsys):
    main(["rank", "--list-baselines"])
    shown = capsys.readouterr().out
    for name, record in BASELINES.items():
        assert f"{name}" in shown
        assert record.description in shown
        assert all(f"--option {key}={option.default}" in shown for key, option in record.options.items())


def test_bad_input_is_one_line_and_leaves_nothing(capsys, collection, tmp_path):
    out = ["--out", tmp_path / "new"]
    assert "all, found 'rule'; did you mean rules?" in failure(capsys, "rank", collection, "--baseline", "rule", *out)
    assert "error: svd has no option 'factor'; did you mean factors?" in failure(
        capsys, "rank", collection, "--baseline", "svd", *out, "--option", "factor=3"
    )
    assert "expected KEY=VALUE, such as factors=50, found 'factors'" in failure(
        capsys, "rank", collection, "--baseline", "svd", *out, "--option", "factors"
    )
    assert "expected each key once, found 'factors' twice" in failure(
        capsys, "rank", collection, "--baseline", "svd", *out, "--option", "factors=1", "--option", "factors=2"
    )
    assert "expected --option with a single baseline, found it with 6" in failure(
        capsys, "rank", collection, "--baseline", "all", *out, "--option", "factors=3"
    )
    assert "expected the folder of a collection, found nothing" in failure(
        capsys, "rank", tmp_path / "nowhere", "--baseline", "svd", *out
    )
    assert not (tmp_path / "new").exists()
