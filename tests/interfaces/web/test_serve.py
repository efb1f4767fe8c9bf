"""``orca serve`` as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from orca.errors import ConfigError
from orca.interfaces.web.serve import listen

WAIT = 60


@contextmanager
def serving(tmp_path: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, and the address that it says."""
    environment = {
        **os.environ,
        "ORCA_HOME": str(tmp_path),
        "ORCA_EMBEDDING_PROVIDER": "off",
        "LANG": "C.UTF-8",
    }
    command = [
        sys.executable,
        "-c",
        "from orca.interfaces.cli.main import main; main()",
        "serve",
        "--port",
        "0",
    ]
    with subprocess.Popen(
        [*command, "--json", "--db", str(tmp_path / "chat.db"), *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            document = ""
            for line in process.stdout:
                document += line
                if line == "}\n":
                    break
            yield process, json.loads(document or "{}").get("url", "")
        finally:
            if process.poll() is None:
                process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a single process there")
def test_it_says_where_it_is_and_stops_at_once(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, address):
        assert httpx.get(address, timeout=WAIT).status_code == 200
        with httpx.stream("GET", f"{address}api/v1/events", timeout=WAIT) as answer:
            next(answer.iter_lines())
            process.send_signal(signal.SIGINT)
            assert process.wait(10) in (0, 130)
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_it_asks_for_its_token(tmp_path: Path) -> None:
    with serving(tmp_path, "--token", "open-sesame") as (_, address):
        path = f"{address}api/v1/status"
        assert httpx.get(path, timeout=WAIT).status_code == 401
        headers = {"Authorization": "Bearer open-sesame"}
        assert httpx.get(path, headers=headers, timeout=WAIT).status_code == 200


@pytest.mark.case(9)
def test_it_does_not_open_up_without_a_token(tmp_path: Path) -> None:
    with serving(tmp_path, "--host", "0.0.0.0") as (process, _):
        assert process.wait(WAIT) == 2
        assert process.stderr is not None
        assert "--token" in process.stderr.read()


def test_an_address_in_use_is_named() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(ConfigError, match="--port"):
        listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(ConfigError):
        listen("no.such.host.invalid", 0)
