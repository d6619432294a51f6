"""The report: a campaign as one HTML file that opens with the answer, or as Markdown or LaTeX."""

from dlbench.report.material import Material, load
from dlbench.report.page import html
from dlbench.report.text import latex, markdown

__all__ = ["Material", "html", "latex", "load", "markdown"]
