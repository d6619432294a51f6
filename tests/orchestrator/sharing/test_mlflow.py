"""The layout that MLflow reads."""

from __future__ import annotations

from pathlib import Path

from tests.orchestrator.analysis.campaigns import TWO, write
from tests.orchestrator.command import Command


def test_mlflow_layout(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", TWO)
    assert command("export", folder, "--format", "mlflow", "-o", tmp_path / "mlruns").code == 0
    experiment = tmp_path / "mlruns" / "1"
    assert 'name: "digits-cnn"' in (experiment / "meta.yaml").read_text()
    runs = [path for path in experiment.iterdir() if path.is_dir()]
    assert len(runs) == 20
    for run in runs:
        assert len(run.name) == 32
        at, value, step = (run / "metrics" / "train_s").read_text().split()
        assert int(at) > 0 and float(value) > 0 and step == "0"
        assert (run / "params" / "release").read_text() in ("a@1", "b@1")
        assert (run / "metrics" / "epoch.loss").read_text().split()[1:] == ["2.0", "1"]
