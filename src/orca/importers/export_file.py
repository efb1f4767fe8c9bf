"""The file that ``orca export`` writes: a first line ``{"orca_export": 1}``, then a table and a row a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from orca.importers.lines import read_lines

VERSION = 1
_MARK = "orca_export"


def is_export(path: Path) -> bool:
    """Whether a file begins like an export. Raises ``OSError``."""
    return any(line.record is not None and _MARK in line.record for line in islice(read_lines(path), 1))


def export_rows(path: Path, report: Callable[[int, str], None]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield ``(table, row)``; ``report`` gets the number and the reason of a line that has none. Raises ``OSError``."""
    for line in read_lines(path):
        record = line.record
        if record is None:
            report(line.number, line.reason or "")
        elif _MARK in record:
            if record[_MARK] != VERSION:
                report(
                    line.number,
                    f"this is export version {record[_MARK]}; upgrade Orca, which reads {VERSION}",
                )
                return
        elif isinstance(record.get("table"), str) and isinstance(record.get("row"), dict):
            yield record["table"], record["row"]
        else:
            report(line.number, 'the line must be {"table": …, "row": …}; export the store again')
