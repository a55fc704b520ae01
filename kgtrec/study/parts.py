"""The parts of a study that a report shows: scores, power, correlation, depths, ties and stability of label sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.arrow import compute as pc
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import AnyRun
from kgtrec.data.scores import ScoreTable
from kgtrec.errors import unwarned
from kgtrec.evaluation.item_scores import ItemScores
from kgtrec.formats.output.folders import EXPLORATION
from kgtrec.study.config import LabelSet
from kgtrec.study.folder import write_step_table
from kgtrec.study.labels import Collections, Labels
from kgtrec.study.ranks import Ranks
from kgtrec.study.step_runner import StepRunner

if TYPE_CHECKING:
    from kgtrec.meta.correlation import Correlations

_OWN = ("test", "sample")  # kinds of label sets that are the answers of their collection
_PARTS = ("side", "category")  # the systems are also ranked on each part of the questions


class Parts:
    """Each method is a step: it computes the tables of one part for one or two label sets, if they do not exist."""

    def __init__(self, runner: StepRunner, collections: Collections, labels: Labels, ranks: Ranks) -> None:
        self._runner, self._collections, self._labels, self._ranks = runner, collections, labels, ranks
        self._items: dict[tuple[str, int | None], dict[str, ItemScores]] = {}

    def items(self, labels: LabelSet, depth: int | None = None) -> dict[str, ItemScores]:
        """Return the score of each system on each item."""
        from kgtrec.evaluation.item_scores import item_scores
        from kgtrec.evaluation.scoring import Scoring
        from kgtrec.evaluation.unlisted import without_unlisted_answers
        from kgtrec.measures.names import parse_measures

        key = labels.name, depth
        if key not in self._items:
            if len(self._items) > 2:  # they need much memory for a large collection
                self._items.clear()
            systems, options = self._ranks[labels.collection], self._options(labels)
            if depth is not None:  # what a depth takes away is a missing label
                whole, measures = self._labels.qrels(labels.name), parse_measures(self._runner.measures)
                systems = list(without_unlisted_answers(systems, whole, Scoring(**options), measures))
                options["unlisted_answers"] = "candidates"
            self._items[key] = item_scores(self._labels.qrels(*key), systems, list(self._runner.measures), **options)
        return self._items[key]

    def _options(self, labels: LabelSet) -> dict[str, Any]:
        """How systems are scored under a label set."""
        collection = self._collections[labels.collection]
        return {"collection": collection, **self._scoring, "mixed": self._runner.config.systems.mixed}

    @property
    def _scoring(self) -> dict[str, Any]:
        config = self._runner.config
        return {"ties": config.ties, "unlisted_answers": config.unlisted_answers, "seed": config.seed}

    def _bootstrap(self) -> dict[str, Any]:
        return {"confidence": self._runner.config.options.confidence, "resamples": self._runner.config.resamples}

    def _resampling(self) -> dict[str, Any]:
        """How rankings are correlated, and who does the work."""
        config = self._runner.config
        coefficients = list(config.options.coefficients)
        return {"coefficients": coefficients, "seed": config.seed, **self._runner.sharing, **self._bootstrap()}

    def _scored(self, labels: LabelSet) -> tuple[Qrels, list[AnswerRanks | AnyRun]]:
        """The qrels of a label set, and the systems that are scored under them."""
        return self._labels.qrels(labels.name), self._ranks[labels.collection]

    def _table(self, labels: LabelSet, measures: Sequence[str], **options: Any) -> ScoreTable:
        from kgtrec.meta.sparsity import label_scores

        table = label_scores(
            {labels.name: self._labels.qrels(labels.name)},
            self._ranks[labels.collection],
            list(measures),
            **self._options(labels),
            **options,
        )
        return replace(table.at(labels=labels.name), name=labels.name)

    def scores(self, labels: LabelSet) -> None:
        """Score the systems, on all questions and on parts of them."""
        measures, main = self._runner.measures, self._runner.main
        confidence = self._runner.config.options.confidence

        def tables() -> Iterator[pa.Table]:
            from kgtrec.evaluation.evaluate import evaluate

            options = self._options(labels) | {"confidence": confidence}
            yield evaluate(*self._scored(labels), list(measures), **options).to_table()
            with unwarned():  # a category may be empty, and the step for all questions gives the other warnings
                parts = self._table(labels, main, per=_PARTS).to_table()
            yield parts

        self._step("scores", [labels], ["scores", "parts"], tables, confidence=confidence, main=list(main))

    def power(self, labels: LabelSet) -> None:
        """Test all pairs of systems."""
        alpha = self._runner.config.options.alpha
        defaults = {"tests": ["t", "clustered"], "alpha": alpha, "repeats": 1000}
        options = self._runner.options("power", "tests", "repeats", "resample", **defaults)
        measures = self._runner.measures_of("power", self._runner.measures)
        families = self._runner.options("power", "families")
        names = ["power", "pairs", "p-values", *["families", "families-pairs"] * len(families)]

        def tables() -> Iterator[pa.Table]:
            from kgtrec.evaluation.item_scores import item_scores
            from kgtrec.meta.power import power

            if measures == list(self._runner.measures):
                items = self.items(labels)
            else:
                items = item_scores(*self._scored(labels), measures, **self._options(labels))
            total, seed = len(items) * len(options["tests"]), self._runner.config.seed
            with self._runner.progress(f"power {labels.name}", total, "tests") as advance:
                tested = power(items, seed=seed, progress=advance, **self._runner.sharing, **options)
            yield from (tested.summary_table(), tested.to_table(), tested.curve_table())
            if families:
                tested = power(items, alpha=options["alpha"], **families)
                yield from (tested.tables()[-1].data, tested.to_table())

        self._step("power", [labels], names, tables, **options, **families, measures=measures)

    def correlation(self, one: LabelSet, other: LabelSet) -> None:
        """Correlate the orders of systems under two label sets."""
        config, main = self._runner.config, list(self._runner.main)
        coefficients, fixed_relations = list(config.options.coefficients), config.fixed_relations

        def tables() -> Iterator[pa.Table]:
            from kgtrec.meta.correlation import correlate, swaps
            from kgtrec.meta.sparsity import relation_shares, sparsity

            first, second = self.items(one), self.items(other)
            options = self._resampling() | {"paired": one.collection == other.collection}
            yield correlate(first, second, names=(one.name, other.name), **options).to_table()
            yield swaps(first, second).to_table()
            with unwarned():  # a category may be empty, and the step for all questions gives the other warnings
                parts = sparsity([self._table(each, main, per=_PARTS) for each in (one, other)], coefficients="tau")
            yield _under(parts, other)
            if fixed_relations:
                shares = relation_shares(self._labels.qrels(one.name), self._collections[one.collection])
                measures = self._runner.measures
                scores = [self._table(one, measures), self._table(other, measures, relations=shares)]
                yield _under(sparsity(scores, coefficients=coefficients), other)

        names = ["correlation", "swaps", "correlation-parts", *["correlation-fixed"] * fixed_relations]
        options = self._bootstrap() | {"coefficients": coefficients, "fixed_relations": fixed_relations, "main": main}
        self._step("correlation", [one, other], names, tables, **options)

    def depths(self, labels: LabelSet) -> None:
        """Correlate the order of systems at each pool depth with that at the first."""
        depths = self._labels.depths(labels)
        coefficients = list(self._runner.config.options.coefficients)

        def tables() -> Iterator[pa.Table]:
            from kgtrec.meta.correlation import correlate

            first, by_depth = self.items(labels, depths[0]), []
            with self._runner.progress(f"depths {labels.name}", len(depths), "depths") as advance:
                for depth in depths:
                    table = correlate(first, self.items(labels, depth), **self._resampling()).to_table()
                    at = pa.array([depth] * table.num_rows, pa.int64())
                    by_depth.append(table.drop_columns(["first", "second"]).add_column(1, "depth", at))
                    self._items = {(labels.name, depths[0]): first}
                    advance(1)
            yield pa.concat_tables(by_depth)

        options = self._bootstrap() | {"coefficients": coefficients, "depths": depths}
        self._step("depths", [labels], ["depths"], tables, **options)

    def ties(self, labels: LabelSet) -> None:
        """Compare the scores under all policies for ties."""
        measures = self._runner.measures_of("ties", self._runner.main)
        policies = self._runner.config.parts["ties"].get("policies")

        def tables() -> Iterator[pa.Table]:
            from kgtrec.evaluation.ties import compare_ties

            options = self._options(labels)
            del options["ties"]
            yield compare_ties(*self._scored(labels), measures, policies=policies, **options).to_table()

        self._step("ties", [labels], ["ties"], tables, measures=measures, policies=policies)

    def stability(self, labels: LabelSet) -> None:
        """Correlate the orders of systems on subsamples with that on the whole test set."""
        coefficient = self._runner.config.options.coefficient
        options = self._runner.options("stability", "sizes", "repeats", repeats=50, coefficient=coefficient)
        measures = self._runner.measures_of("stability", self._runner.measures)

        def tables() -> Iterator[pa.Table]:
            from kgtrec.meta.stability import SIZES, stability

            total = len(options.get("sizes", SIZES)) * options["repeats"]
            with self._runner.progress(f"stability {labels.name}", total, "subsamples") as advance:
                more = {**self._options(labels), **self._runner.sharing, **options}
                stable = stability(*self._scored(labels), measures, progress=advance, **more)
            yield from (stable.to_table(), stable.scores_table())

        names = ["stability", "stability-scores"]
        self._step("stability", [labels], names, tables, **options, measures=measures)

    def exploration(self) -> str:
        """Write the page of single questions, of the first label set and of others of its collection; where it is.

        No page, "", where the study has chosen ties or unlisted answers, which the page does not know.
        """
        config, first = self._runner.config, self._runner.config.labels[0]
        if config.ties or config.unlisted_answers != "filtered" or config.systems.mixed:
            return ""
        others = [each for each in config.labels if each.collection == first.collection and each.kind not in _OWN]

        def make(folder: Path) -> None:
            from kgtrec.explore.explore import explore

            labels = {each.name: self._labels.qrels(each.name) for each in others}
            given = self._collections[first.collection], self._ranks[first.collection], list(self._runner.main)
            explore(*given, labels=labels).save(folder / EXPLORATION)

        options = {"measures": list(self._runner.main)}
        step = self._runner.do("explore", make, inputs=self._ranks.inputs(first, *others), options=options)
        return f"{step.name}/{EXPLORATION}"

    def _step(
        self,
        part: str,
        several: Sequence[LabelSet],
        names: Sequence[str],
        tables: Callable[[], Iterator[pa.Table]],
        **options: Any,
    ) -> None:
        """A step that makes tables with these names, of scores under one label set or under two."""

        def make(folder: Path) -> None:
            for name, table in zip(names, tables(), strict=True):
                write_step_table(folder, name, table)

        own = [labels.name for labels in several]
        scored = {"measures": list(self._runner.measures), **self._scoring}
        scored |= {"mixed": True} if self._runner.config.systems.mixed else {}
        inputs = self._ranks.inputs(*several)
        step = self._runner.do("-".join([part, *own]), make, inputs=inputs, options=scored | options)
        for name in names:
            self._runner.add_table(step, name, *own)


def _under(found: Correlations, labels: LabelSet) -> pa.Table:
    """The rows of the second label set; the others compare the first with itself."""
    table = found.to_table()
    return table.filter(pc.equal(table["second"], labels.name))
