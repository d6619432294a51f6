"""Published studies as data: their tables, their claims, and which releases and workloads of
dlbench stand for what they measured; and the verdict on each claim from a campaign's trials.

A folder a study: `study.toml`, `claims.csv` and its tables. `reading.py` reads them, strictly.
"""
