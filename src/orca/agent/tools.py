"""Tools: what an agent can do, described for a model and run for it.

A handler gets the parsed arguments and a ``ToolContext``, may be a coroutine or plain (plain ones run in threads),
and returns anything: text as it is, other values as JSON. What it raises becomes a result that the model reads.
``tool`` makes a ``Tool`` of an ordinary function with type hints.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_type_hints, overload

import pydantic

from orca.errors import ConfigError, ToolError
from orca.text.jsonable import to_json
from orca.types import Scope

if TYPE_CHECKING:
    from orca.agent.handles import Handles
    from orca.agent.model import ToolSchema
    from orca.memory.manager import MemoryManager

MAX_RESULT_CHARACTERS = 32_000
"""Longest result of a tool, about 8K tokens of English; what is beyond is cut and marked. The prompt may cut more."""

DEFAULT_TIMEOUT_SECONDS = 120.0
"""How long a tool may take unless it says otherwise."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what the APIs allow

Handler = Callable[[Mapping[str, Any], "ToolContext"], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A tool call that waits for somebody's yes."""

    tool: str
    arguments: Mapping[str, Any]
    agent: str
    scope: Scope


Confirm = Callable[[Confirmation], Awaitable[bool]]
"""Asks somebody about a tool call; true lets it run."""


async def nobody_confirms(confirmation: Confirmation) -> bool:
    """Refuse: there is nobody to ask."""
    del confirmation
    return False


def _nobody_listens(event: object) -> None:
    del event


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool knows about the call it serves.

    Attributes:
        scope: Whose conversation this is.
        memory: The memory, or None for a sub-agent that may not read it.
        agent: The path of the calling agent: ``main``, ``main/coder``.
        run_id: The sub-agent run that the call belongs to, or None in the main conversation.
        message_id: The id of the stored message of the main conversation under which this happens.
        question_id: The id of the user's message that the turn answers, or None.
        call_id: The call's id, unique within its turn.
        depth: How deep the calling agent is nested; 0 is the main one.
        handles: The small numbers under which this turn's memory tools speak of stored rows.
        confirm: Asks the person in front about this call.
        emit: Shows a line of progress; safe from any thread.
        publish: Hands an event of ``orca.agent.events`` to the stream; safe from any thread.
        cancelled: Set when the call is abandoned. A plain handler that takes long should look at it.

    """

    scope: Scope
    memory: MemoryManager | None
    handles: Handles
    agent: str = "main"
    run_id: int | None = None
    message_id: int | None = None
    question_id: int | None = None
    call_id: str = ""
    depth: int = 0
    confirm: Confirm = nobody_confirms
    emit: Callable[[str], None] = _nobody_listens
    publish: Callable[[Any], None] = _nobody_listens
    cancelled: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Something that a model may ask for.

    ``parameters`` is the JSON schema of an object. ``confirm`` asks a person before each call; without anybody to
    ask the call is refused. ``timeout_seconds`` None sets no limit. Raises ``ConfigError`` for a name that the
    APIs do not take.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    handler: Handler
    confirm: bool = False
    timeout_seconds: float | None = DEFAULT_TIMEOUT_SECONDS

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(
                f"tool name {self.name!r}: use 1 to 64 ASCII letters, digits, underscores and hyphens"
            )

    @property
    def schema(self) -> ToolSchema:
        """The tool as chat APIs take it."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        return {"type": "function", "function": function}


class ToolBox:
    """Tools under names that are unique, in the order given."""

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        """Take tools, and plain functions as ``tool`` makes them. Raises ``ConfigError`` on a repeated name."""
        self._tools: dict[str, Tool] = {}
        for given in tools:
            made = given if isinstance(given, Tool) else tool(given)
            if made.name in self._tools:
                raise ConfigError(f"there are two tools named {made.name!r}")
            self._tools[made.name] = made

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self._tools.get(name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._tools)

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """The tools as chat APIs take them; always the same bytes, so that prompt caches hold."""
        return tuple(one.schema for one in self)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    confirm: bool = False,
    timeout_seconds: float | None = DEFAULT_TIMEOUT_SECONDS,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    confirm: bool = False,
    timeout_seconds: float | None = DEFAULT_TIMEOUT_SECONDS,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function: name, docstring and type hints become name, description and JSON schema.

    A parameter annotated as ``ToolContext`` gets the context and is not shown to the model. ``Annotated[…,
    pydantic.Field(description=…)]`` describes a parameter. Arguments are validated by pydantic before the
    function sees them. Raises ``ConfigError`` for a parameter without a type, and for ``*args``.
    """

    def make(function: Callable[..., Any]) -> Tool:
        signature = _signature(function)
        return Tool(
            name=name or function.__name__,
            description=description or inspect.getdoc(function) or "",
            parameters=_schema(signature.model),
            handler=_handler(function, signature),
            confirm=confirm,
            timeout_seconds=timeout_seconds,
        )

    return make if function is None else make(function)


def result_text(value: object) -> str:
    """Return a handler's value as the text of a result, cut at ``MAX_RESULT_CHARACTERS`` with a mark."""
    if value is None:
        return "(no result)"
    if isinstance(value, pydantic.BaseModel):
        value = value.model_dump(mode="json")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    text = value if isinstance(value, str) else to_json(value, where="the result")
    return bounded(text or "(empty)")


def bounded(text: str, limit: int = MAX_RESULT_CHARACTERS) -> str:
    """Return ``text`` of at most ``limit`` characters and the mark that says how many are missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n…[cut: {len(text) - limit} more characters]"


@dataclass(frozen=True, slots=True)
class _Signature:
    """A function's parameters as a pydantic model. ``fields`` maps the model's fields to parameters."""

    model: type[pydantic.BaseModel]
    fields: Mapping[str, str]
    context: str | None


def _signature(function: Callable[..., Any]) -> _Signature:
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigError(f"tool {function.__name__}: a type is not known at run time: {error}") from error
    given: dict[str, Any] = {}
    names: dict[str, str] = {}
    context = None
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if hint is ToolContext:
            context = parameter.name
            continue
        if hint is None or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ConfigError(
                f"tool {function.__name__}: parameter {parameter.name!r} needs a name and a type"
            )
        default = ... if parameter.default is parameter.empty else parameter.default
        # Under a name of its own: a parameter called "json" or "_x" would meet pydantic's.
        field_name = f"parameter_{len(names)}"
        names[field_name] = parameter.name
        given[field_name] = (hint, pydantic.Field(default, alias=parameter.name))
    config = pydantic.ConfigDict(extra="forbid")
    model = pydantic.create_model(f"{function.__name__}_arguments", __config__=config, **given)
    return _Signature(model, names, context)


def _schema(model: type[pydantic.BaseModel]) -> dict[str, Any]:
    """Return the JSON schema without the titles, which repeat the names."""
    schema = {key: value for key, value in model.model_json_schema().items() if key != "title"}
    properties = schema.get("properties", {})
    schema["properties"] = {
        name: {key: value for key, value in about.items() if key != "title"}
        for name, about in properties.items()
    }
    return schema


def _handler(function: Callable[..., Any], signature: _Signature) -> Handler:
    def call(arguments: Mapping[str, Any], context: ToolContext) -> Any:
        try:
            checked = signature.model.model_validate(dict(arguments))
        except pydantic.ValidationError as error:
            raise ToolError(f"the arguments do not fit: {_faults(error)}") from error
        given = {name: getattr(checked, field_name) for field_name, name in signature.fields.items()}
        if signature.context is not None:
            given[signature.context] = context
        return function(**given)

    if not inspect.iscoroutinefunction(function):
        return call

    async def call_async(arguments: Mapping[str, Any], context: ToolContext) -> Any:
        return await call(arguments, context)

    return call_async


def _faults(error: pydantic.ValidationError) -> str:
    faults = [
        f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return "; ".join(faults[:8])
