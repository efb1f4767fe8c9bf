"""Settings: read once from ``$ORCA_HOME/config.toml`` and the environment, checked, then frozen.

This is the only module that reads either of them. Each key of a section has an environment override
``ORCA_SECTION_KEY`` (``ORCA_EMBEDDING_MODEL``, ``ORCA_AGENTS_CODER_PROMPT``); an empty variable counts as unset.
docs/reference/configuration.md is generated from the sections below. Only the standard library is imported,
because the command line reads its language from here before it does anything else.
"""

from __future__ import annotations

import difflib
import logging
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from orca import values
from orca.errors import ConfigError
from orca.sections import (
    AgentSettings,
    CLISettings,
    EmbeddingSettings,
    LLMSettings,
    MCPServerSettings,
    MemorySettings,
    RerankSettings,
    SiliconFlowSettings,
    StorageSettings,
    TokenSettings,
    ToolSettings,
)
from orca.values import Secret, language_of

logger = logging.getLogger(__name__)

Language = Literal["zh", "en"]

_SILICONFLOW_HOSTS = ("siliconflow.cn", "siliconflow.com")
_ALIASES = {"SILICONFLOW_API_KEY": ("siliconflow", "api_key"), "ORCA_LANG": ("cli", "language")}


def _default_home() -> Path:
    return Path("~/.orca").expanduser()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be configured, checked. ``load_settings`` reads it; nothing changes it afterwards."""

    home: Path = field(default_factory=_default_home)
    siliconflow: SiliconFlowSettings = field(default_factory=SiliconFlowSettings)
    storage: StorageSettings = field(default_factory=StorageSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    llm: LLMSettings = field(default_factory=LLMSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    tokens: TokenSettings = field(default_factory=TokenSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    cli: CLISettings = field(default_factory=CLISettings)
    agents: Mapping[str, AgentSettings] = field(default_factory=dict)
    mcp_servers: Mapping[str, MCPServerSettings] = field(default_factory=dict)

    @property
    def storage_url(self) -> str:
        """The configured store, or ``orca.db`` in Orca's home."""
        return self.storage.url or str(self.home / "orca.db")

    @property
    def embedding_key(self) -> Secret | None:
        """The key that may be sent to ``embedding.base_url``."""
        return self._key_for(self.embedding.base_url, self.embedding.api_key)

    @property
    def rerank_key(self) -> Secret | None:
        """The key that may be sent to ``rerank.base_url``."""
        return self._key_for(self.rerank.base_url, self.rerank.api_key)

    @property
    def llm_key(self) -> Secret | None:
        """The key that may be sent to ``llm.base_url``."""
        return self._key_for(self.llm.base_url, self.llm.api_key)

    @property
    def embedding_host(self) -> str:
        """Who answers at ``embedding.base_url``: SiliconFlow by its name, others by their host."""
        host = urlsplit(self.embedding.base_url).hostname or ""
        return "siliconflow" if _is_siliconflow(host) else host

    @property
    def embedding_provider(self) -> Literal["api", "local", "off"]:
        """What ``embedding.provider`` comes to: the API at ``base_url``, the embedded model, or nothing."""
        if self.embedding.provider in ("siliconflow", "openai"):
            return "api"
        if self.embedding.provider == "auto":
            return "api" if self.embedding_key or values.is_local_url(self.embedding.base_url) else "local"
        return "off" if self.embedding.provider == "off" else "local"

    def _key_for(self, base_url: str, own: Secret | None) -> Secret | None:
        # SiliconFlow's key goes to SiliconFlow, or to a gateway on the user's own network; never to another vendor.
        host = urlsplit(base_url).hostname or ""
        return own or (
            self.siliconflow.api_key if _is_siliconflow(host) or values.is_local_url(base_url) else None
        )


def _is_siliconflow(host: str) -> bool:
    return any(host == name or host.endswith("." + name) for name in _SILICONFLOW_HOSTS)


def load_settings(*, home: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read ``config.toml`` of Orca's home (``ORCA_HOME``, else ``~/.orca``) and lay the environment over it.

    A file that is not there is an empty one. Raises ``ConfigError`` that names the file or the variable, the key
    and what it may hold; an unknown key is an error too, with the nearest known one.
    """
    environ = os.environ if environ is None else environ
    directory = Path(home or environ.get("ORCA_HOME") or "~/.orca").expanduser()
    path = directory / "config.toml"
    given = _from_file(path)
    _warn_if_exposed(path, given)
    _resolve_paths(given, directory)
    for name, origin in _from_environment(environ, given):
        given.setdefault(name, {}).update(origin)
    given_sections: dict[str, Any] = {
        name: _build(kind, given.get((name, ""), {})) for name, kind in _SECTIONS.items()
    }
    tables: dict[str, Any] = {
        name: {label: _build(kind, keys) for (section, label), keys in given.items() if section == name}
        for name, kind in _TABLES.items()
    }
    settings = Settings(home=directory, **given_sections, **tables)
    return _with_language(settings, environ)


def language(environ: Mapping[str, str] | None = None) -> Language:
    """Return the language that the environment asks for, without reading any file."""
    environ = os.environ if environ is None else environ
    for name in ("ORCA_LANG", "ORCA_CLI_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        found = language_of(environ.get(name, ""))
        if found:
            return "zh" if found == "zh" else "en"
    return "en"


@dataclass(frozen=True, slots=True)
class _Given:
    """A value and where it was found, in words."""

    value: Any
    origin: str


_Keys = dict[str, _Given]
_SECTIONS: Mapping[str, type[Any]] = {
    "siliconflow": SiliconFlowSettings,
    "storage": StorageSettings,
    "embedding": EmbeddingSettings,
    "rerank": RerankSettings,
    "llm": LLMSettings,
    "memory": MemorySettings,
    "tokens": TokenSettings,
    "tools": ToolSettings,
    "cli": CLISettings,
}
_TABLES: Mapping[str, type[Any]] = {"agents": AgentSettings, "mcp_servers": MCPServerSettings}


def sections() -> Iterable[tuple[str, type[Any]]]:
    """Yield the name of each section as ``config.toml`` writes it, and the class that lists its keys."""
    yield from _SECTIONS.items()
    yield from ((f"{name}.NAME", kind) for name, kind in _TABLES.items())


def _from_file(path: Path) -> dict[tuple[str, str], _Keys]:
    given: dict[tuple[str, str], _Keys] = {}
    for section, body in _parse(path).items():
        if section not in _SECTIONS and section not in _TABLES:
            raise ConfigError(
                f"{path}: [{section}]: no such section{_nearest(section, [*_SECTIONS, *_TABLES])}"
            )
        parts = {"": body} if section in _SECTIONS else _table(body, f"{path}: [{section}]")
        kind = _SECTIONS.get(section) or _TABLES[section]
        for label, keys in parts.items():
            where = f"{path}: [{section}{'.' + label if label else ''}]"
            known = [key.name for key in fields(kind)]
            for key in _table(keys, where):
                if key not in known:
                    raise ConfigError(f"{where} {key}: no such key{_nearest(key, known)}")
            given[section, label] = {key: _Given(value, f"{where} {key}") for key, value in keys.items()}
    return given


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}: line {line} is not UTF-8; save the file as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: must be a table of keys, not {type(value).__name__}")
    return value


def _nearest(name: str, known: Iterable[str]) -> str:
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return f'; did you mean "{near[0]}"? Known: {", ".join(known)}'


def _resolve_paths(given: dict[tuple[str, str], _Keys], directory: Path) -> None:
    """Let a relative path in the file start at the file's directory, wherever Orca is started."""
    for section, key in (("storage", "url"), ("tools", "workspace")):
        path = given.get((section, ""), {}).get(key)
        if path and isinstance(path.value, str) and path.value.strip() and values.is_file_url(path.value):
            resolved = str(directory / Path(path.value).expanduser())
            given[section, ""][key] = replace(path, value=resolved)


def _from_environment(
    environ: Mapping[str, str], given: Mapping[tuple[str, str], _Keys]
) -> Iterable[tuple[tuple[str, str], _Keys]]:
    for variable, text in environ.items():
        if not text.strip():
            continue
        place = _place_of(variable, [name for name in given if name[0] in _TABLES])
        if place is None:
            continue
        section, label, key = place
        kind = _SECTIONS.get(section) or _TABLES[section]
        spec = next(item.metadata["kind"] for item in fields(kind) if item.name == key)
        origin = f"environment variable {variable}"
        try:
            value = spec.read(text)
        except ValueError as error:
            raise ConfigError(_refusal(_Given(text, origin), spec)) from error
        if spec.path and values.is_file_url(value):
            value = str(Path(value).expanduser())
        yield (section, label), {key: _Given(value, origin)}


def _place_of(variable: str, tables: Iterable[tuple[str, str]]) -> tuple[str, str, str] | None:
    """Return section, label and key that a variable overrides, None for one that is not Orca's."""
    if variable in _ALIASES:
        section, key = _ALIASES[variable]
        return section, "", key
    for section, kind in {**_SECTIONS, **_TABLES}.items():
        prefix = f"ORCA_{section.upper()}_"
        if not variable.startswith(prefix):
            continue
        rest = variable.removeprefix(prefix).lower()
        known = [key.name for key in fields(kind)]
        if section in _SECTIONS:
            if rest in known:
                return section, "", rest
            names = [prefix + key.upper() for key in known]
            raise ConfigError(f"environment variable {variable}: no such key{_nearest(variable, names)}")
        for key in known:
            name = rest.removesuffix(f"_{key}")
            if name and name != rest:
                labels = [label for table, label in tables if table == section]
                return section, next((label for label in labels if _folded(label) == name), name), key
        raise ConfigError(f"environment variable {variable}: must end in one of {', '.join(known).upper()}")
    return None


def _folded(label: str) -> str:
    return re.sub(r"\W", "_", label.lower())


def _build(kind: type[Any], given: _Keys) -> Any:
    checked = {}
    for key in fields(kind):
        if key.name in given:
            spec: values.Kind = key.metadata["kind"]
            try:
                checked[key.name] = spec.check(given[key.name].value)
            except (ValueError, TypeError) as error:
                raise ConfigError(_refusal(given[key.name], spec)) from error
    return kind(**checked)


def _refusal(given: _Given, spec: values.Kind) -> str:
    shown = "" if spec.secret else f" = {given.value!r}"
    return f"{given.origin}{shown}: must be {spec.allowed}"


def _with_language(settings: Settings, environ: Mapping[str, str]) -> Settings:
    if settings.cli.language != "auto":
        return settings
    return replace(settings, cli=CLISettings(language=language(environ)))


_exposed: set[Path] = set()


def _warn_if_exposed(path: Path, given: Mapping[tuple[str, str], _Keys]) -> None:
    """Warn once a process when others on this machine can read the keys in the file."""
    if os.name != "posix" or path in _exposed:
        return
    secrets = any(name in ("api_key", "env", "headers") for keys in given.values() for name in keys)
    if secrets and path.stat().st_mode & stat.S_IROTH:
        _exposed.add(path)
        logger.warning(
            "%s holds a key and everyone on this machine can read it; run: chmod 600 %s", path, path
        )
