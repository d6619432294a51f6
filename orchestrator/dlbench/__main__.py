"""`python -m dlbench`, and where the installed command starts."""

import sys


def start() -> int:
    try:
        from dlbench.cli import main
    except KeyboardInterrupt:  # so early that nothing was begun
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(start())
