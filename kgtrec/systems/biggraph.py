"""PyTorch-BigGraph: the folder of checkpoints that ``torchbiggraph_train`` writes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, in_file, one_of
from kgtrec.formats.hdf5 import hdf5_array, hdf5_matrix, opened_hdf5
from kgtrec.formats.json_text import read_json
from kgtrec.kernels.rows import Rows
from kgtrec.systems.adapter import Adapter, Given
from kgtrec.systems.biggraph_models import BigGraphModel, NoFactorsError, RelationType
from kgtrec.systems.kinds import Factors, Scorer
from kgtrec.systems.numbered_labels import labels_in, require_labels
from kgtrec.systems.operators import COMPARATORS, OPERATORS

_Matrix = NDArray[np.float64]

_CONFIG, _VERSION = "config.json", "checkpoint_version.txt"
_EMBEDDINGS = re.compile(r"embeddings_(?P<type>.+)_(?P<part>[0-9]+)(?:\.v(?P<version>[0-9]+))?\.h5")
#: operator -> its parameters and their dimensions, for one relation; dynamic relations have one more, and other names
_PARAMETERS: dict[str, dict[str, int]] = {
    "none": {},
    "translation": {"translation": 1},
    "diagonal": {"diagonal": 1},
    "complex_diagonal": {"real": 1, "imag": 1},
    "linear": {"linear_transformation": 2},
    "affine": {"linear_transformation": 2, "translation": 1},
}
_DYNAMIC_NAMES = {
    "translation": "translations",
    "diagonal": "diagonals",
    "linear_transformation": "linear_transformations",
}
_RENORM_EPS = 1e-7  # of torch's embedding, where a norm is bounded


@dataclass(frozen=True, slots=True, eq=False)
class _LookedUp:
    """Embeddings as PyTorch-BigGraph looks them up: none is longer than the bound, and what is common is added."""

    stored: Rows  # (n, d)
    bound: float | None
    common: _Matrix | None  # (d,)
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.stored.shape

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, rows: slice | NDArray[np.integer], /) -> _Matrix:
        found = np.asarray(self.stored[rows], np.float64)
        if self.bound is not None:
            norm = np.linalg.norm(found, axis=1, keepdims=True)
            found = np.where(norm > self.bound, found * (self.bound / (norm + _RENORM_EPS)), found)
        return found if self.common is None else found + self.common


def _read(path: Path, given: Given) -> Scorer | Factors:
    config = _settings(path)
    version = _version(path)
    relations = _relations(path, config)
    is_dynamic = config.get("dynamic_relations") is True
    folders = _folders(path, config, given)
    types = list(dict.fromkeys(kind for each in relations for kind in (each.lhs, each.rhs)))
    partitions = {kind: _partitions(path, kind, version) for kind in types}
    n_entities = sum(len(part) for parts in partitions.values() for part in parts)
    if given.entities is None:
        entities = _vocabulary(path, [name for kind in types for name in _names(path, folders, kind, partitions[kind])])
    else:
        entities = labels_in(given.entities)
    require_labels(entities, n_entities, "entities", path=path)
    named = _relation_labels(path, folders, config, relations, given, is_dynamic=is_dynamic)
    d = {kind: parts[0].shape[1] for kind, parts in partitions.items()}
    parameters = _parameters(path, version, relations, d, is_dynamic=is_dynamic, n_dynamic=len(named))
    bound = _bound(path, config)
    has_global = config.get("global_emb", True) is True and not is_dynamic
    common = _common(path, version, d) if has_global else {}
    E = {
        kind: [
            part if bound is None and kind not in common else _LookedUp(part, bound, common.get(kind))
            for part in [part for part in parts if len(part)] or parts[:1]
        ]
        for kind, parts in partitions.items()
    }
    comparator, has_bias = config.get("comparator", "cos"), config.get("bias") is True
    name, operators = path.resolve().name, list(dict.fromkeys(each.operator for each in relations))
    kind = f"a PyTorch-BigGraph model ({', '.join(operators)} with {comparator})"
    model = BigGraphModel(comparator, has_bias, is_dynamic, relations, E, parameters)
    try:
        return model.formula().factors(name, entities, named, kind)
    except NoFactorsError as why:
        return model.scorer(name, entities, named, kind, str(why))


def _settings(path: Path) -> dict[str, Any]:
    config = read_json(path / _CONFIG)
    if not isinstance(config, dict) or not isinstance(config.get("relations"), list):
        raise FormatError(
            "expected the settings of torchbiggraph_train, with relations, found others", path=path / _CONFIG
        )
    one_of("a comparator among", config.get("comparator", "cos"), COMPARATORS, path=path / _CONFIG)
    entities = config.get("entities")
    if isinstance(entities, dict) and any(isinstance(e, dict) and e.get("featurized") for e in entities.values()):
        raise FormatError("expected entities of their own embeddings, found featurized ones", path=path / _CONFIG)
    return config


def _relations(path: Path, config: dict[str, Any]) -> list[RelationType]:
    found = []
    for each in config["relations"]:
        operator = each.get("operator", "none") if isinstance(each, dict) else None
        if operator is None or not all(isinstance(each.get(key), str) for key in ("lhs", "rhs")):
            raise FormatError(f"expected relations with lhs and rhs, found {each!r}", path=path / _CONFIG)
        one_of("an operator among", operator, OPERATORS, path=path / _CONFIG)
        found.append(RelationType(each["lhs"], each["rhs"], operator))
    if not found or (config.get("dynamic_relations") is True and len(found) != 1):
        raise FormatError(
            f"expected {'one relation type, as dynamic relations have it' if found else 'relations'}, found "
            f"{len(found)}",
            path=path / _CONFIG,
        )
    return found


def _version(path: Path) -> str:
    """The ending of the files of the last finished checkpoint: ".v50", or "" for files without a version."""
    if (path / _VERSION).is_file():
        text = (path / _VERSION).read_text(errors="replace").strip()
        if not re.fullmatch("[0-9]{1,18}", text):
            raise FormatError(f"expected the number of a checkpoint, found {text[:40]!r}", path=path / _VERSION)
        return f".v{text}"
    versions = {match["version"] for file in path.iterdir() if (match := _EMBEDDINGS.fullmatch(file.name))}
    if len(versions) != 1:
        raise FormatError(
            f"expected embeddings of one checkpoint, or {_VERSION}, found "
            + (f"those of {len(versions)}" if versions else "none"),
            path=path,
        )
    version = versions.pop()
    return "" if version is None else f".v{version}"


def _partitions(path: Path, kind: str, version: str) -> list[Rows]:
    """The embeddings of an entity type, partition by partition."""
    files = {}
    for file in path.iterdir():
        match = _EMBEDDINGS.fullmatch(file.name)
        if match and match["type"] == kind and (f".v{match['version']}" if match["version"] else "") == version:
            files[int(match["part"])] = file
    if sorted(files) != list(range(len(files))) or not files:
        raise FormatError(
            f"expected embeddings_{kind}_0{version}.h5 and its other partitions, found "
            + (", ".join(files[part].name for part in sorted(files)) or "none"),
            path=path,
        )
    parts = [hdf5_matrix(files[part], "embeddings") for part in range(len(files))]
    if len({part.shape[1] for part in parts}) > 1:
        raise FormatError(f"expected partitions of {kind} of one dimension, found several", path=path)
    if len({part.dtype for part in parts}) > 1:
        raise FormatError(f"expected partitions of {kind} of one type, found several", path=path)
    return parts


def _bound(path: Path, config: dict[str, Any]) -> float | None:
    """The longest norm that PyTorch-BigGraph gives to embeddings which it looks up; None: any."""
    bound = config.get("max_norm")
    if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int | float) or not bound > 0):
        raise FormatError(f"expected a number above 0 as max_norm, found {bound!r}", path=path / _CONFIG)
    return bound


def _folders(path: Path, config: dict[str, Any], given: Given) -> list[Path]:
    named = config.get("entity_path")
    places = [given.data, path, Path(named) if isinstance(named, str) else None]
    return [place for place in places if place is not None]


def _named_list(path: Path, folders: list[Path], name: str, option: str) -> list[str]:
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if found is None:
        raise FormatError(
            f"expected {name} of the folder entity_path, found no such file; name that folder with --data, or the "
            f"labels with --{option}",
            path=path,
        )
    names = read_json(found)
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise FormatError("expected a list of names, found something else", path=found)
    return names


def _names(path: Path, folders: list[Path], kind: str, partitions: list[Rows]) -> list[str]:
    names: list[str] = []
    for part, rows in enumerate(partitions):
        name = f"entity_names_{kind}_{part}.json"
        found = _named_list(path, folders, name, "entities")
        if len(found) != len(rows):
            raise FormatError(
                f"expected {len(rows):,} names in {name}, one for each embedding of the partition, found "
                f"{len(found):,}; are they those of this model's data set?",
                path=path,
            )
        names += found
    return names


def _relation_labels(
    path: Path,
    folders: list[Path],
    config: dict[str, Any],
    relations: list[RelationType],
    given: Given,
    *,
    is_dynamic: bool,
) -> Vocabulary:
    if given.relations is not None:
        found = labels_in(given.relations)
    elif is_dynamic:
        found = _vocabulary(path, _named_list(path, folders, "dynamic_rel_names.json", "relations"))
    else:
        names = [each.get("name") for each in config["relations"]]
        if not all(isinstance(each, str) for each in names):
            raise FormatError("expected a name of each relation, found none", path=path / _CONFIG)
        found = _vocabulary(path, names)
    if not is_dynamic:
        require_labels(found, len(relations), "relations", path=path)
    return found


def _vocabulary(path: Path, labels: list[str]) -> Vocabulary:
    with in_file(path):
        return Vocabulary.of(labels)


def _parameters(
    path: Path,
    version: str,
    relations: list[RelationType],
    dimensions: dict[str, int],
    *,
    is_dynamic: bool,
    n_dynamic: int,
) -> dict[str, list[NDArray[Any]]]:
    """Of each side that has some, each relation type's parameters: a row for each relation."""
    sides = ("lhs", "rhs") if is_dynamic else ("rhs",)
    if all(each.operator == "none" for each in relations):
        return {side: [np.zeros((n_dynamic if is_dynamic else 1, 0)) for _ in relations] for side in sides}
    for each in relations:
        if dimensions[each.lhs] != dimensions[each.rhs]:
            raise FormatError(f"expected {each.lhs} and {each.rhs} of one dimension, found two", path=path)
    if any(each.operator == "complex_diagonal" and dimensions[each.lhs] % 2 for each in relations):
        raise FormatError("expected an even dimension for the operator complex_diagonal, found an odd one", path=path)
    source = path / f"model{version}.h5"
    found: dict[str, list[NDArray[Any]]] = {}
    with opened_hdf5(source) as file:
        for side in sides:
            found[side] = []
            for number, each in enumerate(relations):
                d, values = dimensions[each.lhs], []
                for name, axes in _PARAMETERS[each.operator].items():
                    stored = _DYNAMIC_NAMES.get(name, name) if is_dynamic else name
                    place = f"model/relations/{number}/operator/{side}/{stored}"
                    shape = (d // 2 if each.operator == "complex_diagonal" else d,) * axes
                    shape = (n_dynamic, *shape) if is_dynamic else shape
                    array = hdf5_array(file, place, source, dimensions=len(shape))
                    if array.shape != shape:
                        raise FormatError(f"expected {place} of shape {shape}, found {array.shape}", path=source)
                    values.append(array.reshape(n_dynamic if is_dynamic else 1, -1))
                found[side].append(np.concatenate(values, axis=1) if values else np.zeros((1, 0)))
    return found


def _common(path: Path, version: str, dimensions: dict[str, int]) -> dict[str, _Matrix]:
    """The embedding that is common to all entities of each type."""
    source = path / f"model{version}.h5"
    with opened_hdf5(source) as file:
        common = {
            kind: hdf5_array(file, f"model/entities/{kind}/global_embedding", source, dimensions=1)
            for kind in dimensions
        }
    for kind, found in common.items():
        if found.shape != (dimensions[kind],):
            raise FormatError(
                f"expected a global embedding of {dimensions[kind]} numbers for {kind}, found {len(found)}", path=source
            )
    return {kind: found.astype(np.float64) for kind, found in common.items()}


ADAPTERS = (
    Adapter(
        "biggraph",
        "PyTorch-BigGraph 1.0",
        f"the folder of checkpoints of torchbiggraph_train: {_CONFIG}, embeddings_*.h5, model*.h5; entity_names_*.json "
        "and dynamic_rel_names.json beside, or in --data",
        "factors",
        "h5py",
        lambda path: (path / _CONFIG).is_file() and any(path.glob("embeddings_*.h5")),
        _read,
    ),
)
