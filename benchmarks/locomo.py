"""Turn-level evidence retrieval on LoCoMo: the short form of ``benchmarks.retrieval --locomo PATH``.

python -m benchmarks.locomo PATH [--one-user] [--ways WAYS] [--json OUT]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks import retrieval


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark with the first argument as LoCoMo's path."""
    return retrieval.main(["--locomo", *(sys.argv[1:] if arguments is None else arguments)])


if __name__ == "__main__":
    raise SystemExit(main())
