"""The collections of a study: all test triples, and the samples that label sets judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgtrec.data.collection import Collection
from kgtrec.errors import KgtrecError
from kgtrec.study.config import WHOLE, LabelSet
from kgtrec.study.folder import COLLECTION
from kgtrec.study.step_runner import StepRunner


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
