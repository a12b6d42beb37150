"""Tables served to every engine: a read-only Iceberg REST catalog whose plans come from the indexes."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .agents.places import AgentPlaces as AgentPlaces
    from .agents.server import serve_agents as serve_agents
    from .agents.tools import BUDGET as BUDGET
    from .agents.tools import Agents as Agents
    from .catalog import Catalog as Catalog
    from .clients import Client as Client
    from .refusal import Refusal as Refusal
    from .served import ServedSnapshot as ServedSnapshot
    from .served import ServedTable as ServedTable
    from .server import Server as Server
    from .server import open_server as open_server
    from .server import token_in as token_in

__getattr__, __dir__ = door(__name__)
