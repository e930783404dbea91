"""Values turned into pictures: plain JSON data, or plotly figures built and validated by the Python package.

Nothing here knows a browser or a theme: backgrounds and text colours are the page's.
"""
