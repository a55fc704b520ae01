"""Submissions to OGB's WikiKG90Mv2."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError, FormatError
from kgtrec.ranking.system import rank_system
from kgtrec.systems.registry import adapter_of, read_system
from tests.systems.model_worlds import refused

BEST = np.array([[3, 2, 5], [4, -1, -1], [1, 0, 4]], np.int32)
ASKED = np.array([[0, 0], [2, 1], [0, 0]], np.int64)


@pytest.fixture
def submission(tmp_path):
    path = tmp_path / "t_pred_wikikg90m-v2_test-dev.npz"
    np.savez_compressed(path, t_pred_top10=BEST)
    processed = tmp_path / "processed"
    processed.mkdir()
    np.save(processed / "test-dev_hr.npy", ASKED)
    np.save(processed / "val_hr.npy", ASKED[:2])
    return path, processed


def test_a_row_is_a_list_of_tails(submission):
    """Best first; numbers below 0 fill the row."""
    path, data = submission
    assert adapter_of(path).name == "ogb"
    found = read_system(path, data=data)
    assert found.name == "t_pred_wikikg90m-v2_test-dev"
    lists = np.split(found.entities.decode(found.entity).to_pylist(), found.start[1:-1])
    assert [each.tolist() for each in lists] == [["3", "2", "5"], ["4"], ["1", "0", "4"]]
    assert found.entities.decode(found.anchor).to_pylist() == ["0", "2", "0"]
    assert found.relations.decode(found.relation).to_pylist() == ["0", "1", "0"]
    assert not found.is_head.any()
    assert (found.level - found.start[found.of_list]).tolist() == [0, 1, 2, 0, 0, 1, 2]


def test_labels_stand_in_the_order_of_the_numbers(submission, tmp_path):
    """And there must be one for each number that occurs."""
    path, data = submission
    (tmp_path / "e.txt").write_text("a\nb\nc\nd\ne\nf\n")
    (tmp_path / "r.txt").write_text("likes\nknows\n")
    found = read_system(path, entities=tmp_path / "e.txt", relations=tmp_path / "r.txt", data=data / "test-dev_hr.npy")
    assert found.entities.decode(found.entity).to_pylist() == ["d", "c", "f", "e", "b", "a", "e"]
    assert found.relations.decode(found.relation).to_pylist() == ["likes", "knows", "likes"]
    (tmp_path / "e.txt").write_text("a\nb\n")
    refused("found 5 among the", path, entities=tmp_path / "e.txt", data=data)


def test_a_submission_is_ranked(submission):
    """Tail 4 of (2, 1) is the best; tails 5 and 1 of (0, 0) are below 3, as 2 is filtered; another row contradicts."""
    path, data = submission
    train = Triples.of([("0", "0", "2"), ("1", "1", "3"), ("4", "1", "5")])
    collection = build_questions(train, Triples.of([]), Triples.of([("2", "1", "4"), ("0", "0", "5"), ("0", "0", "1")]))
    with pytest.raises(CollectionError, match="missing"):
        rank_system(collection, read_system(path, data=data), sides=["tail"])
    np.savez_compressed(path, t_pred_top10=np.array([[3, 2, 5], [4, -1, -1], [3, 2, 1]], np.int32))
    ranks = rank_system(collection, read_system(path, data=data), sides=["tail"]).answer_ranks
    labels = [collection.entities[entity] for entity in ranks.entity]
    assert dict(zip(labels, ranks.above.tolist(), strict=True)) == {"4": 0, "5": 1, "1": 1}
    assert not ranks.cut.any()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"t_pred_top10": BEST[0]}, "found int32 of shape"),
        ({"t_pred_top10": BEST.astype(float)}, "t_pred_top"),
        ({"t_pred_top10": BEST[:2]}, "--data"),
        ({"t_pred_top10": BEST * 0 + [2, 3, 2]}, "found 2 more than"),
        ({"t_pred_top10": BEST.astype(np.int64) + 2**40}, "expected numbers from 0 to 2,147,483,647, found"),
        ({"y_pred": BEST}, "expected the arrays t_pred_top10"),
    ],
)
def test_other_arrays_are_refused(submission, arrays, message):
    """With what they are."""
    path, data = submission
    np.savez_compressed(path, **arrays)
    assert refused(re.escape(message), path, "ogb", data=data).startswith(str(path))


def test_questions_are_needed(submission, tmp_path):
    """Those that the submission's name says, of two columns of whole numbers."""
    path, data = submission
    refused("--data", path)
    other = tmp_path / "t_pred.npz"
    other.write_bytes(path.read_bytes())
    with pytest.raises(FormatError, match="tails"):
        read_system(other, data=data)  # those of valid
    np.save(tmp_path / "hr.npy", ASKED.astype(float))
    refused(r"hr.npy:.*heads", path, data=tmp_path / "hr.npy")


def test_other_archives_are_left_to_others(tmp_path):
    """Factorised systems, and what is no archive."""
    np.savez(tmp_path / "a.npz", E=BEST)
    assert adapter_of(tmp_path / "a.npz").name == "factorised"
    (tmp_path / "b.npz").write_bytes(b"PK\x03\x04")
    assert adapter_of(tmp_path / "b.npz").name == "factorised"
