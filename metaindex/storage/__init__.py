"""Bytes at a place: list, read ranges, create if absent; local disks, object stores, confinement."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .confinement import Confines as Confines
    from .confinement import confined as confined
    from .errors import clean as clean
    from .errors import without_user as without_user
    from .local import LocalStorage as LocalStorage
    from .local_paths import local_path as local_path
    from .opening import above as above
    from .opening import beside as beside
    from .opening import both_at as both_at
    from .opening import each_at as each_at
    from .opening import holding_ends as holding_ends
    from .opening import is_path as is_path
    from .opening import is_remote as is_remote
    from .opening import name_of as name_of
    from .opening import opening_whole as opening_whole
    from .opening import parent_of as parent_of
    from .opening import storage_for as storage_for
    from .own import meant_by as meant_by
    from .own import own_folder as own_folder
    from .protocol import Glance as Glance
    from .protocol import Glances as Glances
    from .protocol import KeepsLeftovers as KeepsLeftovers
    from .protocol import ObjectInfo as ObjectInfo
    from .protocol import Storage as Storage
    from .protocol import SupportsIdentity as SupportsIdentity
    from .protocol import SupportsVersions as SupportsVersions
    from .protocol import back_off as back_off

__getattr__, __dir__ = door(__name__)
