"""Bringing in what was said elsewhere: logs of several makers, sub-agents' transcripts, and exports of Orca."""

from orca.importers.run import import_files, migrate_directory

__all__ = ["import_files", "migrate_directory"]
