"""The label sets of a study: the judgements of each, at every depth of its pool."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgtrec.data.collection import Collection, why_another
from kgtrec.data.identity import require_same_ids
from kgtrec.data.judgements import Decisions
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.errors import CollectionError, FormatError, KgtrecError
from kgtrec.formats.output.outputs import write_text
from kgtrec.study.config import POOLED_KINDS, WHOLE, LabelFacts, LabelSet, Source
from kgtrec.study.folder import COLLECTION, FACTS, step_table, write_step_table
from kgtrec.study.step_runner import StepRunner
from kgtrec.study.steps import Steps

_Pooled = tuple[Pool, Decisions, Qrels]  # with the answers known before


class Collections:
    """Builds each collection once."""

    def __init__(self, runner: StepRunner) -> None:
        self._runner, self._data = runner, runner.config.data
        self.steps: dict[str, Path] = {}
        self._read: dict[str, Collection] = {}

    def step(self, name: str) -> Path:
        """Return the folder of the step that builds this collection."""
        if name in self.steps:
            return self.steps[name]
        from kgtrec.formats.triples import input_files

        data = self._data
        labels = None if name == WHOLE else self._runner.config.label_set(name)
        options: dict[str, Any] = {"columns": data.columns, "header": data.header, **data.options}
        if data.collection is not None:
            if labels is not None:
                raise KgtrecError(
                    f"label set {name!r} is a sample of test triples: expected train and test in [data], found "
                    "a collection"
                )
            ready = data.collection
            files = [ready.within(path.name) for path in sorted(ready.path.iterdir()) if path.is_file()]
        else:
            files = [split.beside(path) for split in data.splits or () if split for path in input_files(split.path)]
        if labels is not None:
            if labels.source is not None:
                files += [labels.source.beside(path) for path in input_files(labels.source.path)]
            else:
                options |= {"size": labels.size, "seed": labels.seed}

        def make(folder: Path) -> None:
            from kgtrec.formats.collections import write_collection_parts

            (folder / COLLECTION).mkdir()
            write_collection_parts(folder / COLLECTION, self._built(labels), command={"name": "study", **options})

        step = self._runner.do(f"collection-{name}", make, inputs=self._runner.sums_of(files), options=options)
        self.steps[name] = step
        return step

    def _built(self, labels: LabelSet | None) -> Collection:
        from kgtrec.collection.questions import build_questions
        from kgtrec.formats.collections import read_collection
        from kgtrec.formats.triples import read_splits, read_triples

        data = self._data
        if data.collection is not None:
            return read_collection(data.collection.path)
        reading: dict[str, Any] = {"columns": data.columns, "header": data.header}
        paths: list[Any] = [split and split.path for split in data.splits or ()]
        splits = read_splits(*paths, **reading)
        sample: Any = None
        if labels is not None:
            sample = labels.size if labels.source is None else read_triples(labels.source.path, **reading)
        seed = 0 if labels is None else labels.seed
        return build_questions(*splits, sample=sample, seed=seed, **data.options)

    def __getitem__(self, name: str) -> Collection:
        """The collection of a sample, or of all test triples."""
        from kgtrec.formats.collections import read_collection

        step = self.step(name)
        if name not in self._read:
            self._read[name] = read_collection(step / COLLECTION)
        return self._read[name]


class Labels:
    """Writes the judgements of each label set once."""

    def __init__(self, runner: StepRunner, collections: Collections) -> None:
        self._runner, self._collections = runner, collections
        self.steps: dict[str, Path] = {}

    def do(self, labels: LabelSet) -> None:
        """Write the judgements of a label set, and their counts for the report."""
        base = self._collections.step(labels.collection)
        inputs = {"collection": Steps.key_of(base), **self._runner.sums_of(_files_of(labels))}
        depths = None if labels.depths is None else list(labels.depths)
        options = {"kind": labels.kind, "depths": depths, "about": labels.about, "collection": labels.collection}
        if labels.kind == "qrels" and not self._runner.config.systems.mixed:
            self._require_own(labels)

        def make(folder: Path) -> None:
            from kgtrec.formats.trec.qrels import write_qrels

            pooled = self._pool(labels) if labels.kind in POOLED_KINDS else None
            by_depth = self._judged(labels, pooled)
            for depth, qrels in by_depth.items():
                write_qrels(folder / qrels_name(depth), qrels)
            _write_facts(folder, labels, by_depth[None], pooled)

        step = self._runner.do(f"labels-{labels.name}", make, inputs=inputs, options=options)
        self.steps[labels.name] = step
        if (step / step_table("growth")).is_file():
            self._runner.add_table(step, "growth", labels.name)

    def _require_own(self, labels: LabelSet) -> None:
        """Raise CollectionError if qrels are known to belong to another collection, even if the step exists."""
        from kgtrec.formats.trec.qrels import collection_beside

        found, expected = collection_beside(labels.path), self._collections[labels.collection].stamp
        if found not in ("", expected):
            raise CollectionError(
                f"{labels.path}: expected qrels of collection {expected}, found those of collection {found}, "
                f"{why_another(found, expected, str(labels.path))}build them for this collection, or, if they "
                "mean the same questions, set mixed = true under [systems]"
            )

    def _judged(self, labels: LabelSet, pooled: _Pooled | None) -> dict[int | None, Qrels]:
        """Depth -> judgements down to this depth of the pool; None -> all judgements."""
        from kgtrec.campaign.qrels import deepest_rank, question_level

        collection = self._collections[labels.collection]
        if pooled is not None:
            pool, decisions, known_answers = pooled
            whole = question_level(pool, known_answers, decisions)
            require_same_ids(collection, pool.questions, where=f"label set {labels.name!r}")
            deepest = deepest_rank(pool)
            depths = range(deepest + 1) if labels.depths is None else [at for at in labels.depths if at <= deepest]
            found: dict[int | None, Qrels] = {None: whole}
            return found | {depth: question_level(pool, known_answers, decisions, depth) for depth in depths}
        if labels.kind == "qrels":
            from kgtrec.formats.trec.qrels import read_qrels

            qrels = read_qrels(labels.path)
            try:
                collection.topics_of(qrels.questions)
            except CollectionError as error:
                raise FormatError(str(error), path=labels.path) from None
            return {None: qrels}
        return {None: collection.qrels}

    def _pool(self, labels: LabelSet) -> _Pooled:
        from kgtrec.campaign.decide import decide, decisions_of, require_whole

        if labels.kind == "campaign":
            from kgtrec.formats.campaign.folder import read_campaign

            campaign = read_campaign(labels.path)
            decisions = decisions_of(campaign)
            require_whole(decisions)
            return campaign.pool, decisions, campaign.known_answers
        from kgtrec.formats.campaign.kgc_sparsity import read_kgc_sparsity

        topics = self._collections.step(labels.collection) / COLLECTION / "topics.tsv"
        published = read_kgc_sparsity(labels.path, topics=topics)
        decisions = decide(published.pool, published.automatic, published.judgements, per_triple=1)
        return published.pool, decisions, published.known_answers

    def depths(self, labels: LabelSet) -> list[int]:
        """Return the pool depths that have judgements."""
        names = (path.name for path in self.steps[labels.name].glob("qrels.depth*.txt"))
        return sorted(int(name.removeprefix("qrels.depth").removesuffix(".txt")) for name in names)

    def qrels(self, name: str, depth: int | None = None) -> Qrels:
        """Return the judgements of a label set, all of them or down to a depth."""
        from kgtrec.formats.trec.qrels import read_qrels

        return read_qrels(self.steps[name] / qrels_name(depth))


def _write_facts(folder: Path, labels: LabelSet, qrels: Qrels, pooled: _Pooled | None) -> None:
    is_answer = qrels.grade >= 1
    counts = len(np.unique(qrels.question[is_answer])), int(is_answer.sum()), int((qrels.grade == 0).sum())
    triples = depth = None
    if pooled is not None:
        pool, decisions, _ = pooled
        triples, depth = len(pool), int(pool.depth.max(initial=0))
        at = np.arange(1, depth + 1)
        grown = {"triples": np.sort(pool.depth), "positives": np.sort(pool.depth[decisions.verdict == 1])}
        columns = {name: np.searchsorted(depths, at, side="right") for name, depths in grown.items()}
        write_step_table(folder, "growth", pa.table({"depth": at, **columns}))
    facts = LabelFacts(labels.name, labels.kind, labels.collection, labels.about, *counts, triples, depth)
    write_text(folder / FACTS, json.dumps(asdict(facts), ensure_ascii=False, indent=1) + "\n")


def _files_of(labels: LabelSet) -> list[Source]:
    """The files that a label set is read from, without those of its collection."""
    if labels.source is None or labels.kind == "sample":
        return []
    if labels.source.path.is_file():
        return [labels.source]
    if labels.kind == "published":
        from kgtrec.formats.campaign.kgc_sparsity import DEPTHS, FILTERED, FINAL, HUMAN, POSITIVE, SEED_LINES, SEEDS

        folder = labels.source.within("data") if (labels.source.path / "data").is_dir() else labels.source
        named = [folder.within(name) for name in (SEEDS, SEED_LINES, FINAL, POSITIVE, DEPTHS, HUMAN, FILTERED)]
        return [source for source in named if source.path.is_file()]
    return [labels.source.within(path.name) for path in sorted(labels.source.path.iterdir()) if path.is_file()]


def qrels_name(depth: int | None) -> str:
    """Return the name of the file with the judgements down to a depth; None: with all judgements."""
    return "qrels.txt" if depth is None else f"qrels.depth{depth}.txt"
