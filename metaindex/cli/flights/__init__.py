"""The demo: a year of real flights as four tables, indexed, queried, changed, queried again; every answer compared."""

from .story import run_demo

__all__ = ["run_demo"]
