"""What an archive was unpacked into goes with the process, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dlbench.sharing.archive import write_archive
from tests.orchestrator.analysis.campaigns import TWO, write

_HOLD = """
import signal, sys, dlbench
from dlbench.cli import main
sys.argv = ["dlbench", "show", sys.argv[1]]
main()
print("shown", flush=True)
signal.pause()
"""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_unpacked_is_left_behind(tmp_path: Path, end: signal.Signals) -> None:
    write_archive(write(tmp_path / "c", TWO), tmp_path / "c.dlbench")
    place = tmp_path / "temporary"
    place.mkdir()
    path = os.pathsep.join(sys.path)
    variables = {**os.environ, "TMPDIR": str(place), "PYTHONPATH": path}
    arguments = [sys.executable, "-c", _HOLD, str(tmp_path / "c.dlbench")]
    with subprocess.Popen(arguments, env=variables, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while "shown" not in process.stdout.readline():
            assert process.poll() is None
        (held,) = place.iterdir()
        # Another that opens an archive meanwhile leaves alone what is in use, however old.
        os.utime(held, (0, 0))
        show = [sys.executable, "-m", "dlbench", "show", str(tmp_path / "c.dlbench")]
        subprocess.run(show, env=variables, check=True, stdout=subprocess.DEVNULL)
        assert list(place.iterdir()) == [held]
        process.send_signal(end)
        process.wait()
    if end is signal.SIGKILL:
        assert list(place.iterdir()) == [held]
        subprocess.run(show, env=variables, check=True, stdout=subprocess.DEVNULL)
    assert not list(place.iterdir())
