"""Dask clusters on loopback, started from the command line as docs/scale.md says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time


class Cluster:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder, **environment):
        self.folder, self.file, self.workers = folder, folder / "scheduler.json", []
        self.environment = os.environ | environment
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        while not (text := self.file.read_text() if self.file.exists() else "").rstrip().endswith("}"):
            time.sleep(0.05)
        self.address = json.loads(text)["address"]
        for _ in range(2):
            self.add_worker()

    def _start(self, kind, *options):
        command = [sys.executable, "-m", "dask", kind, "--scheduler-file", str(self.file), *options]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=self.environment)

    def add_worker(self):
        # without a nanny, which would start another one
        options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", str(self.folder)]
        self.workers.append(self._start("worker", *options))

    def close(self):
        for process in (*self.workers, self.scheduler):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
