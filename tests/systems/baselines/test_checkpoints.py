"""Checkpoints: what several fits give, with the work shared."""

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.cli import main
from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection
from kgtrec.errors import KgtrecError
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.formats.collections import write_collection
from kgtrec.openworld.family_tree import family_tree, hide_facts
from kgtrec.systems.baselines import baseline_checkpoints, fit_baseline, score_blocks
from tests.trees import tree


@pytest.fixture(scope="module")
def collection() -> Collection:
    world = hide_facts(family_tree(90, 3).facts, hidden=0.4, density=1.0)
    return build_questions(world.splits.train, world.splits.valid, world.complete)


@pytest.mark.parametrize(
    ("name", "options", "tolerance"),
    [
        ("rescal", {"factors": [6, 12], "iterations": [4, 1], "decay": 1.0}, 0.0),
        ("svd", {"factors": [4, 30, 11]}, 3e-6),  # factors are rounded, and another decomposition may round otherwise
        ("rules", {"most": [1, 5]}, 0.0),
    ],
)
def test_checkpoints_score_as_systems_fitted_one_by_one(collection, name, options, tolerance):
    """Every combination once; scores equal those of a fit of its own."""
    seen = []
    for settings, model in baseline_checkpoints(name, collection.train, seed=2, **options):
        alone = fit_baseline(name, collection.train, seed=2, **settings)
        for (_, one), (_, other) in zip(score_blocks(model, collection), score_blocks(alone, collection), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)
        seen.append(tuple(settings[option] for option in options))
    expected = np.prod([len(value) if isinstance(value, list) else 1 for value in options.values()])
    assert len(set(seen)) == len(seen) == expected


def test_an_option_without_values_or_with_one_twice_is_refused(collection):
    for factors in ([], [3, 3], ["3", 3]):
        with pytest.raises(KgtrecError, match="different"):
            next(baseline_checkpoints("svd", collection.train, factors=factors))


def test_several_values_on_the_command_line_make_several_systems(collection, tmp_path, capsys):
    write_collection(tmp_path / "C", collection)
    options = ["--option", "factors=3,7", "--depth", "0", "--out", str(tmp_path / "ranks")]
    main(["rank", str(tmp_path / "C"), "--baseline", "svd", *options])
    assert sorted(tree(tmp_path / "ranks")) == ["svd@1.ranks.parquet", "svd@2.ranks.parquet"]
    assert read_answer_ranks(tmp_path / "ranks" / "svd@2.ranks.parquet").name == "svd@2"
    assert "(factors=7)" in capsys.readouterr().err
