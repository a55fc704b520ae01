"""Results as text, CSV, JSON, LaTeX and HTML; figures; the page."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(
    __name__,
    {
        "report.files": ("report_files",),
        "report.html": ("to_html",),
        "data.table": ("Figure", "Report", "Section", "Table"),
    },
)
