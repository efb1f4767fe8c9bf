"""Reading the fenced blocks of Markdown pages, and running them the way a reader would.

A comment in front of a block says what is special about it: ``<!-- run: exit 3 -->`` expects an exit code,
``<!-- run: skip, REASON -->`` leaves it out, ``<!-- file: NAME -->`` writes it to that file. Everything else
runs: Python blocks of a page one after the other in one namespace, ``$ orca …`` lines of console blocks as
commands. Output that a page shows must come out as shown, up to spacing and table lines; ``…`` stands for anything.
"""

from __future__ import annotations

import re
import shlex
import threading
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from orca.interfaces.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")],
    key=lambda path: path.as_posix(),
)

_BLOCK = re.compile(
    r"(?:^<!-- (?P<key>run|file): (?P<value>[^>]*?) -->\n)?^```(?P<language>[\w-]*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_FRAME = re.compile(r"[─━│╭╮╰╯]+")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, where it begins, and what the comment in front of it says."""

    language: str
    body: str
    line: int
    run: str | None = None
    file: str | None = None

    @property
    def skipped(self) -> bool:
        return (self.run or "").startswith("skip")

    @property
    def exit_code(self) -> int:
        return int((self.run or "exit 0").removeprefix("exit "))


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            language=match["language"],
            body=match["body"],
            line=text[: match.start("language")].count("\n") + 1,
            run=match["value"] if match["key"] == "run" else None,
            file=match["value"] if match["key"] == "file" else None,
        )
        for match in _BLOCK.finditer(text)
    ]


def run_page(page: Path) -> None:
    """Run a page's blocks in order, in the current directory."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.file is not None:
            Path(block.file).write_text(block.body, encoding="utf-8")
        elif block.skipped:
            continue
        elif block.language == "python":
            exec(compile(block.body, where, "exec"), namespace)
        elif block.language == "console":
            _run_console(block, where)


def _run_console(block: Block, where: str) -> None:
    parts = re.split(r"^\$ ", block.body, flags=re.MULTILINE)
    assert not parts[0].strip(), f"{where}: output before the first command"
    for part in parts[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = command[:-1] + more.strip()
        words = shlex.split(command, comments=True)
        assert words[0] == "orca", f"{where}: {command} cannot be run here; mark the block as skipped"
        result = CliRunner().invoke(app, words[1:])
        said = result.stdout + result.stderr
        assert result.exit_code == block.exit_code, f"{where}: {command}\n{said}"
        for line in filter(None, map(_plain, shown.splitlines())):
            pattern = ".*".join(map(re.escape, line.split("…")))
            assert re.search(pattern, _plain(said), re.DOTALL), f"{where}: {command}\nno “{line}” in:\n{said}"


def _plain(text: str) -> str:
    return " ".join(_FRAME.sub(" ", text).split())


def anchors(page: Path) -> set[str]:
    """Return the names that a link may point at within a page, as GitHub makes them of headings."""
    outside = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", outside, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def prose(page: Path) -> str:
    """Return a page without its blocks."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def background_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("orca")]
