"""Nothing outside the workspace can be read or written, whatever path is asked for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orca.agent import workspace as module
from orca.agent.workspace import Entry, Workspace
from orca.errors import ConfigError, ToolError

SECRET = "the secret that is outside"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace ``ws`` with links that lead out, beside things that are nobody's business."""
    base = tmp_path_factory.mktemp("base")
    (base / "outside").mkdir()
    (base / "outside" / "secret.txt").write_text(SECRET)
    (base / "ws-sibling").mkdir()
    (base / "ws-sibling" / "secret.txt").write_text(SECRET)
    ws = base / "ws"
    (ws / "src" / "deep").mkdir(parents=True)
    (ws / "src" / "a.py").write_text("print('a')\n")
    (ws / ".env").write_text(f"KEY={SECRET}")
    (ws / ".git").mkdir()
    (ws / ".git" / "config").write_text(SECRET)
    (ws / "inside_link").symlink_to("src/a.py")
    (ws / "inside_directory").symlink_to("src")
    (ws / "file_link").symlink_to(base / "outside" / "secret.txt")
    (ws / "relative_link").symlink_to("../outside/secret.txt")
    (ws / "directory_link").symlink_to(base / "outside")
    (ws / "env_link").symlink_to(".env")
    (ws / "circle").symlink_to("circle")
    (ws / "dangling").symlink_to(base / "outside" / "new.txt")
    os.mkfifo(ws / "pipe")
    return base


@pytest.fixture
def ws(base: Path) -> Workspace:
    return Workspace(base / "ws")


def read(ws: Workspace, path: str) -> bytes:
    return ws.read(ws.resolve(path), limit=1_000)


@pytest.mark.parametrize(
    "path", ["src/a.py", "./src//a.py", "src/./a.py", "inside_link", "inside_directory/a.py"]
)
def test_files_inside_are_read_by_links_too(ws, path):
    assert read(ws, path) == b"print('a')\n"
    assert ws.resolve(path) == ("src", "a.py")


def test_an_absolute_path_inside_is_one_of_the_workspace(ws, base):
    assert ws.resolve(str(base / "ws" / "src" / "a.py")) == ("src", "a.py")


@pytest.mark.case(13)
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../outside/secret.txt", "'..' is not allowed"),
        ("src/../../outside/secret.txt", "'..' is not allowed"),
        ("src/../src/a.py", "'..' is not allowed"),
        ("/etc/passwd", "outside"),
        ("//etc/passwd", "outside"),
        ("~/x", "outside"),
        ("C:\\Windows\\win.ini", "outside"),
        ("c:x", "outside"),
        ("\\\\server\\share\\x", "outside"),
        ("file_link", "outside"),
        ("relative_link", "outside"),
        ("directory_link/secret.txt", "outside"),
        ("dangling", "outside"),
        ("circle", "cannot be resolved"),
        (".env", "hidden"),
        ("env_link", "hidden"),
        (".git/config", "hidden"),
        ("\u200c.git/config", "hidden"),
        ("src/.ssh/id", "hidden"),
        ("CON", "device"),
        ("nul.txt", "device"),
        ("src/COM1", "device"),
        ("LPT¹.log", "device"),
        ("a.py::$DATA", "device"),
        ("a.py.", "device"),
        ("a.py ", "device"),
        ("a\0b", "not a path"),
        ("a\nb", "not a path"),
        ("a\ud800", "not a path"),
        ("", "not a path"),
        ("   ", "not a path"),
        ("x" * 2_000, "not a path"),
        ("y" * 300, "y"),
        ("none.txt", "there is no"),
        ("src", "is a directory"),
        (".", "names the workspace itself"),
        ("src/a.py/more", "not a directory"),
        ("pipe", "not a plain file"),
    ],
)
def test_what_is_refused_is_refused_in_words(ws, path, reason):
    with pytest.raises(ToolError, match=reason):
        read(ws, path)


def test_the_parent_of_an_absolute_path_is_not_inside(ws, base):
    for path in (f"{base}/ws/../outside/secret.txt", f"{base}/ws-sibling/secret.txt", str(base)):
        with pytest.raises(ToolError, match=r"outside|not allowed"):
            read(ws, path)


PARTS = st.sampled_from(
    "src deep a.py .. . .env .git config inside_directory directory_link file_link dangling pipe circle "
    "outside ws secret.txt ~ CON ... \0 / // \\ ..\\.. %2e%2e ．． ／ ws-sibling".split(" ")
)


@given(st.lists(PARTS | st.text(max_size=4), min_size=1, max_size=6), st.sampled_from(["", "/", "./", "../"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_path_reads_or_writes_outside(ws, base, parts, start):
    path = start + "/".join(parts)
    before = {name: os.listdir(base / name) for name in (".", "outside", "ws-sibling")}
    try:
        content = read(ws, path)
    except ToolError:
        content = b""
    assert SECRET.encode() not in content
    try:
        target = ws.resolve(path)
        if target != ("src", "a.py"):
            ws.write(target, b"written")
            assert (ws.root.joinpath(*target)).read_bytes() == b"written"
            ws.root.joinpath(*target).unlink()
    except ToolError:
        pass
    assert {name: os.listdir(base / name) for name in (".", "outside", "ws-sibling")} == before
    assert (base / "outside" / "secret.txt").read_text() == SECRET


def test_a_link_that_appears_after_the_check_leads_nowhere(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file.txt").write_text(SECRET)
    root = tmp_path / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "file.txt").write_text("mine")
    ws = Workspace(root)
    file, directory = ws.resolve("sub/file.txt"), ws.resolve("sub")
    (root / "sub" / "file.txt").unlink()
    (root / "sub" / "file.txt").symlink_to(outside / "file.txt")
    with pytest.raises(ToolError):
        ws.read(file, limit=100)
    with pytest.raises(ToolError, match="not a plain file"):
        ws.write(file, b"x")
    (root / "sub" / "file.txt").unlink()
    (root / "sub").rmdir()
    (root / "sub").symlink_to(outside)
    for attempt in (
        lambda: ws.read(file, limit=100),
        lambda: ws.write(file, b"x"),
        lambda: ws.entries(directory),
    ):
        with pytest.raises(ToolError):
            attempt()
    assert (outside / "file.txt").read_text() == SECRET
    assert os.listdir(outside) == ["file.txt"]


def test_where_directories_have_no_descriptors_the_place_is_checked_again(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "HAS_DIRECTORY_DESCRIPTORS", False)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.txt").write_text(SECRET)
    ws = Workspace(tmp_path)
    ws.write(("new", "b.txt"), b"one")
    assert ws.read(("new", "b.txt"), limit=10) == b"one"
    assert [entry.path for entry in ws.entries(("new",))] == ["new/b.txt"]
    (tmp_path / "link").symlink_to(outside)
    for attempt in (
        lambda: ws.read(("link", "b.txt"), limit=10),
        lambda: ws.write(("link", "b.txt"), b"x"),
        lambda: ws.entries(("link",)),
    ):
        with pytest.raises(ToolError, match="moved in the meantime"):
            attempt()
    assert (outside / "b.txt").read_text() == SECRET


def test_lists_show_plain_files_and_directories_only(tmp_path):
    ws = Workspace(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("four")
    (tmp_path / ".hidden").touch()
    (tmp_path / "new\nline").touch()
    (tmp_path / "link").symlink_to("src/a.py")
    os.mkfifo(tmp_path / "pipe")
    assert [(entry.path, entry.directory) for entry in ws.entries(())] == [("src", True)]
    assert ws.entries(("src",)) == [Entry(path="src/a.py", directory=False, size=4)]


def test_nothing_stays_open(tmp_path):
    ws = Workspace(tmp_path)
    (tmp_path / "src").mkdir()
    before = os.listdir("/proc/self/fd") if Path("/proc/self/fd").exists() else []
    for path in ("src", "none", "src/none/deep"):
        with pytest.raises(ToolError):
            read(ws, path)
    ws.write(("src", "a"), b"x")
    ws.entries(("src",))
    assert (os.listdir("/proc/self/fd") if before else []) == before


def test_a_file_that_is_too_large_is_not_read(ws):
    with pytest.raises(ToolError, match="more than 3 bytes"):
        ws.read(("src", "a.py"), limit=3)


def test_a_write_is_whole_keeps_permissions_and_leaves_nothing_behind(tmp_path, monkeypatch):
    ws = Workspace(tmp_path)
    script = tmp_path / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    ws.write(("run.sh",), b"new")
    assert script.read_text() == "new"
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    ws.write(("deep", "er", "file.txt"), b"made")
    assert (tmp_path / "deep" / "er" / "file.txt").read_text() == "made"

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ToolError, match="No space left"):
        ws.write(("run.sh",), b"newest")
    assert script.read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["deep", "run.sh"]


def test_a_closed_directory_cannot_be_seen_or_named(tmp_path):
    home = tmp_path / "orca"
    home.mkdir()
    (home / "config.toml").write_text(SECRET)
    ws = Workspace(tmp_path, closed=[home])
    assert ws.entries(()) == []
    with pytest.raises(ToolError, match="closed"):
        ws.resolve("orca/config.toml")
    with pytest.raises(ConfigError, match="Orca's own files"):
        Workspace(home, closed=[home])


def test_a_workspace_must_be_there(tmp_path):
    with pytest.raises(ConfigError, match="is not a directory"):
        Workspace(tmp_path / "none")
