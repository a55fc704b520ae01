"""What ranking writes, and where."""

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.errors import KgtrecError
from kgtrec.ranking.write import write_ranked
from kgtrec.systems.kinds import Scorer
from tests.collections_by_hand import collection_of


def some_scores(anchors, relations):
    return np.zeros((len(anchors), 3))


@pytest.mark.parametrize("name", ["../outside", "a/b", "", ".", "/"])
@pytest.mark.parametrize("depth", [0, 2])
def test_a_name_cannot_lead_out_of_the_folder(tmp_path, name, depth):
    """Nothing is written, neither there nor here."""
    collection = collection_of(1, 3, {(0, 1): 1})
    system = Scorer(name, collection.entities, collection.relations, some_scores, some_scores)
    (tmp_path / "out").mkdir()
    with pytest.raises(KgtrecError, match="named"):
        write_ranked(collection, system, tmp_path / "out", depth=depth, sides=["tail"])
    assert [path.name for path in tmp_path.rglob("*")] == ["out"]
