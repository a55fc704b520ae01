"""DGL-KE: the folder that ``dglke_train`` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import FormatError, in_file, is_number, one_of
from kgtrec.formats.factor_folders import FactorArrays
from kgtrec.formats.json_text import read_json
from kgtrec.formats.numpy_files import mapped_matrix
from kgtrec.systems.adapter import Adapter, ReadOptions
from kgtrec.systems.formulas import factorised
from kgtrec.systems.kinds import Factors
from kgtrec.systems.numbered_labels import labels_beside, require_labels

_CONFIG = "config.json"
_ENTITIES, _RELATIONS = "_entity.npy", "_relation.npy"
_EPS = 2.0  # DGL-KE's EMB_INIT_EPS, by which phases of RotatE are scaled
_SIMPLE_BOUND = 20.0  # beyond it DGL-KE cuts scores of SimplE
#: model -> its formula, and the parameters of that
_MODELS: dict[str, tuple[str, dict[str, float | str]]] = {
    "TransE": ("transe-squared", {}),
    "TransE_l1": ("transe", {"p": 1}),
    "TransE_l2": ("transe-squared", {}),
    "DistMult": ("distmult", {}),
    "ComplEx": ("complex", {}),
    "RESCAL": ("rescal", {}),
    "RotatE": ("rotate", {}),
    "SimplE": ("simple", {"bound": _SIMPLE_BOUND}),
}
#: labels -> the keys of the settings that name their file; DGL-KE writes the map of entities under "emp_file"
_MAPS = {"entities": ("emap_file", "emp_file"), "relations": ("rmap_file",)}


@Adapter.of(
    "dglke",
    "DGL-KE 0.1",
    f"the folder of dglke_train: {_CONFIG}, *{_ENTITIES}, *{_RELATIONS}; entities.tsv and relations.tsv beside, or "
    "in --data",
    "factors",
    "",
    lambda path: (path / _CONFIG).is_file() and any(path.glob(f"*{_ENTITIES}")),
)
def _read(path: Path, options: ReadOptions) -> Factors:
    config = read_json(path / _CONFIG)
    if not isinstance(config, dict) or not isinstance(config.get("model_name"), str):
        raise FormatError("expected the settings of dglke_train with a model_name, found none", path=path / _CONFIG)
    model = config["model_name"]
    one_of("a model among", model, _MODELS, path=path / _CONFIG)
    score, parameters = _MODELS[model]
    E, R = (_matrix(path, config, ending) for ending in (_ENTITIES, _RELATIONS))
    entities, relations = (labels_beside(path, path, _names(config, what), what, options) for what in _MAPS)
    require_labels(entities, len(E), "entities", path=path)
    require_labels(relations, len(R), "relations", path=path)
    if model == "RotatE":
        scale = (_number(path, config, "gamma") + _EPS) / _number(path, config, "hidden_dim")
        R = np.asarray(R, np.float64) / (scale / np.pi)
    bound = f"{_SIMPLE_BOUND:g} and -{_SIMPLE_BOUND:g}"
    remarks = (f"scores are cut at {bound}, as DGL-KE does; entities beyond tie",) if model == "SimplE" else ()
    arrays = FactorArrays(score, parameters, False, entities, relations, E, R=R)
    with in_file(path):
        return factorised(path.resolve().name, arrays, f"a DGL-KE model ({model})", remarks)


def _names(config: dict[str, Any], what: str) -> list[str]:
    """The names that a file of labels may have: those of the settings, else what others call it."""
    named = [Path(config[key]).name for key in _MAPS[what] if isinstance(config.get(key), str)]
    return list(dict.fromkeys([*named, f"{what}.tsv", f"{what}.dict"]))


def _matrix(path: Path, config: dict[str, Any], ending: str) -> NDArray[Any]:
    """The embeddings of the name that DGL-KE gives them, or the only ones of such a name."""
    named = path / f"{config.get('dataset')}_{config['model_name']}{ending}"
    found = [named] if named.is_file() else sorted(path.glob(f"*{ending}"))
    if len(found) != 1:
        those = ", ".join(each.name for each in found) or "none"
        raise FormatError(f"expected embeddings in {named.name}, found {those}", path)
    matrix = mapped_matrix(found[0])
    if matrix.dtype.kind != "f":
        raise FormatError(f"expected decimal numbers, found {matrix.dtype}", path=found[0])
    return matrix


def _number(path: Path, config: dict[str, Any], key: str) -> float:
    value = config.get(key)
    if not (is_number(value) and value > 0):
        raise FormatError(f"expected a number above 0 as {key}, found {value!r}", path=path / _CONFIG)
    return float(value)
