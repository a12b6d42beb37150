"""The tools by the Model Context Protocol, over standard input and output, with the official SDK."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from metaindex.core import MissingDependencyError

from .tools import TOOLS, Agents

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

_AT_ONCE: Final = 2
"""Calls that are answered side by side. One that its client gave up keeps its place until it ends."""
_LEAST_MEMORY: Final = 4 << 30  # of which allocators reserve one or two that they never use
_UNPACKED: Final = 16
"""How many times its budget a server may take of memory: a file of a few bytes may unpack to all of a machine's."""
_ABOUT: Final = (
    "Tables of a data lake and their indexes, read only. Begin with tables, then schema. prune shows what a question"
    " costs before you ask it. A call that would read more than its budget is refused before anything is read, and"
    " names indexes that may help."
)


def serve_agents(agents: Agents, version: str) -> None:
    """Serve the tools on standard input and output until the input ends. From then on the memory of this process is
    bounded, by the budget. `version`: of the server, for clients. Raises MissingDependencyError."""
    try:
        import anyio

        server = _server(agents, version)
    except ImportError as error:
        raise MissingDependencyError.lacking("a server for agents", "mcp") from error
    _bound_memory(_LEAST_MEMORY + _UNPACKED * agents.budget_bytes)
    anyio.run(partial(_run, server))


def _bound_memory(most: int) -> None:
    """Let no more be taken by this process: what would is an error, of one call. On Linux."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        now, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if now == resource.RLIM_INFINITY or now > most:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    pa.set_memory_pool(pa.system_memory_pool())  # which gives back what is freed


async def _run(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


def _server(agents: Agents, version: str) -> Server[Any]:
    import mcp_types as types
    from anyio import CapacityLimiter, to_thread
    from mcp.server.lowlevel import Server

    limiter: list[CapacityLimiter] = []  # made where it is used: in the running loop
    reads = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    listed = [
        types.Tool(name=tool.name, description=tool.about, input_schema=tool.schema, annotations=reads)
        for tool in TOOLS
    ]

    async def tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        limiter[:] = limiter or [CapacityLimiter(_AT_ONCE)]
        told = await to_thread.run_sync(agents.call, params.name, params.arguments, limiter=limiter[0])
        text = types.TextContent(text=told.text)
        return types.CallToolResult(content=[text], structured_content=told.data, is_error=told.refused)

    return Server("metaindex", version=version, instructions=_ABOUT, on_list_tools=tools, on_call_tool=call)
