"""The program that runs inside an environment: reads a job, trains or verifies, writes events.

Python 3.6 to 3.13; the standard library, NumPy and the one framework of the environment.
"""

__version__ = "1"
