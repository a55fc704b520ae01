"""The whole of it, restartable: from a configuration file to a report."""

from __future__ import annotations

from kgtrec.lazy import offer

__all__ = offer(
    __name__,
    {
        "study.run": ("run_study",),
        "study.config": ("Study",),
        "study.folder": ("read_study",),
        "study.report": ("study_report",),
    },
)
