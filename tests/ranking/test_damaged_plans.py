"""Plans whose files were changed: each ends in one clear error, and never in other ranks."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from kgtrec.errors import KgtrecError
from kgtrec.kernels.ranking.comparisons import PRODUCT
from kgtrec.ranking.plans import collected, do_unit, read_plan, write_plan
from kgtrec.ranking.rank import joined
from kgtrec.ranking.system import grid_of
from tests.ranking.test_tiles import columns, model, world


@pytest.fixture
def plan(tmp_path):
    """A plan of several blocks, one of which is done, and its collection."""
    rng = np.random.default_rng(5)
    collection = world(rng, 5, 12)
    write_plan(tmp_path / "plan", grid_of(collection, model(rng, collection, PRODUCT), depth=4, block=2))
    do_unit(str(tmp_path / "plan"), 0)
    return tmp_path / "plan", collection


def _about(**changed):
    def spoil(folder):
        about = json.loads((folder / "plan.json").read_text())
        for key, value in changed.items():
            about[key] = about[key] | value if isinstance(value, dict) else value
        (folder / "plan.json").write_text(json.dumps(about))

    return spoil


def _array(name, change):
    return lambda folder: np.save(folder / name, change(np.load(folder / name)))


def _packed(name, **changes):
    def spoil(folder):
        with np.load(folder / name) as archive:
            arrays = dict(archive)
        for each, change in changes.items():
            arrays[each] = change(arrays[each])
        np.savez(folder / name, **arrays)

    return spoil


def _cut(name):
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:100])


def _first(value):
    def change(array):
        array = array.copy()
        array.flat[0] = value
        return array

    return change


def _zeros(array):
    return array * 0


AGAIN = "make the plan again"
DAMAGES = {
    "no tiles": (_about(tiling={"width": 0}), "expected sizes from 1 on"),
    "a size that is no number": (_about(tiling={"rows": "3"}), "expected sizes from 1 on"),
    "panels that are cut": (_about(tiling={"width": 1500}), "expected whole panels"),
    "an unknown size": (_about(tiling={"height": 3}), "expected a plan of kgtrec rank --plan, found another"),
    "a negative depth": (_about(depth=-1), "a depth from 0 on"),
    "lists beyond all entities": (_about(depth=99), "expected lists of at most 12 entities, found 99"),
    "a name that is none": (_about(name=3), "expected texts and splits"),
    "an unknown split": (_about(filtered_by=["dev"]), "expected texts and splits"),
    "no vectors": (_about(vectors={"E": []}), "expected files of vectors"),
    "a path that is none": (_about(vectors={"E": ["a\0b"]}), "expected the name of a file, found one that no file can"),
    "an unknown comparison": (_about(comparison={"kind": "angle"}), "found another (KeyError('angle'))"),
    "entities of another model": (_array("entity.npy", lambda found: found[:3]), AGAIN),
    "an order of others": (_array("tie_order.npy", lambda found: found[:3]), AGAIN),
    "an order that is none": (_array("tie_order.npy", lambda found: found - 99), AGAIN),
    "a block that is cut off": (_cut("blocks/1.npz"), "not a zip file); make the plan again"),
    "a result that is cut off": (_cut("done/0.npz"), "not a zip file); remove it, and do the unit again"),
    "fewer questions": (_packed("blocks/1.npz", rows=lambda found: found[:1]), "expected the rows of 2 questions"),
    "a row that the collection lacks": (_packed("blocks/1.npz", rows=_first(77)), "expected questions and entities of"),
    "shorter queries": (
        _packed("blocks/1.npz", queries=lambda found: found[:, :3]),
        "expected queries of 2 x 4 numbers",
    ),
    "a question beyond the block": (_packed("blocks/1.npz", placed_row=lambda found: found + 9), "entities (placed)"),
    "an entity that is none": (_packed("blocks/1.npz", placed_entity=_first(99)), "entities (placed)"),
    "a pair twice": (
        _packed("blocks/1.npz", out_row=lambda found: found * 0, out_entity=lambda found: found * 0),
        "(out)",
    ),
    "too few answers": (_packed("blocks/1.npz", is_answer=lambda found: found[:1]), "expected an answer or not"),
    "a count below 0": (_packed("done/0.npz", above=_first(-1)), "found others; remove it, and do the unit again"),
    "a count of no pair": (_packed("done/0.npz", tied=lambda found: found[1:]), "remove it, and do the unit again"),
    "a list beyond the depth": (_packed("done/0.npz", lengths=_first(9)), "expected lists of 2 questions"),
    "an entity in a list that is none": (_packed("done/0.npz", entity=_first(99)), "expected lists of 2 questions"),
    "no own score": (
        _packed("done/0.npz", found=_first(np.nan)),
        "expected the score of each pair in one of the results",
    ),
}


def _done_and_joined(folder, collection):
    found = read_plan(folder)
    for unit in found.left():
        do_unit(str(folder), unit)
    return columns(joined(list(collected(found, collection))))


@pytest.mark.parametrize("name", DAMAGES)
def test_a_changed_plan_ends_in_one_line(plan, name):
    """Whoever reads the plan, does its units or joins them."""
    folder, collection = plan
    spoil, told = DAMAGES[name]
    spoil(folder)
    with pytest.raises(KgtrecError) as caught:
        _done_and_joined(folder, collection)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_plan_without_its_folder_of_results_is_whole(plan):
    """It is made by the first unit that is done."""
    folder, collection = plan
    expected = _done_and_joined(folder, collection)
    shutil.rmtree(folder / "done")
    assert len(read_plan(folder).left()) == len(read_plan(folder))
    assert _done_and_joined(folder, collection) == expected
