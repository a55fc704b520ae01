"""Scores that are torch tensors, ranked where they are: everything equals what comes of the same scores in numpy."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kgtrec.errors import KgtrecError, KgtrecWarning
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.kernels.ranking import on_device
from kgtrec.kernels.ranking.on_device import is_rankable_tensor
from kgtrec.ranking import rank
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.write import write_ranked
from kgtrec.systems.kinds import ScoreBlocks
from tests.collections_by_hand import collection_of
from tests.ranking.test_rank import judged_qrels, rank_rows, run_rows, worlds

torch = pytest.importorskip("torch", reason="torch is not installed; pip install kgtrec[peers]")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
TYPES = ("bfloat16", "float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool")


@pytest.fixture(params=DEVICES)
def device(request, monkeypatch):
    """A device on which tensors are ranked by torch; the processor is made one, so that its code runs everywhere."""
    monkeypatch.setattr(rank, "stays_on_device", is_rankable_tensor)
    monkeypatch.setattr(rank, "as_array", without_scores(rank.as_array))
    return request.param


def without_scores(as_array):
    """``_as_array`` that refuses tensors of scores."""

    def refusing(thing, what):
        assert not (is_rankable_tensor(thing) and "scores" in what), "scores were copied to the host"
        return as_array(thing, what)

    return refusing


@pytest.mark.parametrize("device_name", DEVICES)
@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(worlds(), st.sampled_from(TYPES), st.integers(0, 16), st.integers(0, 2**32), st.sampled_from([1, 20, 1 << 25]))
def test_every_field_equals_that_of_numpy(device_name, world, dtype, depth, seed, most):
    """Any type, filter, grades, judged pairs, order of rows and columns, further rows and columns, and blocks."""
    collection, scores, filtered_by, judged, _ = world
    n_questions, n_entities = scores.shape
    assume(n_questions <= n_entities)  # each question of these collections has an entity of its own as anchor
    rng = np.random.default_rng(seed)
    scores = torch.tensor(scores if "float" in dtype else np.maximum(scores, 0)).to(getattr(torch, dtype))
    # rows and columns of the system: questions and entities of the collection, and some that it lacks
    n_rows, n_columns = n_questions + int(rng.integers(3)), n_entities + int(rng.integers(3))
    rows, columns = rng.permutation(n_rows), rng.permutation(n_columns)
    relations = list(collection.relations)
    asked = [("tail", f"e{q}" if q < n_questions else f"x{q}", relations[q % len(relations)]) for q in rows]
    labels = [f"e{e}" if e < n_entities else f"x{e}" for e in columns]
    whole = scores[torch.tensor(rows % n_questions)][:, torch.tensor(columns % n_entities)]
    host = whole.float().numpy() if dtype == "bfloat16" else whole.numpy()
    blocks = np.array_split(rng.permutation(n_rows), int(rng.integers(1, 4)))

    def ranked(make):
        return rank_scores(
            collection,
            [(part, make(part)) for part in blocks],
            questions=asked,
            entities=labels,
            filtered_by=tuple(filtered_by),
            depth=depth,
            judged=judged_qrels(collection, sorted(judged)),
        )

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)  # of what the collection lacks
        expected = ranked(lambda part: host[part])
        patch.setattr(rank, "stays_on_device", is_rankable_tensor)
        patch.setattr(rank, "as_array", without_scores(rank.as_array))
        patch.setattr(on_device, "_MOST_SCORES", most)
        found = ranked(lambda part: whole[torch.tensor(part)].to(device_name))
    for field in ("question", "entity", "answer", "above", "tied", "n_other", "score"):
        one, other = getattr(found.answer_ranks, field), getattr(expected.answer_ranks, field)
        assert (one.dtype, one.tobytes()) == (other.dtype, other.tobytes()), field
    assert (found.run is None) == (expected.run is None) == (depth == 0)
    for field in ("question", "entity", "score") if depth else ():
        one, other = getattr(found.run, field), getattr(expected.run, field)
        assert (one.dtype, one.tobytes()) == (other.dtype, other.tobytes()), field


@pytest.fixture
def two():
    """Two questions over five entities; question 0: answers 2 and 4, entity 0 filtered; question 1: answer 1."""
    return collection_of(2, 5, {(0, 2): 1, (0, 4): 1, (1, 1): 1}, {(0, 0, 0), (0, 1, 2)})


SCORES = np.array([[9, 8, 7, 7, 6], [1, 1, 1, 1, 1]], np.float32)


def test_by_hand(two, device):
    """Question 0 over e3 alone when train and test are removed; question 1 is one tie of five."""
    scores = torch.tensor(SCORES, device=device, requires_grad=True)
    ranked = rank_scores(two, scores, questions=two, entities=two, depth=2)
    assert rank_rows(ranked.answer_ranks) == [
        (0, 2, True, 0, 1, 1, 7.0),
        (0, 4, True, 1, 0, 1, 6.0),
        (1, 1, True, 0, 4, 4, 1.0),
    ]
    assert run_rows(ranked.run) == [(0, 3, 7.0), (0, 2, 7.0), (1, 4, 1.0), (1, 3, 1.0)]


def test_tensors_of_inference_and_deterministic_algorithms(two, device):
    """Tensors that nothing may write to, and torch told to refuse what is not deterministic."""
    expected = rank_scores(two, SCORES, questions=two, entities=two)
    with torch.inference_mode():
        scores = torch.tensor(SCORES, device=device)
    torch.use_deterministic_algorithms(True)
    try:
        found = rank_scores(two, scores, questions=two, entities=two)
    finally:
        torch.use_deterministic_algorithms(False)
    assert rank_rows(found.answer_ranks) == rank_rows(expected.answer_ranks)
    assert run_rows(found.run) == run_rows(expected.run)
    assert scores.cpu().numpy().tolist() == SCORES.tolist()


WRONG = {
    "nan": lambda: torch.tensor(SCORES).index_put((torch.tensor(1), torch.tensor(3)), torch.tensor(float("nan"))),
    "infinite": lambda: torch.tensor(SCORES) * 1e38,
    "infinite half": lambda: [([0, 1], torch.tensor(SCORES).half() * 1e4)],
    "large": lambda: torch.tensor(SCORES).long() - 2**53 - 9,
    "width": lambda: [([0], torch.tensor(SCORES[:1, :4]))],
    "rows": lambda: [([0, 1], torch.tensor(SCORES[:1]))],
    "one row": lambda: [([0], torch.tensor(SCORES[0]))],
    "matrix": lambda: torch.tensor(SCORES[:1]),
    "twice": lambda: [(torch.tensor([1, 1]), torch.tensor(SCORES))],
    "missing": lambda: [(torch.tensor([1]), torch.tensor(SCORES[:1]))],
    "complex": lambda: torch.tensor(SCORES).to(torch.complex64),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_scores_get_the_message_of_numpy(two, case, monkeypatch):
    """NaN, +inf, integers beyond float64, wrong shapes, wrong rows and types."""
    with pytest.raises(KgtrecError) as expected:
        rank_scores(two, WRONG[case](), questions=two, entities=two)
    monkeypatch.setattr(rank, "stays_on_device", is_rankable_tensor)
    with pytest.raises(KgtrecError) as found:
        rank_scores(two, WRONG[case](), questions=two, entities=two)
    assert str(found.value) == str(expected.value)


def test_a_collection_without_questions(device):
    """Nothing to rank is an empty table and an empty run."""
    none = collection_of(0, 3, {})
    for scores in (torch.zeros((0, 3), device=device), [([], torch.zeros((0, 3), device=device))]):
        ranked = rank_scores(none, scores, questions=none, entities=none)
        assert (len(ranked.answer_ranks), len(ranked.run)) == (0, 0)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_the_same_measures_and_the_same_bytes_in_files(tmp_path, dtype, device):
    """40 questions over 300 entities with many ties: MRR, Hits and MR, a run file and an answer-rank file."""
    rng = np.random.default_rng(1)
    grades = {(q, int(e)): 1 for q in range(40) for e in rng.choice(300, rng.integers(1, 6), replace=False)}
    filtered = {(q, int(e), int(rng.integers(3))) for q in range(40) for e in rng.choice(300, 20)}
    collection = collection_of(40, 300, grades, filtered)
    scores = torch.tensor(np.round(rng.standard_normal((40, 300)), 1)).to(getattr(torch, dtype))
    measures = ["micro.MRR", "macro.MRR", "micro.Hits@10", "micro.MR"]
    values, files = [], []
    host = scores.float() if dtype == "bfloat16" else scores
    for where, own in {"here": host.numpy(), "there": scores.to(device)}.items():
        out = tmp_path / where
        out.mkdir()
        ranks = rank_scores(collection, own, questions=collection, entities=collection, depth=0).answer_ranks
        values.append(evaluate(collection, ranks, measures).to_frame()["value"].tolist())
        system = ScoreBlocks.of("s", iter([(np.arange(40), own)]))
        write_ranked(collection, system, out, depth=25, run_format="run")
        files.append([(out / name).read_bytes() for name in ("s.run", "s.ranks.parquet")])
    assert values[0] == values[1]
    assert files[0] == files[1]
    assert 0 < values[0][0] < 1


def test_kgtrec_imports_no_torch():
    """Not when it is imported, and not when it ranks."""
    code = (
        "import sys, numpy as np, kgtrec; from tests.collections_by_hand import collection_of; "
        "c = collection_of(1, 2, {(0, 1): 1}); "
        "kgtrec.rank_scores(c, np.zeros((1, 2)), questions=c, entities=c); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
