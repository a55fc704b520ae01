"""A whole study, from a configuration file to a report; a study that was stopped can be continued."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(
    __name__,
    {
        "study.run": ("run_study",),
        "study.config": ("Study",),
        "study.folder": ("read_study",),
        "study.report": ("study_report",),
    },
)
