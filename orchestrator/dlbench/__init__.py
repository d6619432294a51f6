"""dlbench: compare deep learning frameworks on models proven to be the same."""

__version__ = "0.1.0"
