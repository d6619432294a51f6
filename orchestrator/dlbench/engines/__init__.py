"""Engines run an environment: `docker` in a container, `process` in a virtual environment."""
