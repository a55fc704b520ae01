from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kgtrec.campaign.agreement import STATISTICS, AgreementReport
from kgtrec.data.campaign import SampleReport
from kgtrec.report.show import shown


def report_of(groups: int, *, interval: bool = True, labels: list[str] | None = None) -> AgreementReport:
    """Values 0.5, one of them without a value in the last group."""
    values = np.full((groups, len(STATISTICS)), 0.5)
    values[-1, 4] = np.nan
    sizes = np.full(groups, 1234)
    ends = (values - 0.1, values + 0.1) if interval else (None, None)
    columns = {"relation": pa.array(labels)} if labels else {}
    return AgreementReport(
        values,
        sizes,
        sizes,
        np.full(groups, 3),
        np.full(groups, 56),
        columns,
        *ends,
        confidence=0.95 if interval else None,
    )


def test_totals_go_down():
    """With the ends of the interval beside them; a dash where there is no value."""
    lines = shown(report_of(1), "table").splitlines()
    assert lines[0].startswith(
        "1,234 triples of 56 questions judged by at least two of 3 annotators, 1,234 pairs of verdicts; unsure is"
    )
    assert lines[3] == "prevalence  0.5000    0.4000  0.6000"
    assert lines[7] == "kappa            -         -       -"
    assert shown(report_of(1, interval=False), "table").splitlines()[2:4] == [
        "statistic    value",
        "prevalence  0.5000",
    ]


def test_groups_go_down_and_statistics_across():
    """The interval stands behind the value."""
    lines = shown(report_of(2, labels=["r", "s,t"]), "table").splitlines()
    assert lines[0].startswith(
        "2 groups; in each only the triples that at least two annotators judged; unsure is a ver"
    )
    assert lines[3].split()[:7] == ["r", "1,234", "56", "1,234", "0.5000", "[0.4000,", "0.6000]"]
    assert lines[4].split()[-7] == "-"


def test_machines_get_every_digit():
    """Empty, or null, where there is no value; labels quoted."""
    report = report_of(1, labels=['s,"t'])
    assert shown(report, "csv").splitlines()[0] == "relation,triples,questions,pairs,statistic,value,low,high"
    assert shown(report, "csv").splitlines()[5] == '"s,""t",1234,56,1234,kappa,,,'
    assert json.loads(shown(report, "json"))[4]["value"] is None
    assert "\\_" in shown(report_of(1, labels=["a_b"]), "latex")


def test_the_sample():
    """Y first; a number of triples is no share; an unknown end is a dash, or null."""
    values = np.array([0.9, 0.95, 0.925, 0.94, 1234.4, 0.5, 0.2])
    pairs = [np.array(pair) for pair in ([2000, 100], [50, 50], [49, 48], [47, 40], [1, 2])]
    report = SampleReport(values, values - 0.1, np.full(7, np.nan), *pairs, 0.9)
    lines = shown(report, "table", ["labels", "statistics"]).splitlines()
    assert lines[0].split() == ["label", "drawn", "from", "drawn", "judged", "agree", "disagree", "unsure"]
    assert lines[1].split() == ["Y", "100", "50", "48", "40", "8", "2"]
    assert lines[2].split() == ["N", "2,000", "50", "49", "47", "2", "1"]
    assert lines[4].split() == ["statistic", "value", "90%", "from", "to"]
    assert shown(replace(report, pooled=2100), "table") == shown(report, "table")
    assert shown(replace(report, pooled=9000), "table").startswith(
        "Drawn from 2,100 of the pool's 9,000 triples, those that had been settled by then; "
        'here "the pool" means these.\n\n'
    )
    assert lines[9].split() == ["positives", "missed", "1,234", "1,234", "-"]
    assert json.loads(shown(report, "json", ["statistics"]))[0] == {
        "statistic": "agreement on Y",
        "value": 0.9,
        "low": 0.8,
        "high": None,
    }
