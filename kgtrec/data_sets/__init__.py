"""Public data sets, fetched by name and checked before they are used."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(
    __name__,
    {
        "data_sets.get": ("get", "cache_folder"),
        "data_sets.registry": ("data_set", "list_data_sets", "DataSet", "DataSets", "DataFile"),
    },
)
