"""PyKEEN's models, folders and ranks, against PyKEEN's own numbers."""

from __future__ import annotations

import gzip
import logging
import os
import pickle
import warnings

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError, FormatError, KgtrecError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.ranking.system import rank_system
from kgtrec.systems.registry import adapter_of, read_system
from tests.systems.model_worlds import refused

pykeen = pytest.importorskip("pykeen", reason="PyKEEN is not installed; pip install kgtrec[peers]")
torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("default")  # other people's programs warn of what they like

MODELS = {
    "transe": ("TransE", {"embedding_dim": 8}, False),
    "distmult": ("DistMult", {"embedding_dim": 8}, False),
    "complex": ("ComplEx", {"embedding_dim": 8}, False),
    "rotate": ("RotatE", {"embedding_dim": 8}, False),
    "conve": ("ConvE", {"embedding_dim": 32}, True),
    "nodepiece": ("NodePiece", {"embedding_dim": 8, "num_tokens": 3}, True),
    "distmult with inverse triples": ("DistMult", {"embedding_dim": 8}, True),
}
SPLITS = ("training", "validation", "testing")


@pytest.fixture(scope="module")
def data():
    from pykeen.datasets import Nations

    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    yield Nations()
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def collection(data):
    return build_questions(*(Triples.of(map(tuple, getattr(data, split).triples)) for split in SPLITS))


@pytest.fixture(scope="module")
def trained(data):
    """Each model after an epoch, with its training triples, and what PyKEEN's evaluator says of it."""
    from pykeen.datasets import Nations
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.pipeline import pipeline

    made = {}

    def of(name):
        if name not in made:
            model, kwargs, inverse = MODELS[name]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = pipeline(
                    dataset=Nations(create_inverse_triples=inverse),
                    model=model,
                    model_kwargs=kwargs,
                    training_kwargs={"num_epochs": 2, "use_tqdm": False},
                    evaluation_kwargs={"use_tqdm": False, "batch_size": 64},
                    random_seed=0,
                    device="cpu",
                )
                evaluator = RankBasedEvaluator(clear_on_finalize=False)
                evaluator.evaluate(
                    result.model,
                    data.testing.mapped_triples,
                    additional_filter_triples=[data.training.mapped_triples, data.validation.mapped_triples],
                    use_tqdm=False,
                    batch_size=64,
                )
            made[name] = result, evaluator
        return made[name]

    return of


def of_pykeen(result):
    names = ("mrr", "hits@1", "hits@10", "arithmetic_mean_rank", "adjusted_arithmetic_mean_rank_index")
    return [result.get_metric(name) for name in names]


def ours(collection, ranks):
    measures = ["micro.MRR", "micro.Hits@1", "micro.Hits@10", "micro.MR", "micro.AMRI"]
    return evaluate(collection, ranks, measures).values[0, :, 0]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_pykeens_own_numbers(name, collection, trained):
    """Of the object with its factory, inverse relations included."""
    from kgtrec.systems.pykeen import pykeen_system

    result, _ = trained(name)
    ranked = rank_system(collection, pykeen_system(result.model, result.training), depth=3)
    np.testing.assert_allclose(ours(collection, ranked), of_pykeen(result), rtol=1e-5, atol=1e-6)
    assert set(np.bincount(ranked.run.question).tolist()) <= {1, 2, 3}


@pytest.mark.parametrize("name", ["transe", "conve"])
def test_a_folder_has_pykeens_own_numbers(name, tmp_path, collection, trained):
    """As save_to_directory leaves it."""
    result, _ = trained(name)
    result.save_to_directory(tmp_path / "mine")
    assert adapter_of(tmp_path / "mine").name == "pykeen"
    system = read_system(tmp_path / "mine", trust=True)
    assert system.name == "mine"
    found = ours(collection, rank_system(collection, system))
    np.testing.assert_allclose(found, of_pykeen(result), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_pykeens_ranks_are_answer_ranks(name, collection, trained, data):
    """The same counts as from the scores."""
    from kgtrec.systems.pykeen import pykeen_ranks, pykeen_system

    result, evaluator = trained(name)
    counted = rank_system(collection, pykeen_ranks(evaluator, data.testing.mapped_triples, data.training))
    ranked = rank_system(collection, pykeen_system(result.model, result.training), depth=0)
    assert counted.run is None
    for column in ("question", "entity", "n_other"):
        np.testing.assert_array_equal(getattr(counted.answer_ranks, column), getattr(ranked.answer_ranks, column))
    # blocks of another size have other last bits in some models
    near = np.abs(counted.answer_ranks.above - ranked.answer_ranks.above) <= 1
    assert near.all()
    measures = ["micro.MRR", "macro.MRR", "AP@20", "nDCG@20"]
    values = [evaluate(collection, each, measures).values for each in (counted, ranked)]
    np.testing.assert_allclose(*values, atol=2e-3)


def test_ranks_that_are_filtered_by_other_splits_are_refused(collection, trained, data):
    """Validation triples that were not filtered would change MRR in silence."""
    from pykeen.evaluation import RankBasedEvaluator

    from kgtrec.systems.pykeen import pykeen_ranks

    result, _ = trained("distmult")
    evaluator = RankBasedEvaluator(clear_on_finalize=False)
    evaluator.evaluate(
        result.model,
        data.testing.mapped_triples,
        additional_filter_triples=[data.training.mapped_triples],
        use_tqdm=False,
        batch_size=64,
    )
    ranks = pykeen_ranks(evaluator, data.testing.mapped_triples, data.training)
    with pytest.raises(CollectionError, match="filtered"):
        rank_system(collection, ranks)
    rank_system(collection, ranks, filtered_by=("train", "test"))


@pytest.mark.parametrize("name", MODELS)
def test_the_evaluator_has_the_same_numbers_in_both_its_loops(name, collection, trained, data):
    """Its own, and PyKEEN's, which a slice size makes it take."""
    from kgtrec.pykeen import TrecEvaluator
    from kgtrec.systems.pykeen import pykeen_system

    result, _ = trained(name)
    measures = ["micro.MRR", "macro.MRR", "AP@20", "nDCG@20", "micro.AMRI", "macro.Hits@3"]
    evaluator = TrecEvaluator(measures)
    common = {
        "model": result.model,
        "mapped_triples": data.testing.mapped_triples,
        "additional_filter_triples": [data.training.mapped_triples, data.validation.mapped_triples],
        "use_tqdm": False,
    }
    own = evaluator.evaluate(**common)
    expected = evaluate(
        collection, rank_system(collection, pykeen_system(result.model, result.training), depth=0), measures
    )
    np.testing.assert_allclose(list(own.to_flat_dict().values()), expected.values[0, :, 0], rtol=1e-9)
    one = evaluator.evaluate(**common, targets=("tail",)).to_flat_dict()
    tails = rank_system(collection, pykeen_system(result.model, result.training), depth=0, sides=["tail"])
    assert one["macro.MRR"] == pytest.approx(
        evaluate(collection, tails, "macro.MRR", sides=["tail"]).value(tails.answer_ranks.name, "macro.MRR")
    )
    if getattr(result.model, "can_slice_t", False):
        theirs = evaluator.evaluate(**common, slice_size=14, batch_size=64)
        np.testing.assert_allclose(list(theirs.to_flat_dict().values()), list(own.to_flat_dict().values()), atol=2e-3)


def test_the_evaluator_takes_tensors_by_what_they_hold(data, trained):
    """Other triples in the tensor, or others to filter in the list, of the evaluation before."""
    from kgtrec.pykeen import TrecEvaluator

    model = trained("distmult")[0].model
    evaluator, test = TrecEvaluator("micro.MRR"), data.testing.mapped_triples
    triples, filtered = test[:40].clone(), [data.training.mapped_triples]
    for change in (lambda: None, lambda: triples.copy_(test[40:80]), lambda: filtered.append(test)):
        change()
        again = evaluator.evaluate(model, triples, use_tqdm=False, additional_filter_triples=filtered)
        anew = TrecEvaluator("micro.MRR").evaluate(
            model, triples.clone(), use_tqdm=False, additional_filter_triples=[*filtered]
        )
        assert again.get_metric("micro.MRR") == anew.get_metric("micro.MRR")


@pytest.mark.parametrize(("parameters", "found"), [(np.nan, "NaN"), (1e30, r"\+inf")])
def test_the_evaluator_refuses_answers_without_a_score(data, parameters, found):
    """In PyKEEN's own loop, too."""
    from pykeen.models import DistMult

    from kgtrec.pykeen import TrecEvaluator

    model = DistMult(triples_factory=data.training, embedding_dim=2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(parameters)
    for options in ({}, {"slice_size": 7, "batch_size": 8}):
        with pytest.raises(KgtrecError, match=f"expected numbers as scores, found {found} for"):
            TrecEvaluator("micro.MRR").evaluate(model, data.testing.mapped_triples, use_tqdm=False, **options)


def test_the_evaluator_in_a_pipeline_with_early_stopping(data):
    """By its short name, and PyKEEN's default measure to stop by, which is computed though `measures` lacks it."""
    from pykeen.pipeline import pipeline

    import kgtrec.pykeen  # noqa: F401  makes the name known

    result = pipeline(
        dataset=data,
        model="distmult",
        training_kwargs={"num_epochs": 6, "use_tqdm": False},
        evaluation_kwargs={"use_tqdm": False},
        evaluator="trec",
        evaluator_kwargs={"measures": ["micro.MRR", "AP@20"]},
        stopper="early",
        stopper_kwargs={"metric": "hits@10", "frequency": 2},
        random_seed=0,
        device="cpu",
    )
    assert len(result.stopper.results) == 3
    assert result.get_metric("mrr") == result.get_metric("micro.MRR")
    assert result.get_metric("hits@10") == result.get_metric("micro.Hits@10")
    assert list(result.metric_results.to_df().columns) == ["Measure", "Value"]
    assert 0 < result.get_metric("macro.MRR") < 1  # which no option names
    with pytest.raises(ValueError, match="unknown measure 'nonsense'"):
        result.get_metric("nonsense")


def test_the_evaluator_in_a_training_callback(data):
    """Every two epochs on the validation triples."""
    from pykeen.pipeline import pipeline

    import kgtrec.pykeen

    seen = []

    class Told(kgtrec.pykeen.TrecEvaluator):
        def evaluate(self, *arguments, **options):
            found = super().evaluate(*arguments, **options)
            seen.append(found.get_metric("macro.MRR"))
            return found

    pipeline(
        dataset=data,
        model="distmult",
        training_kwargs={
            "num_epochs": 4,
            "use_tqdm": False,
            "callbacks": "evaluation",
            "callbacks_kwargs": {
                "frequency": 2,
                "evaluator": Told(["macro.MRR"]),
                "evaluation_triples": data.validation.mapped_triples,
                "additional_filter_triples": data.training.mapped_triples,
                "prefix": "validation",
            },
        },
        evaluation_kwargs={"use_tqdm": False},
        random_seed=0,
        device="cpu",
    )
    assert len(seen) == 2


class Harmful:
    """A pickle that would make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def folder(path, *, model=None, entities=("a", "b"), relations=("r",)):
    (path / "training_triples").mkdir(parents=True)
    (path / "trained_model.pkl").write_bytes(b"" if model is None else pickle.dumps(model))
    for what, labels in (("entity", entities), ("relation", relations)):
        text = "id\tlabel\n" + "".join(f"{number}\t{label}\n" for number, label in enumerate(labels))
        with gzip.open(path / "training_triples" / f"{what}_to_id.tsv.gz", "wt") as stream:
            stream.write(text)
    return path


def test_a_pickle_is_read_only_on_the_users_word(tmp_path):
    """A pickle that would make a folder does not."""
    source = folder(tmp_path / "model", model=Harmful(str(tmp_path / "made")))
    refused(r"trained_model.pkl:.*--trust", source)
    assert not (tmp_path / "made").exists()


def test_what_is_no_model_is_one_clear_error(tmp_path):
    """A damaged file, another object, and labels that are missing or not in order."""
    refused("PyKEEN", folder(tmp_path / "empty"), trust=True)
    other = folder(tmp_path / "other")
    torch.save({"a": 1}, other / "trained_model.pkl")
    refused("expected a PyKEEN model, found dict", other, trust=True)
    (other / "training_triples" / "entity_to_id.tsv.gz").unlink()
    refused(r"entity_to_id.tsv.gz: .*save_training=True", other, trust=True)
    gaps = folder(tmp_path / "gaps")
    with gzip.open(gaps / "training_triples" / "entity_to_id.tsv.gz", "wt") as stream:
        stream.write("id\tlabel\n0\ta\n2\tb\n")
    refused(r"entity_to_id.tsv.gz:3:.*here", gaps, trust=True)


def test_entities_that_a_model_has_not_seen(data, trained):
    """Are an error with counts and examples, or rank last; a question about them has all candidates tied."""
    from kgtrec.errors import KgtrecWarning
    from kgtrec.systems.pykeen import pykeen_system

    result, _ = trained("distmult")
    splits = [list(map(tuple, getattr(data, split).triples)) for split in SPLITS]
    splits[2].append(("atlantis", "treaties", "usa"))
    larger = build_questions(*map(Triples.of, splits))
    system = pykeen_system(result.model, result.training)
    message = "atlantis"
    with pytest.raises(CollectionError, match=message):
        rank_system(larger, system)
    with pytest.warns(KgtrecWarning, match=message):
        ranks = rank_system(larger, system, unknown_entities="last", depth=0).answer_ranks
    atlantis = larger.entities.encode(["atlantis"])[0]
    row = np.flatnonzero(ranks.entity == atlantis)
    assert (ranks.above[row] == ranks.n_other[row]).all()
    lost = larger.questions.anchor[ranks.question] == atlantis
    assert (ranks.tied[lost] == ranks.n_other[lost]).all()
    wrong = pykeen_system(result.model, ({str(n): n for n in range(14)}, result.training.relation_to_id))
    with pytest.raises(CollectionError, match="are its labels those of the collection"):
        rank_system(larger, wrong, unknown_entities="last")
    with pytest.raises(KgtrecError, match="model"):
        pykeen_system(result.model, ({"a": 0, "b": 1}, result.training.relation_to_id))


def test_a_device_that_is_not_there_is_refused(tmp_path):
    """Before the file is read, and for a model in Python; the message has the devices that are there."""
    for name in ("cuda:99", "gpu"):
        message = rf"expected a device that torch finds on this machine \(cpu.*\), found '{name}'"
        with pytest.raises(KgtrecError, match=message):
            read_system(folder(tmp_path / name.replace(":", ""), model={}), trust=True, device=name)


def test_what_is_no_model_in_python(data):
    """Such as the path of one."""
    from kgtrec.systems.pykeen import pykeen_system

    with pytest.raises(KgtrecError, match="found str"):
        pykeen_system("transe", data.training)


def test_labels_of_numbers_are_not_numbers_of_labels(data, trained):
    """PyKEEN's factory has both."""
    from kgtrec.systems.pykeen import pykeen_system

    labels = data.training.entity_id_to_label, data.training.relation_id_to_label
    with pytest.raises(KgtrecError, match="give"):
        pykeen_system(trained("transe")[0].model, labels)


def test_the_file_of_a_model_leads_to_its_folder(tmp_path):
    """So does the folder of several models."""
    source = folder(tmp_path / "models" / "transe", model={})
    with pytest.raises(FormatError, match="transe"):
        adapter_of(source / "trained_model.pkl")
    with pytest.raises(FormatError, match="transe"):
        adapter_of(tmp_path / "models")
