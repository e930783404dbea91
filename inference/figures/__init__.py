"""Figures of results: SVG, PNG, plain JSON data, or plotly figures validated by plotly's Python package.

Nothing here depends on a browser or a theme: the page sets backgrounds and text colours.
"""
