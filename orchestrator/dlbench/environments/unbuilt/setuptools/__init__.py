"""Stands in for setuptools while pip downloads an sdist. See build_meta."""
