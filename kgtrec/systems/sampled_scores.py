"""Scores of answers and of candidates sampled for each, as OGB's evaluator takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgtrec.data.sampled_ranks import Draw, SampledRanks
from kgtrec.errors import FormatError, KgtrecError, in_file
from kgtrec.formats.files import PathLike
from kgtrec.formats.numpy_files import archived_arrays, mapped_array
from kgtrec.systems.torch_files import load_tensors

_NEEDED, _OPTIONAL = ("y_pred_pos", "y_pred_neg"), ("n_candidates", "sample")
_RANKS = (".ranks.parquet", ".ranks")


def name_of(path: PathLike) -> str:
    """Return the name of a system, that of its folder, or of its file without the suffix."""
    return Path(path).resolve().name if Path(path).is_dir() else Path(path).stem


def read_sampled_scores(
    path: PathLike, *, n_candidates: int | None = None, draw: Draw = "without replacement"
) -> SampledRanks:
    """Read the input of ``ogb.linkproppred.Evaluator``, ``{'y_pred_pos': (n,), 'y_pred_neg': (n, m)}``.

    The path leads to an ``.npz`` archive with these arrays, to a folder with ``y_pred_pos.npy`` and
    ``y_pred_neg.npy``, which are mapped, or to a ``.pt`` file of torch with a dict of the tensors. Nothing in it is
    run.

    Parameters
    ----------
    path : path
        It may also hold ``n_candidates`` and ``sample``, (n,) each, as for :meth:`SampledRanks.of`.
    n_candidates : int, optional
        How many candidates each sample was drawn from; not needed where the file has it.
    draw : {"without replacement", "with replacement"}
        How the candidates were drawn. Default: "without replacement".

    Returns
    -------
    SampledRanks
        Under the name of the file or folder.

    Raises
    ------
    FormatError
        If the file is missing, damaged or lacks an array, or the number of candidates is in neither place, or in both
        and not the same.
    """
    path = Path(path)
    holds_scores = (path / f"{_NEEDED[0]}.npy").exists()
    if not holds_scores and any(each.name.endswith(_RANKS) for each in (path, *path.glob("*"))):
        raise FormatError(
            "expected scores of answers and of the candidates sampled for each, found answer ranks; give --candidates "
            "(in Python, kgtrec.meta.expected_sampled) for what these would give in a sample",
            path,
        )
    if path.is_dir():
        names = *_NEEDED, *(name for name in _OPTIONAL if (path / f"{name}.npy").exists())
        arrays: dict[str, Any] = {name: mapped_array(path / f"{name}.npy") for name in names}
    elif path.suffix.lower() in (".pt", ".pth"):
        what = "a dict of y_pred_pos and y_pred_neg"
        arrays = load_tensors(path, what)
        if not isinstance(arrays, dict) or any(name not in arrays for name in _NEEDED):
            keys = ", ".join(map(str, arrays)) if isinstance(arrays, dict) else type(arrays).__name__
            raise FormatError(f"expected {what}, found {keys}", path)
    else:
        arrays = archived_arrays(path, _NEEDED, _OPTIONAL)
    if (total := arrays.get("n_candidates", n_candidates)) is None:
        raise FormatError(
            "expected the number of candidates that each sample was drawn from, found none; give --candidates-total "
            "(n_candidates=), such as the number of entities, or an array n_candidates beside the scores",
            path,
        )
    positive, negative = (arrays[name] for name in _NEEDED)
    with in_file(path, name=name_of(path)):
        ranks = SampledRanks.of_scores(
            name_of(path), positive, negative, n_candidates=total, draw=draw, sample=arrays.get("sample")
        )
        if n_candidates is not None and (differs := ranks.n_candidates != n_candidates).any():
            raise KgtrecError(
                f"expected one number of candidates, found {n_candidates:,} (--candidates-total, n_candidates=) and "
                f"{ranks.n_candidates[differs][0]:,} in the array n_candidates; leave out the first, or mend the array"
            )
    return ranks
