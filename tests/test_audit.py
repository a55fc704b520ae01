"""What a run of pip-audit means for CI: red on a finding, and never green in silence where nothing was asked."""

from __future__ import annotations

import json

import pytest

from tests.audit import outcome

SKIPPED = {"name": "flask", "skip_reason": "Dependency not found on PyPI and could not be audited: flask (3.1.0)"}
CLEAN = {"name": "numpy", "version": "2.0.0", "vulns": []}
BAD = {
    "name": "jinja2",
    "version": "3.1.5",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.1.6"], "aliases": [], "description": "a way out of the sandbox"}],
}


def said(*packages: dict[str, object]) -> str:
    return json.dumps({"dependencies": packages, "fixes": []})


def test_a_finding_is_red():
    """With the package, its version, the advisory, and the version that mends it."""
    assert outcome(1, said(CLEAN, BAD, SKIPPED), "Found 1 known vulnerability in 1 package\n") == (
        False,
        "known vulnerabilities of packages that users install: 1\njinja2 3.1.5: PYSEC-1, mended in 3.1.6",
    )


def test_a_finding_that_no_version_mends_is_red():
    """There is a way out without a new version: another package."""
    open_one = BAD | {"vulns": [BAD["vulns"][0] | {"fix_versions": []}]}  # type: ignore[index]
    assert outcome(1, said(open_one), "")[0] is False


def test_packages_without_a_finding_are_counted():
    assert outcome(0, said(CLEAN, SKIPPED), "") == (
        True,
        "audited 1 packages: no known vulnerability; not known to the service: flask",
    )


def test_a_service_that_knows_no_package_audits_nothing():
    """pip-audit says "No known vulnerabilities found" there; we do not."""
    assert outcome(0, said(SKIPPED, SKIPPED), "No known vulnerabilities found\n") == (
        True,
        "nothing was audited: the advisory service knows none of the 2 packages, as a mirror without advisories does",
    )


@pytest.mark.parametrize(
    "errors",
    [
        "Traceback (most recent call last):\nrequests.exceptions.ConnectionError: Max retries exceeded\n",
        "Traceback (most recent call last):\nrequests.exceptions.ReadTimeout: Read timed out.\n",
        "Traceback (most recent call last):\npip_audit._service.interface.ServiceError\n",
        "ERROR:pip_audit._cli:Could not connect to PyPI's vulnerability feed\n"
        "ERROR:pip_audit._cli:Tip: your network may be blocking this service. Try another service with `-s SERVICE`\n",
    ],
    ids=["no network", "no answer", "refused", "blocked"],
)
def test_without_a_service_nothing_is_audited_and_nothing_is_red(errors: str):
    well, line = outcome(1, "", errors)
    assert well
    assert line.startswith("nothing was audited: the advisory service cannot be reached")


@pytest.mark.parametrize(
    ("status", "output", "errors"),
    [
        (1, "", "Traceback (most recent call last):\nKeyError: 'vulnerabilities'\n"),
        (2, "", "pip-audit: error: unrecognized arguments: --no-dependencies\n"),
        (0, "", ""),
        (1, said(CLEAN), ""),
    ],
    ids=["its own mistake", "wrong options", "silence", "status without a finding"],
)
def test_any_other_failure_of_the_audit_is_red(status: int, output: str, errors: str):
    well, line = outcome(status, output, errors)
    assert not well
    assert line.startswith(f"pip-audit failed with exit status {status}")
