"""A catalog of pyiceberg on its way to another process."""

from __future__ import annotations

from collections.abc import Mapping


class SentCatalog:
    """Pickles as the catalog's name and properties, and unpickles as the catalog that pyiceberg loads with them. Any
    other catalog is pickled as it is."""

    def __init__(self, catalog: object) -> None:
        self._catalog = catalog

    def __reduce__(self) -> tuple[object, ...]:
        name, properties = getattr(self._catalog, "name", None), getattr(self._catalog, "properties", None)
        if isinstance(name, str) and isinstance(properties, Mapping):
            return _loaded, (name, dict(properties), type(self._catalog))
        return _as_it_is, (self._catalog,)


def _loaded(name: str, properties: dict[str, str], kind: type) -> object:
    return kind(name, **properties)


def _as_it_is(catalog: object) -> object:
    return catalog
