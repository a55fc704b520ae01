"""Known vulnerabilities of installed packages, by pip-audit, told apart from packages that nobody could be asked about.

python -m tests.audit PACKAGES.txt, a file as pip freeze writes, prints what was found. It exits with 1 where a package
has a known vulnerability or pip-audit fails. Where the advisory service cannot be asked, it says that nothing was
audited, and exits with 0.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

#: the kinds of errors that a service has given which did not answer; the last one of a traceback counts
_NO_ANSWER = re.compile(
    r"^(ERROR:)?\S*(ConnectionError|ConnectTimeout|ReadTimeout|Timeout|SSLError|ProxyError|ServiceError)\b"
)
_BLOCKED = "your network may be blocking this service"
_NOTHING = "nothing was audited: the advisory service"


def outcome(status: int, output: str, errors: str) -> tuple[bool, str]:
    """Whether all is well with what pip-audit's exit status and output say, and a line for the log."""
    if not output.strip():
        last = next((line for line in reversed(errors.splitlines()) if line.strip()), "no output")
        if status and (_NO_ANSWER.match(last) or _BLOCKED in errors):
            return True, f"{_NOTHING} cannot be reached ({last.partition(':')[0]})"
        return False, f"pip-audit failed with exit status {status}: {last}"
    packages = json.loads(output)["dependencies"]
    asked = [package for package in packages if "skip_reason" not in package]
    found = [
        f"{package['name']} {package['version']}: {each['id']}, mended in {' '.join(each['fix_versions']) or 'none'}"
        for package in asked
        for each in package["vulns"]
    ]
    if found:
        return False, "\n".join([f"known vulnerabilities of packages that users install: {len(found)}", *found])
    if status:
        return False, f"pip-audit failed with exit status {status}, and named no vulnerability"
    if not asked:
        return True, f"{_NOTHING} knows none of the {len(packages)} packages, as a mirror without advisories does"
    unknown = [package["name"] for package in packages if "skip_reason" in package]
    rest = f"; not known to the service: {', '.join(unknown)}" if unknown else ""
    return True, f"audited {len(asked)} packages: no known vulnerability{rest}"


def audited(packages: Path) -> tuple[bool, str]:
    """What pip-audit says about a file of names and versions."""
    words = ["-m", "pip_audit", "--requirement", str(packages), "--no-deps", "--disable-pip"]
    words += ["--format", "json", "--progress-spinner", "off", "--timeout", "15"]
    try:
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return True, f"{_NOTHING} did not answer in two minutes"
    return outcome(done.returncode, done.stdout, done.stderr)


if __name__ == "__main__":
    is_well, said = audited(Path(sys.argv[1]))
    print(said)
    sys.exit(not is_well)
