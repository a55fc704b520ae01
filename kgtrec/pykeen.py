"""For PyKEEN's users: an evaluator for its pipeline, its models as systems, and its ranks as answer ranks.

Importing this module needs PyKEEN, and makes ``pipeline(evaluator="trec")`` work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Several
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pykeen.evaluation
import torch
from pykeen.evaluation import Evaluator, MetricResults, RankBasedMetricResults
from pykeen.typing import LABEL_HEAD, LABEL_TAIL, SIDE_BOTH
from tqdm.auto import tqdm

from kgtrec.collection.questions import build_questions
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.questions import SIDES
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, MeasureError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.prepared import default_measures
from kgtrec.measures.names import named_by_pykeen, parse_measure, parse_measures
from kgtrec.ranking.rank import Ranked
from kgtrec.ranking.system import rank_system
from kgtrec.systems.pykeen import n_relations_of, pykeen_ranks, pykeen_system

if TYPE_CHECKING:
    from pykeen.models import Model

__all__ = ["TrecEvaluator", "TrecMetricKey", "TrecMetricResults", "pykeen_ranks", "pykeen_system"]


class TrecMetricKey(NamedTuple):
    """One measure, in kgtrec's spelling."""

    measure: str


class TrecMetricResults(MetricResults[TrecMetricKey]):
    """Values by measure: ``get_metric("macro.MRR")``, ``get_metric("AP@20")``; PyKEEN's names work where they fit."""

    metrics: Mapping[str, Any] = {}  # a class variable of PyKEEN's, which lists its own measures

    @classmethod
    def key_from_string(cls, s: str | None) -> TrecMetricKey:
        """Parse a name: kgtrec's, trec_eval's, ir-measures', or PyKEEN's such as ``mrr`` or ``hits@10``.

        Raises
        ------
        ValueError
            If no measure has this name.
        """
        if s is None:
            return TrecMetricKey("micro.MRR")
        try:
            return TrecMetricKey(parse_measure(s).label)
        except MeasureError as unknown:
            try:
                key = RankBasedMetricResults.key_from_string(s)
            except (ValueError, KeyError):
                raise unknown from None
            ours = named_by_pykeen(key.metric)
            if key.side != SIDE_BOTH or ours is None:
                raise unknown from None
            return TrecMetricKey(ours)

    #: the value of any other measure, where the ranks are known
    compute: Callable[[str], float] | None = None

    def get_metric(self, name: str | TrecMetricKey) -> float:
        """Get the value of a measure, such as that of early stopping, also where ``measures=`` does not name it.

        Raises
        ------
        MeasureError
            If the name is unknown.
        """
        key = self.string_or_key_to_key(name)
        if key not in self.data and self.compute is not None:
            return self.compute(key.measure)
        return float(self.data[key])


class TrecEvaluator(Evaluator[TrecMetricKey]):
    """Micro and macro measures, MAP, nDCG and chance-adjusted ones in PyKEEN's pipeline, early stopping and callbacks.

    Ranks are counted by kgtrec, on the device of the model; filtered answers and all other answers are removed, as by
    PyKEEN's filtered evaluation.

    Parameters
    ----------
    measures : measure names, optional
        Any that :func:`kgtrec.evaluate` takes of answer ranks. Default: its defaults.
    ties : {"realistic", "optimistic", "pessimistic", "expected", "nondeterministic"}, optional
        How equal scores are ordered, as for :func:`kgtrec.evaluate`.
    filtered : bool
        Only True.
    **options
        What PyKEEN's evaluators take, such as ``batch_size``.

    Attributes
    ----------
    answer_ranks : AnswerRanks or None
        Of the last evaluation; entities and relations are PyKEEN's numbers.

    Examples
    --------
    In a pipeline, and in early stopping: ::

        from pykeen.pipeline import pipeline
        import kgtrec.pykeen

        result = pipeline(dataset="nations", model="transe", evaluator="trec",
                          evaluator_kwargs=dict(measures=["micro.MRR", "macro.MRR", "AP@20"]),
                          stopper="early", stopper_kwargs=dict(metric="AP@20", frequency=5))
        result.get_metric("macro.MRR")
    """

    metric_result_cls = TrecMetricResults

    def __init__(
        self,
        measures: str | Sequence[str] | None = None,
        *,
        ties: str | None = None,
        filtered: bool = True,
        **options: Any,
    ) -> None:
        if not filtered:
            raise KgtrecError(
                "expected filtered=True, found False; for raw ranks see kgtrec.rank_system(filtered_by=())"
            )
        super().__init__(filtered=True, requires_positive_mask=False, **options)
        self.measures = [
            each.label for each in parse_measures(default_measures(ranks=True) if measures is None else measures)
        ]
        self.ties = ties
        self.answer_ranks: AnswerRanks | None = None
        self._counts: dict[str, list[Any]] = {}
        self._built: tuple[Any, Any, Any, Collection] | None = None

    def evaluate(
        self,
        model: Model,
        mapped_triples: Any,
        batch_size: int | None = None,
        slice_size: int | None = None,
        device: Any = None,
        use_tqdm: bool = True,
        tqdm_kwargs: Mapping[str, Any] | None = None,
        restrict_entities_to: Several[int] | None = None,
        restrict_relations_to: Several[int] | None = None,
        do_time_consuming_checks: bool = True,
        additional_filter_triples: Any = None,
        pre_filtered_triples: bool = True,
        targets: Several[str] = (LABEL_HEAD, LABEL_TAIL),
    ) -> TrecMetricResults:
        """Return the measures of a model on mapped triples; the arguments are those of PyKEEN's evaluators.

        Each question is scored once, whatever number of triples asks it. Where entities or relations are restricted, a
        model is inductive, or is sliced, PyKEEN's own loop calls :meth:`process_scores_`, with the same result.
        """
        for_pykeens_loop = restrict_entities_to, restrict_relations_to, slice_size, self.slice_size, self.mode
        if any(each is not None for each in for_pykeens_loop):
            return super().evaluate(
                model,
                mapped_triples,
                batch_size,
                slice_size,
                device,
                use_tqdm,
                tqdm_kwargs,
                restrict_entities_to,
                restrict_relations_to,
                do_time_consuming_checks,
                additional_filter_triples,
                pre_filtered_triples,
                targets,
            )
        collection = self._collection(model, mapped_triples, additional_filter_triples)
        labels = [[str(number) for number in range(n)] for n in (model.num_entities, n_relations_of(model))]
        sides = [side for side, label in zip(SIDES, (LABEL_HEAD, LABEL_TAIL), strict=True) if label in targets]
        total = len(collection.questions.rows_of(sides))
        options = {"desc": "Evaluating", "total": total, "unit": "question", "disable": not use_tqdm}
        with tqdm(**(options | dict(tqdm_kwargs or {}))) as bar:
            ranked: Ranked = rank_system(
                collection,
                pykeen_system(model, labels, device=device),
                depth=0,
                sides=sides,
                block=batch_size or self.batch_size,
                progress=bar.update,
            )
        return self._results(collection, ranked.answer_ranks, sides)

    def process_scores_(
        self, hrt_batch: Any, target: str, scores: Any, true_scores: Any = None, dense_positive_mask: Any = None
    ) -> None:
        """Count where the answers of one batch of PyKEEN's loop stand; filtered scores are NaN there."""
        if true_scores is None:
            raise KgtrecError(
                "expected the scores of the answers, as PyKEEN's filtered evaluation gives them, found none"
            )
        if (wrong := (torch.isnan(true_scores[:, 0]) | torch.isposinf(scores).any(dim=1)).nonzero()[:1]).numel():
            triple = hrt_batch[wrong[0, 0]].tolist()
            found = "NaN" if torch.isnan(true_scores[wrong[0, 0], 0]) else "+inf"
            raise KgtrecError(f"expected numbers as scores, found {found} for the {target} of the triple {triple}")
        columns = {
            "above": (scores > true_scores).sum(dim=1),
            "tied": (scores == true_scores).sum(dim=1) - 1,
            "n_other": (~torch.isnan(scores)).sum(dim=1) - 1,
            "score": true_scores[:, 0].double(),
            "head": hrt_batch[:, 0],
            "relation": hrt_batch[:, 1],
            "tail": hrt_batch[:, 2],
            "is_head": torch.full((len(hrt_batch),), target == LABEL_HEAD),
        }
        for name, values in columns.items():
            self._counts.setdefault(name, []).append(values.detach().cpu().numpy())

    def clear(self) -> None:
        """Forget the batches of PyKEEN's loop."""
        self._counts.clear()

    def finalize(self) -> TrecMetricResults:
        """Return the measures of all batches of PyKEEN's loop.

        Raises
        ------
        KgtrecError
            If there was none.
        """
        if not self._counts:
            raise KgtrecError("expected scores of at least one batch, found none")
        column = {name: np.concatenate(parts) for name, parts in self._counts.items()}
        self.clear()
        triples = np.stack([column[name] for name in ("head", "relation", "tail")], axis=1)
        collection = _collection_of(triples, np.zeros((0, 3), np.int64), *triples.max(axis=0)[[0, 1]] + 1)
        questions = collection.questions
        is_head = column["is_head"]
        anchor = np.where(is_head, column["tail"], column["head"]).astype(np.int32)
        entity = np.where(is_head, column["head"], column["tail"]).astype(np.int32)
        question = questions.rows(is_head, column["relation"].astype(np.int32), anchor)
        order = np.unique(question * (int(entity.max()) + 1) + entity, return_index=True)[1]
        ranks = AnswerRanks.of(
            "model",
            collection,
            ("train", "valid", "test"),
            question=question[order],
            entity=entity[order],
            answer=np.ones(len(order), np.bool_),
            **{count: column[count][order] for count in ("above", "tied", "n_other", "score")},
        )
        sides = [side for side, own in zip(SIDES, (is_head, ~is_head), strict=True) if own.any()]
        return self._results(collection, ranks, sides)

    def _collection(self, model: Model, mapped_triples: Any, additional: Any) -> Collection:
        """Questions of the triples, built once for triples that are evaluated again, as in early stopping."""
        filtered = [] if additional is None else additional if isinstance(additional, list | tuple) else [additional]
        triples = mapped_triples.cpu().numpy()
        others = np.concatenate([np.zeros((0, 3), np.int64), *(each.cpu().numpy() for each in filtered)])
        size = model.num_entities, n_relations_of(model)
        # by content: a tensor may hold other triples the next time it is passed
        built = self._built
        if built is None or built[2] != size or not all(map(np.array_equal, built[:2], (triples, others))):
            self._built = built = triples.copy(), others, size, _collection_of(triples, others, *size)
        return built[3]

    def _results(self, collection: Collection, ranks: AnswerRanks, sides: Sequence[str]) -> TrecMetricResults:
        self.answer_ranks = ranks
        ties = self.ties

        def compute(measures: str | Sequence[str]) -> Any:
            return evaluate(collection, ranks, measures, ties=ties, sides=sides).values[0, :, 0].tolist()

        results = TrecMetricResults(dict(zip(self.measures, compute(self.measures), strict=True)))
        results.compute = lambda measure: compute(measure)[0]
        return results


def _collection_of(test: Any, others: Any, n_entities: int, n_relations: int) -> Collection:
    """The questions of mapped triples, with numbers as labels; the other triples are removed from the candidates."""
    n_entities = max(n_entities, int(max(part[:, [0, 2]].max(initial=-1) for part in (test, others))) + 1)
    entities, relations = (Vocabulary.of([str(number) for number in range(n)]) for n in (n_entities, n_relations))

    def triples(part: Any) -> Triples:
        head, relation, tail = part.T.astype(np.int32)
        return Triples(head, relation, tail, entities, relations)

    return build_questions(triples(others), triples(others[:0]), triples(test))


pykeen.evaluation.evaluator_resolver.register(TrecEvaluator, raise_on_conflict=False)
pykeen.evaluation.metric_resolver.register(TrecMetricResults, raise_on_conflict=False)
