from __future__ import annotations

import pytest

from kgtrec.data.table import Report
from kgtrec.report.html import to_html
from tests.report.sample import sample_report


@pytest.fixture(scope="session")
def report() -> Report:
    return sample_report()


@pytest.fixture(scope="session")
def page(report: Report) -> str:
    return to_html(report)
