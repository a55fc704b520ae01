"""The parts of a study that a report shows: scores, power, correlation, depths, ties and stability of label sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from kgtrec.study.collections import Collections
from kgtrec.study.config import LabelSet
from kgtrec.study.folder import write_step_table
from kgtrec.study.labels import Labels
from kgtrec.study.ranks import Ranks
from kgtrec.study.step_runner import StepRunner

if TYPE_CHECKING:
    from kgtrec.meta.correlation import Correlations

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
        config = self._runner.config
        return {
            "collection": self._collections[labels.collection],
            "ties": config.ties,
            "unlisted_answers": config.unlisted_answers,
            "seed": config.seed,
            "mixed": config.systems.mixed,
        }

    def _scoring(self) -> dict[str, Any]:
        config = self._runner.config
        return {
            "measures": list(self._runner.measures),
            "ties": config.ties,
            "unlisted_answers": config.unlisted_answers,
            "seed": config.seed,
        } | ({"mixed": True} if config.systems.mixed else {})

    def _bootstrap(self) -> dict[str, Any]:
        return {"confidence": self._runner.config.options.confidence, "resamples": self._runner.config.resamples}

    def _resampling(self) -> dict[str, Any]:
        """How rankings are correlated, and who does the work."""
        config = self._runner.config
        coefficients = list(config.options.coefficients)
        return {"coefficients": coefficients, "seed": config.seed, **self._runner.sharing, **self._bootstrap()}

    def _qrels_and_systems(self, labels: LabelSet) -> tuple[Qrels, list[AnswerRanks | AnyRun]]:
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
        confidence = self._runner.config.options.confidence
        options = self._scoring() | {"confidence": confidence, "main": list(self._runner.main)}

        def make(folder: Path) -> None:
            from kgtrec.evaluation.evaluate import evaluate

            measures = list(self._runner.measures)
            scores = evaluate(
                *self._qrels_and_systems(labels), measures, **self._options(labels), confidence=confidence
            )
            write_step_table(folder, "scores", scores.to_table())
            with unwarned():  # a category may be empty, and the step for all questions gives the other warnings
                parts = self._table(labels, self._runner.main, per=_PARTS).to_table()
            write_step_table(folder, "parts", parts)

        self._tables_step("scores", [labels], make, options, ("scores", "parts"))

    def power(self, labels: LabelSet) -> None:
        """Test all pairs of systems."""
        alpha = self._runner.config.options.alpha
        defaults = {"tests": ["t", "clustered"], "alpha": alpha, "repeats": 1000}
        options = self._runner.options("power", "tests", "repeats", "resample", **defaults)
        measures = self._runner.measures_of("power", self._runner.measures)

        def make(folder: Path) -> None:
            from kgtrec.evaluation.item_scores import item_scores
            from kgtrec.meta.power import power

            if measures == list(self._runner.measures):
                items = self.items(labels)
            else:
                items = item_scores(*self._qrels_and_systems(labels), measures, **self._options(labels))
            total = len(items) * len(options["tests"])
            with self._runner.progress(f"power {labels.name}", total, "tests") as advance:
                found = power(items, seed=self._runner.config.seed, progress=advance, **self._runner.sharing, **options)
            write_step_table(folder, "power", found.summary_table())
            write_step_table(folder, "pairs", found.to_table())
            write_step_table(folder, "p-values", found.curve_table())

        everything = self._scoring() | options | {"measures": measures}
        self._tables_step("power", [labels], make, everything, ("power", "pairs", "p-values"))

    def correlation(self, one: LabelSet, other: LabelSet) -> None:
        """Correlate the orders of systems under two label sets."""
        names = (one.name, other.name)
        coefficients = list(self._runner.config.options.coefficients)
        fixed_relations, main = self._runner.config.fixed_relations, list(self._runner.main)
        options = self._scoring() | self._bootstrap()
        options |= {"coefficients": coefficients, "fixed_relations": fixed_relations, "main": main}

        def make(folder: Path) -> None:
            from kgtrec.meta.correlation import correlate, swaps
            from kgtrec.meta.sparsity import relation_shares, sparsity

            first, second = self.items(one), self.items(other)
            paired = one.collection == other.collection
            found = correlate(first, second, names=names, paired=paired, **self._resampling())
            write_step_table(folder, "correlation", found.to_table())
            write_step_table(folder, "swaps", swaps(first, second).to_table())
            with unwarned():  # a category may be empty, and the step for all questions gives the other warnings
                parts = sparsity(
                    [self._table(each, self._runner.main, per=_PARTS) for each in (one, other)], coefficients="tau"
                )
            write_step_table(folder, "correlation-parts", _under(parts, other))
            if fixed_relations:
                shares = relation_shares(self._labels.qrels(one.name), self._collections[one.collection])
                measures = self._runner.measures
                tables = [self._table(one, measures), self._table(other, measures, relations=shares)]
                fixed = sparsity(tables, coefficients=coefficients)
                write_step_table(folder, "correlation-fixed", _under(fixed, other))

        tables = ["correlation", "swaps", "correlation-parts"]
        tables += ["correlation-fixed"] if fixed_relations else []
        self._tables_step("correlation", [one, other], make, options, tables)

    def depths(self, labels: LabelSet) -> None:
        """Correlate the order of systems at each pool depth with that at the first."""
        depths = self._labels.depths(labels)
        coefficients = list(self._runner.config.options.coefficients)
        options = self._scoring() | self._bootstrap() | {"coefficients": coefficients, "depths": depths}

        def make(folder: Path) -> None:
            from kgtrec.meta.correlation import correlate

            first, tables = self.items(labels, depths[0]), []
            with self._runner.progress(f"depths {labels.name}", len(depths), "depths") as advance:
                for depth in depths:
                    found = correlate(first, self.items(labels, depth), **self._resampling()).to_table()
                    at = pa.array([depth] * found.num_rows, pa.int64())
                    tables.append(found.drop_columns(["first", "second"]).add_column(1, "depth", at))
                    self._items = {(labels.name, depths[0]): first}
                    advance(1)
            write_step_table(folder, "depths", pa.concat_tables(tables))

        self._tables_step("depths", [labels], make, options, ["depths"])

    def ties(self, labels: LabelSet) -> None:
        """Compare the scores under all policies for ties."""
        measures = self._runner.measures_of("ties", self._runner.main)
        policies = self._runner.config.parts["ties"].get("policies")

        def make(folder: Path) -> None:
            from kgtrec.evaluation.ties import compare_ties

            options = {name: value for name, value in self._options(labels).items() if name != "ties"}
            found = compare_ties(*self._qrels_and_systems(labels), measures, policies=policies, **options)
            write_step_table(folder, "ties", found.to_table())

        everything = self._scoring() | {"measures": measures, "policies": policies}
        self._tables_step("ties", [labels], make, everything, ["ties"])

    def stability(self, labels: LabelSet) -> None:
        """Correlate the orders of systems on subsamples with that on the whole test set."""
        coefficient = self._runner.config.options.coefficient
        options = self._runner.options("stability", "sizes", "repeats", repeats=50, coefficient=coefficient)
        measures = self._runner.measures_of("stability", self._runner.measures)

        def make(folder: Path) -> None:
            from kgtrec.meta.stability import SIZES, stability

            total = len(options.get("sizes", SIZES)) * options["repeats"]
            with self._runner.progress(f"stability {labels.name}", total, "subsamples") as advance:
                more = {**self._options(labels), **self._runner.sharing, **options}
                found = stability(*self._qrels_and_systems(labels), measures, progress=advance, **more)
            write_step_table(folder, "stability", found.to_table())
            write_step_table(folder, "stability-scores", found.scores_table())

        everything = self._scoring() | options | {"measures": measures}
        self._tables_step("stability", [labels], make, everything, ("stability", "stability-scores"))

    def _tables_step(
        self,
        name: str,
        several: Sequence[LabelSet],
        make: Callable[[Path], None],
        options: Mapping[str, Any],
        tables: Iterable[str],
    ) -> None:
        """A step that makes tables of scores under one label set, or under two."""
        names = [labels.name for labels in several]
        step = self._runner.do("-".join([name, *names]), make, inputs=self._ranks.inputs(*several), options=options)
        for table in tables:
            self._runner.add_table(step, table, *names)


def _under(found: Correlations, labels: LabelSet) -> pa.Table:
    """The rows of the second label set; the others compare the first with itself."""
    table = found.to_table()
    return table.filter(pc.equal(table["second"], labels.name))
