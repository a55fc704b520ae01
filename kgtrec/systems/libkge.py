"""LibKGE: a checkpoint of training, or the ranks of examples in a trace."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgtrec.data.arrow import values_of
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, in_file, require
from kgtrec.formats.factor_folders import FactorArrays
from kgtrec.formats.files import reading
from kgtrec.formats.trec.text import text_of
from kgtrec.formats.triples.ids import LIBKGE_DICTIONARIES
from kgtrec.systems.adapter import Adapter, ReadOptions
from kgtrec.systems.formulas import factorised
from kgtrec.systems.kinds import Factors, Scorer, Scoring, TripleRanks
from kgtrec.systems.numbered_labels import labels_beside, require_labels
from kgtrec.systems.torch_files import load_tensors, load_trusted, torch_scoring

_CONFIG_CLASS = "kge.config.Config"
_CHECKPOINT = re.compile(r"checkpoint_(best|[0-9]{5})\.pt")
_TRACE = "trace.yaml"
_PRODUCTS = {"DistMult": "distmult", "ComplEx": "complex", "Rescal": "rescal", "CP": "cp"}  # class -> formula
_LABELS = ("entities", "relations")
_LOOKED_AT = 1 << 20  # bytes of a file that are looked at to recognise it
_About = tuple[str, Vocabulary, Vocabulary]  # a model's name, and the labels of its entities and relations


def _is_checkpoint(path: Path) -> bool:
    if path.is_dir():
        checkpoints = _checkpoints(path)
        return bool(checkpoints) and _is_checkpoint(checkpoints[-1])
    if not path.is_file() or path.suffix.lower() != ".pt":
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            inside = next((name for name in archive.namelist() if name.endswith("data.pkl")), None)
            return inside is not None and b"kge.config" in archive.read(inside)
    except (zipfile.BadZipFile, OSError, RuntimeError, ValueError):
        with path.open("rb") as stream:  # the format of torch before 1.6
            return b"kge.config" in stream.read(_LOOKED_AT)


def _is_trace(path: Path) -> bool:
    if path.is_dir():
        return (path / _TRACE).is_file() and not _checkpoints(path)
    return path.is_file() and path.name == _TRACE


@Adapter.of(
    "libkge",
    "LibKGE 0.1",
    "checkpoint_*.pt, a packaged model, or the folder of a training; entity_ids.del and relation_ids.del in --data",
    "factors",
    "torch; kge and --trust for models other than DistMult, ComplEx, RESCAL, CP and TransE",
    _is_checkpoint,
)
def _read_checkpoint(path: Path, options: ReadOptions) -> Factors | Scorer:
    source = path if path.is_file() else next(reversed(_checkpoints(path)), None)  # "best" is after all numbers
    if source is None:
        raise FormatError("expected checkpoint_best.pt or another checkpoint of LibKGE, found none", path)
    checkpoint = load_tensors(source, "a checkpoint of LibKGE", stand_ins=(_CONFIG_CLASS,))
    model = checkpoint.get("model") if isinstance(checkpoint, dict) else None
    state = model[0] if isinstance(model, tuple | list) and model else None
    settings = getattr(checkpoint.get("config"), "options", None) if isinstance(checkpoint, dict) else None
    if not isinstance(state, dict) or not isinstance(settings, dict) or not isinstance(settings.get("model"), str):
        raise FormatError("expected a checkpoint of LibKGE with model and config, found something else", path=source)
    name = source.resolve().parent.name if path.is_dir() or _CHECKPOINT.fullmatch(source.name) else source.stem
    about = (name, *_labels(source, checkpoint, options))
    factors = _factors(source, state, settings, about)
    return _through_package(source, settings, options, about) if factors is None else factors


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if _CHECKPOINT.fullmatch(file.name))


def _factors(path: Path, state: dict[str, Any], settings: dict[str, Any], about: _About) -> Factors | None:
    """The model, if it is known here how its score is computed."""
    model = settings["model"]
    is_reciprocal = _section(settings, model).get("class_name") == "ReciprocalRelationsModel"
    own = _section(settings, model, "base_model") if is_reciprocal else _section(settings, model)
    kind = own.get("type", model) if is_reciprocal else model
    if not isinstance(kind, str):
        return None
    defaults = _section(settings, kind)
    class_name, l_norm = defaults.get("class_name"), own.get("l_norm", defaults.get("l_norm"))
    parameters: dict[str, float | str] = {}
    score = _PRODUCTS.get(str(class_name))
    if class_name == "TransE" and isinstance(l_norm, int | float) and l_norm > 0:
        score, parameters = ("transe-squared", {}) if l_norm == 2 else ("transe", {"p": float(l_norm)})
    E, R = (_embeddings(state, what) for what in ("entity", "relation"))
    if score is None or E is None or R is None:
        return None
    require_labels(about[1], len(E), "entities", path=path)
    require_labels(about[2], len(R), "relations", path=path, of_each=1 + is_reciprocal)
    arrays = FactorArrays(score, parameters, is_reciprocal, *about[1:], E, R=R)
    words = f"a LibKGE model ({kind}{', with reciprocal relations' if is_reciprocal else ''})"
    with in_file(path):
        return factorised(about[0], arrays, words)


def _section(settings: dict[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        section = settings.get(key)
        settings = section if isinstance(section, dict) else {}
    return settings


def _embeddings(state: dict[str, Any], what: str) -> NDArray[Any] | None:
    """The rows of a lookup embedder, under the names of any release; None where the model has another embedder."""
    for base in ("_", "_base_model._"):
        for own in ("_embeddings", "embeddings"):
            tensor = state.get(f"{base}{what}_embedder.{own}.weight")
            if tensor is not None:
                own_keys = (key for key in state if key.startswith(f"{base}{what}_embedder."))
                others = any(not key.endswith("embeddings.weight") for key in own_keys)
                if others or getattr(tensor, "ndim", 0) != 2 or not tensor.is_floating_point():
                    return None
                return tensor.double().numpy()
    return None


def _labels(path: Path, checkpoint: Any, options: ReadOptions) -> tuple[Vocabulary, Vocabulary]:
    """Those that the user names; else those of a packaged model; else those of the data set's folder."""
    dataset = checkpoint.get("dataset")
    meta = dataset.get("meta") if isinstance(dataset, dict) else None
    labels = []
    for what, key, name in zip(_LABELS, ("entity_ids", "relation_ids"), LIBKGE_DICTIONARIES, strict=True):
        packaged = meta.get(key) if isinstance(meta, dict) else None
        if getattr(options, what) is None and options.data is None and isinstance(packaged, list):
            if not all(isinstance(label, str) for label in packaged):
                raise FormatError(f"expected labels in {key}, found other values", path)
            with in_file(path):
                labels.append(Vocabulary.of(packaged))
        else:
            labels.append(labels_beside(path, path.parent, (name,), what, options))
    return labels[0], labels[1]


def _through_package(path: Path, settings: dict[str, Any], options: ReadOptions, about: _About) -> Scorer:
    """Any other model, as LibKGE itself scores."""
    what = f"a LibKGE model {settings['model']}"
    try:
        from kge.config import Config
        from kge.dataset import Dataset
        from kge.model import KgeModel
    except ImportError:
        raise FormatError(
            f"expected {', '.join(_PRODUCTS)} or TransE with its own embeddings, found {settings['model']!r}, which is "
            "read through the package kge of LibKGE, not installed here; rank it where LibKGE is, or rank its scores "
            "in Python (kgtrec.rank_model)",
            path,
        ) from None
    checkpoint = load_trusted(path, what, options)
    checkpoint["file"], checkpoint["folder"] = str(path), str(path.parent)
    config = Config.create_from(checkpoint)
    if options.device is not None:
        config.set("job.device", options.device)
    dataset = Dataset.create(config, preload_data=False, folder=None if options.data is None else str(options.data))
    model = KgeModel.create_from(checkpoint, dataset)
    model.eval()

    def able(score: Any) -> Scoring | None:
        scores = torch_scoring(model, score)
        try:
            scores(np.zeros(1, np.int64), np.zeros(1, np.int64))
        except Exception:  # models such as ConvE refuse a side by a bare Exception
            return None
        return scores

    tails, heads = able(model.score_sp), able(lambda tail, relation: model.score_po(relation, tail))
    return Scorer(*about, tails, heads, f"{what}, scored by LibKGE", 512)


class _Trace:
    """Some lines of a trace, with their numbers."""

    def __init__(self, path: Path) -> None:
        with reading(path) as stream:
            lines = pa.array(text_of(stream, path).split(b"\n"), pa.binary())
        try:
            self.lines: pa.StringArray = pc.cast(lines, pa.string())
        except pa.ArrowInvalid:
            raise FormatError("expected UTF-8 text, found other bytes", path) from None
        self.path, self.number = path, np.arange(1, len(lines) + 1)

    def keep(self, kept: pa.BooleanArray) -> None:
        """Leave out the other lines."""
        self.lines, self.number = self.lines.filter(kept), self.number[values_of(kept)]

    def error(self, message: str, row: int) -> FormatError:
        return FormatError(message, path=self.path, line=int(self.number[row]))

    def texts(self, key: str, value: str) -> pa.StringArray:
        """Extract the value of a key from each line, as it is written."""
        values = pc.struct_field(pc.extract_regex(self.lines, rf"[{{ ]{key}: (?P<value>{value})[,}}]"), "value")
        require(
            values_of(pc.is_valid(values)),
            lambda row: self.error(f"expected {key} in each rank of an example, found none", row),
        )
        return values

    def numbers(self, key: str, least: int, most: int) -> NDArray[np.int64]:
        numbers = values_of(pc.cast(self.texts(key, "[0-9]{1,18}"), pa.int64()))
        require(
            (numbers >= least) & (numbers <= most),
            lambda row: self.error(
                f"expected {key} from {least} to {most}, as there are labels, found {numbers[row]}", row
            ),
        )
        return numbers


@Adapter.of(
    "libkge-trace",
    "LibKGE 0.1",
    f"{_TRACE} with ranks of examples; entity_ids.del and relation_ids.del in --data",
    "ranks",
    "",
    _is_trace,
)
def _read_trace(path: Path, options: ReadOptions) -> TripleRanks:
    source = path / _TRACE if path.is_dir() else path
    trace = _Trace(source)
    is_example = pc.match_substring_regex(trace.lines, r"[{ ]event: example_rank[,}]")
    kept = pc.and_(is_example, pc.match_substring_regex(trace.lines, r"[{ ]split: test[,}]"))
    if not pc.any(kept).as_py():
        n_other = pc.sum(is_example).as_py() or 0
        raise FormatError(
            "expected ranks of test triples (event: example_rank, split: test), found "
            + (f"{n_other:,} of other splits" if n_other else "none")
            + "; have LibKGE write them: kge test FOLDER --eval.trace_level example",
            path=source,
        )
    trace.keep(kept)
    remarks = [
        "LibKGE gives one rank, in the middle of the scores that torch.isclose takes for equal; its ties are lost"
    ]
    # the last evaluation of the file
    evaluation = pc.binary_join_element_wise(trace.texts("job_id", "[^,}]+"), trace.texts("epoch", "[^,}]+"), " ")
    if n_before := pc.count_distinct(evaluation).as_py() - 1:
        remarks.append(f"the file has {n_before} earlier evaluations of test triples; the last one is taken")
        trace.keep(pc.equal(evaluation, evaluation[-1]))
    filters = trace.texts("filter_splits", r"\[[^\]]*\]")
    splits = sorted(set(re.findall("[a-z]+", filters[0].as_py())))
    if "test" not in splits or pc.count_distinct(filters).as_py() != 1:
        raise trace.error(
            f"expected ranks filtered by the same splits, test among them, found filter_splits {filters[0].as_py()}", 0
        )
    if splits != ["test", "train", "valid"]:
        remarks.append(f"ranks are filtered by {', '.join(splits)} alone, so name the same with --filter")
    entities, relations = (
        labels_beside(source, source.parent, (name,), what, options)
        for what, name in zip(_LABELS, LIBKGE_DICTIONARIES, strict=True)
    )
    is_head = values_of(pc.equal(trace.texts("task", "sp|po"), "po"))
    last = {"s": len(entities) - 1, "p": len(relations) - 1, "o": len(entities) - 1}
    head, relation, tail = (trace.numbers(key, 0, most).astype(np.int32) for key, most in last.items())
    rank = trace.numbers("rank_filtered", 1, len(entities))
    about = source.resolve().parent.name, entities, relations
    none, kind = np.zeros(len(rank), np.int64), "ranks that LibKGE traced"
    return TripleRanks(*about, is_head, head, relation, tail, rank - 1, none, kind=kind, remarks=tuple(remarks))
