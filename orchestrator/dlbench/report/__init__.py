"""The report: a campaign as one HTML file that opens with the answer, as Markdown, LaTeX or SVG."""

from dlbench.report.material import Material, load
from dlbench.report.page import html
from dlbench.report.picture import svg
from dlbench.report.text import latex, markdown

__all__ = ["Material", "html", "latex", "load", "markdown", "svg"]
