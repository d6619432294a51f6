"""Engines run a trial's environment: `docker` in a container, `process` in a virtual environment."""
