"""The main job: a year of real flights as four tables, indexed, asked, changed, asked again; every answer compared."""

from .story import run_demo

__all__ = ["run_demo"]
