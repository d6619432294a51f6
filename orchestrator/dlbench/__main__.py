"""`python -m dlbench`."""

import sys

try:
    from dlbench.cli import main
except KeyboardInterrupt:  # so early that nothing was begun
    sys.exit(130)

sys.exit(main())
