"""Settings are read once, checked, and say what is wrong by file, key and nearest known name."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path

import pytest

from orca.config import Settings, language, load_settings, sections
from orca.errors import ConfigError
from orca.values import Secret, is_file_url, is_local_url, normalize_base_url, redact_url

KEY = "sk-not-a-real-key"


def load(tmp_path: Path, text: str = "", **environ: str) -> Settings:
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    (tmp_path / "config.toml").chmod(0o600)
    return load_settings(home=tmp_path, environ=environ)


def refusal(tmp_path: Path, text: str = "", **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, **environ)
    return str(caught.value)


def test_defaults_are_those_of_the_design(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path, environ={})
    assert settings.storage_url == str(tmp_path / "orca.db")
    assert (settings.embedding.model, settings.embedding.dimensions) == ("Pro/BAAI/bge-m3", 1024)
    assert settings.memory.budget_share == 0.6
    assert settings.memory.shares == (0.5, 0.3, 0.2)
    assert settings.embedding_provider == "local"
    assert settings.llm.model is None


def test_settings_stay_few() -> None:
    assert len(dataclasses.fields(Settings)) <= 25
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().home = Path()  # type: ignore[misc]


def test_every_key_has_an_environment_override(tmp_path: Path) -> None:
    samples = {
        "provider": "off", "base_url": "http://127.0.0.1:9/v1", "dimensions": "8", "window_tokens": "999",
        "timeout_seconds": "3.5", "budget_share": "0.4", "shares": "0.2, 0.3, 0.5", "url": "postgresql://h/d",
        "encoding": "cl100k_base", "language": "zh", "args": '["a"]', "env": '{"A": "b"}', "api_key": KEY,
        "tools": '["a"]', "agents": '["a"]', "max_steps": "9", "max_tokens": "9", "timeout": "9",
        "redaction": "off", "redaction_allow": '["a.*"]', "redaction_patterns": '["b+"]',
        "read_memory": "true", "replay_reasoning": "yes", "headers": '{"A": "b"}',
    }  # fmt: skip
    environ, names = {}, []
    for name, kind in sections():
        for key in dataclasses.fields(kind):
            section = name.replace(".NAME", "_NEW_NAME")
            environ[f"ORCA_{section.upper()}_{key.name.upper()}"] = samples.get(key.name, "text")
            names.append((name, key.name))
    settings = load(tmp_path, **environ)
    for name, key in names:
        section, _, table = name.partition(".")
        value = getattr(settings, section)
        default = next(kind for label, kind in sections() if label == name)()
        assert getattr(value["new_name"] if table else value, key) != getattr(default, key), (name, key)


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    text = '[siliconflow]\napi_key = "file-key"\n[agents.my-coder]\nprompt = "file"\nmodel = "m"\n'
    settings = load(tmp_path, text, SILICONFLOW_API_KEY=KEY, ORCA_AGENTS_MY_CODER_PROMPT="env")
    assert settings.siliconflow.api_key == Secret(KEY)
    assert (settings.agents["my-coder"].prompt, settings.agents["my-coder"].model) == ("env", "m")


def test_an_empty_variable_counts_as_unset(tmp_path: Path) -> None:
    assert load(tmp_path, SILICONFLOW_API_KEY="", ORCA_LLM_MODEL=" ").siliconflow.api_key is None


def test_orca_home_names_the_directory(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[llm]\nmodel = "m"\n')
    settings = load_settings(environ={"ORCA_HOME": str(tmp_path)})
    assert (settings.home, settings.llm.model) == (tmp_path, "m")


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b'\xef\xbb\xbf[llm]\nmodel = "m"\n')
    assert load_settings(home=tmp_path, environ={}).llm.model == "m"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[embeding]\n", ["config.toml", "[embeding]", '"embedding"']),
        ("[embedding]\ndimension = 3\n", ["config.toml", "[embedding] dimension:", '"dimensions"']),
        ("[agents.coder]\npromt = 'x'\n", ["[agents.coder] promt", '"prompt"']),
        ("[embedding]\ndimensions = '1024'\n", ["[embedding] dimensions", "'1024'", "whole number from 1"]),
        ("[embedding]\ndimensions = true\n", ["dimensions", "True", "whole number"]),
        ("[embedding]\nprovider = 'openia'\n", ["provider", "'openia'", '"openai"']),
        ("[embedding]\nbase_url = 'localhost:1/v1'\n", ["base_url", "http://"]),
        ("[memory]\nshares = [0.5, 0.5, 0.5]\n", ["shares", "[0.5, 0.5, 0.5]", "sum to 1"]),
        ("[memory]\nshares = [1.5, -0.5, 0.0]\n", ["shares", "none negative"]),
        ("[memory]\nbudget_share = nan\n", ["budget_share", "above 0, up to 1"]),
        ("[memory]\nbudget_share = 0\n", ["budget_share", "above 0, up to 1"]),
        ("[llm]\nwindow_tokens = 0\n", ["window_tokens", "= 0", "256"]),
        ("[storage]\nurl = 'mysql://u:pw@h/d'\n", ["[storage] url", "postgresql://"]),
        ("llm = 5\n", ["[llm]", "table"]),
        ("[agents]\ncoder = 'x'\n", ["[agents.coder]", "table"]),
        ("[llm]\nmodel = \n", ["config.toml", "not valid TOML", "line 2"]),
        ("a = 1\n", ["[a]: no such section"]),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_may_hold(tmp_path: Path, text: str, named: list[str]) -> None:
    message = refusal(tmp_path, text)
    assert "\n" not in message
    for part in named:
        assert part in message


def test_a_file_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes("[llm]\nmodel = '模型'\n".encode("gb18030"))
    with pytest.raises(ConfigError, match="line 2 is not UTF-8"):
        load_settings(home=tmp_path, environ={})


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    assert 'did you mean "ORCA_EMBEDDING_DIMENSIONS"' in refusal(tmp_path, ORCA_EMBEDDING_DIMENSION="3")
    assert "ORCA_LLM_WINDOW_TOKENS = 'big'" in refusal(tmp_path, ORCA_LLM_WINDOW_TOKENS="big")
    assert "must end in one of" in refusal(tmp_path, ORCA_AGENTS_CODER="x")
    load(tmp_path, ORCA_PATH="somebody else's")


def test_keys_never_appear(tmp_path: Path) -> None:
    text = (
        f'[siliconflow]\napi_key = "{KEY}"\n[mcp_servers.files]\ncommand = "c"\nenv = {{TOKEN = "{KEY}"}}\n'
    )
    settings = load(tmp_path, text, ORCA_STORAGE_URL="postgresql://me:hunter2@host/db")
    for shown in (
        repr(settings),
        str(settings),
        f"{settings.siliconflow.api_key}",
        repr(settings.mcp_servers),
    ):
        assert KEY not in shown
        assert "hunter2" not in shown
    assert settings.siliconflow.api_key
    assert settings.siliconflow.api_key.reveal() == KEY
    message = refusal(tmp_path, f'[siliconflow]\napi_key = ["{KEY}"]\n')
    assert KEY not in message
    assert "hunter2" not in refusal(tmp_path, "[storage]\nurl = 'mysql://me:hunter2@host/db'\n")


@pytest.mark.skipif(__import__("os").name != "posix", reason="file modes are POSIX")
def test_a_readable_key_is_warned_about_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'[siliconflow]\napi_key = "{KEY}"\n')
    path.chmod(0o644)
    with caplog.at_level(logging.WARNING, logger="orca.config"):
        for _ in range(3):
            load_settings(home=tmp_path, environ={})
    [record] = caplog.records
    assert "chmod 600" in record.getMessage()
    assert KEY not in record.getMessage()


@pytest.mark.case(1)
def test_a_key_goes_to_its_own_vendor_or_the_own_network_only(tmp_path: Path) -> None:
    def key(base_url: str) -> Secret | None:
        return load(tmp_path, SILICONFLOW_API_KEY=KEY, ORCA_EMBEDDING_BASE_URL=base_url).embedding_key

    assert key("https://api.siliconflow.cn/v1") == Secret(KEY)
    assert key("https://api.siliconflow.com/v1") == Secret(KEY)
    assert key("http://127.0.0.1:8000/v1") == Secret(KEY)
    assert key("https://api.example.com/v1") is None
    assert key("https://siliconflow.cn.example.com/v1") is None
    own = load(
        tmp_path, ORCA_LLM_API_KEY="own", ORCA_LLM_BASE_URL="https://api.example.com", SILICONFLOW_API_KEY=KEY
    )
    assert own.llm_key == Secret("own")


@pytest.mark.case(1)
def test_auto_means_the_api_when_it_has_a_key_or_is_local_and_the_embedded_model_otherwise(
    tmp_path: Path,
) -> None:
    assert load(tmp_path).embedding_provider == "local"
    assert load(tmp_path, SILICONFLOW_API_KEY=KEY).embedding_provider == "api"
    assert load(tmp_path, ORCA_EMBEDDING_BASE_URL="http://localhost:11434").embedding_provider == "api"
    assert load(tmp_path, ORCA_EMBEDDING_BASE_URL="https://api.example.com").embedding_provider == "local"
    assert load(tmp_path, ORCA_EMBEDDING_PROVIDER="off", SILICONFLOW_API_KEY=KEY).embedding_provider == "off"
    assert (
        load(tmp_path, ORCA_EMBEDDING_PROVIDER="local", SILICONFLOW_API_KEY=KEY).embedding_provider == "local"
    )


@pytest.mark.case(1)
@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("https://api.siliconflow.cn", "https://api.siliconflow.cn/v1"),
        ("https://api.siliconflow.cn/", "https://api.siliconflow.cn/v1"),
        ("https://api.siliconflow.cn/v1/", "https://api.siliconflow.cn/v1"),
        ("https://api.siliconflow.cn/v1/embeddings", "https://api.siliconflow.cn/v1"),
        ("https://x.example/api/v3/chat/completions/", "https://x.example/api/v3"),
        (" http://localhost:11434 ", "http://localhost:11434/v1"),
        ("https://x.example/compatible-mode/v1", "https://x.example/compatible-mode/v1"),
    ],
)
def test_a_base_url_has_one_form(given: str, right: str) -> None:
    assert normalize_base_url(given) == right
    assert normalize_base_url(right) == right


@pytest.mark.parametrize("given", ["", "api.example.com", "ftp://x/v1", "https://", "https://x/v1?a=b"])
def test_what_is_no_base_url_is_refused(given: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the value itself is the message
        normalize_base_url(given)


def test_addresses_are_told_apart() -> None:
    local = [
        "http://127.0.0.1/v1",
        "http://[::1]:1/",
        "http://localhost",
        "http://192.168.1.4/v1",
        "http://gpu:80",
    ]
    assert all(is_local_url(url) for url in local)
    assert not any(is_local_url(url) for url in ("https://api.example.com", "http://8.8.8.8/v1"))
    assert is_file_url("a/b.db")
    assert is_file_url("C:\\data\\orca.db")
    assert not is_file_url("postgresql://h/d")
    assert not is_file_url(":memory:")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:pw@h/d", "postgresql://me:…@h/d"),
        ("postgresql://me:p@w:x@h/d", "postgresql://me:…@h/d"),
        ("postgresql://h/d?user=a&password=pw&x=1", "postgresql://h/d?user=a&password=…&x=1"),
        ("postgresql://me@h/d", "postgresql://me@h/d"),
        ("/a/b.db", "/a/b.db"),
    ],
)
def test_passwords_are_left_out_of_addresses(url: str, shown: str) -> None:
    assert redact_url(url) == shown


def test_a_relative_path_in_the_file_starts_at_the_file(tmp_path: Path) -> None:
    assert load(tmp_path, "[storage]\nurl = 'x.db'\n").storage_url == str(tmp_path / "x.db")
    assert load(tmp_path, ORCA_STORAGE_URL="x.db").storage_url == "x.db"
    assert load(tmp_path, "[storage]\nurl = '~/x.db'\n").storage_url == str(Path("~/x.db").expanduser())


@pytest.mark.parametrize(
    ("environ", "spoken"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, "en"),
        ({"LC_ALL": "C", "LANG": "zh_TW"}, "en"),
        ({"ORCA_LANG": "zh", "LC_ALL": "en_US"}, "zh"),
        ({"ORCA_LANG": "zh-CN"}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_the_language_follows_the_environment(tmp_path: Path, environ: dict[str, str], spoken: str) -> None:
    assert language(environ) == spoken
    assert load(tmp_path, **environ).cli.language == spoken


def test_the_file_can_set_the_language(tmp_path: Path) -> None:
    assert load(tmp_path, "[cli]\nlanguage = 'zh'\n", LANG="en_US.UTF-8").cli.language == "zh"
    assert load(tmp_path, "[cli]\nlanguage = 'zh'\n", ORCA_LANG="en").cli.language == "en"


def test_the_workspace_starts_at_the_file_and_headers_are_secret(tmp_path: Path) -> None:
    text = (
        '[tools]\nworkspace = "notes"\n[mcp_servers.web]\nurl = "https://host/mcp"\ntimeout_seconds = 5\n'
        f'headers = {{Authorization = "{KEY}"}}\n'
    )
    settings = load(tmp_path, text)
    assert settings.tools.workspace == str(tmp_path / "notes")
    assert settings.mcp_servers["web"].headers["Authorization"].reveal() == KEY
    assert settings.mcp_servers["web"].timeout_seconds == 5
    assert KEY not in repr(settings)
    assert load(tmp_path, ORCA_TOOLS_WORKSPACE="/elsewhere").tools.workspace == "/elsewhere"
    assert "the path of a directory" in refusal(tmp_path, '[tools]\nworkspace = "  "\n')
