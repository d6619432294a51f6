"""The charts of the report, one module each: what is drawn, from which columns, with which words.

A chart is a table that a drawing of the same idea in `assets/charts/` turns into a picture. To add
one: a module here, a drawing there, and its section in `report/sections.py`.
"""
