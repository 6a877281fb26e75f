"""The shared folder as WsgiDAV's request handling sees it."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from wsgidav.dav_provider import DAVCollection, DAVProvider
from wsgidav.xml_tools import etree

from conduck_service.files.dav.lockmanager import LockManager
from conduck_service.files.dav.locks import Locks
from conduck_service.files.disk.copying import Copying
from conduck_service.files.disk.failures import Failures
from conduck_service.files.disk.moving import move
from conduck_service.files.disk.paths import Place, parse_place
from conduck_service.files.disk.properties import Properties
from conduck_service.files.disk.removing import remove
from conduck_service.files.disk.staging import Staged
from conduck_service.files.disk.targets import (
    check_replaceable,
    open_target,
    parent_missing,
)
from conduck_service.files.disk.tree import Spot, Tree
from conduck_service.files.errors import Headers, LaneError, forbidden, from_system
from conduck_service.files.request import LaneRequest

CALL = "conduck.call"
"""Where the environ holds the :class:`Call`."""

ALLOW = (
    "OPTIONS, GET, HEAD, PUT, DELETE, PROPFIND, PROPPATCH, MKCOL, COPY, MOVE, LOCK, "
    "UNLOCK"
)


@dataclass(slots=True)
class Call:
    """One request on its way through WsgiDAV.

    Attributes:
        request: The request.
        tokens: Lock tokens that it shows.
        destination: Where a COPY or MOVE leads.
        outcome: What was done, once something was: whether a new name came to
            be, and what failed.
        error: Why nothing was done.
        is_exclusive: Whether a LOCK is to be the only one.
    """

    request: LaneRequest
    tokens: Collection[str]
    destination: Place | None = None
    outcome: tuple[bool, Failures] | None = None
    error: LaneError | None = None
    is_exclusive: bool = False

    @property
    def may_overwrite(self) -> bool:
        """Whether the destination may be replaced; its header was checked."""
        return (self.request.header("OVERWRITE") or "T").strip().upper() != "F"


def as_path(place: Place) -> str:
    """Return the name of a place within WsgiDAV: its href, still encoded.

    Without a semicolon, which would be taken for the start of parameters.
    """
    return place.href.replace(";", "%3B")


class LaneProvider(DAVProvider):  # type: ignore[misc]  # it has no types
    """Finds files and folders and has the locks.

    Args:
        tree: The shared folder.
        locks: Its locks.
        properties: Its stored properties.
    """

    def __init__(self, tree: Tree, locks: Locks, properties: Properties) -> None:
        super().__init__()
        self.set_share_path("")
        self.set_lock_manager(LockManager(locks))
        self.tree = tree
        self.locks = locks
        self.properties = properties

    def get_resource_inst(self, path: str, environ: dict[str, Any]) -> Resource | None:
        """Return the file or folder at a path; None for anything else.

        Raises:
            LaneError: It cannot be told what is there.
        """
        place = parse_place(path)
        try:
            found = self.tree.find(place)
        except LaneError as error:
            if error.status is HTTPStatus.NOT_FOUND:
                return None
            raise
        return Resource(self, place, found, environ)

    def ref_url_to_path(self, ref_url: str) -> str:
        """Return the path of a lock's root, which is the same here."""
        return ref_url


class Resource(DAVCollection):  # type: ignore[misc]  # it has no types
    """A file or a folder.

    What is done to it is done here as a whole, in place of WsgiDAV's way of
    taking a tree apart. The outcome is left in the :class:`Call`.
    """

    def __init__(
        self,
        provider: LaneProvider,
        place: Place,
        found: os.stat_result,
        environ: dict[str, Any],
    ) -> None:
        super().__init__(as_path(place), environ)
        self.is_collection = stat.S_ISDIR(found.st_mode)
        self._lane = provider
        self._place = place
        self._found = found
        self._call: Call = environ[CALL]

    def get_member_names(self) -> list[str]:
        """Return nothing: trees are not taken apart by WsgiDAV."""
        return []

    def get_ref_url(self) -> str:
        """Return the path, which is what locks are kept by."""
        return as_path(self._place)

    def get_href(self) -> str:
        """Return the path."""
        return self._place.href

    def get_property_value(self, name: str) -> Any:
        """Return a stand-in: the locks are told by whoever answers."""
        return etree.Element(name)

    def create_collection(self, name: str) -> None:
        """Make the folder that the request asks for.

        Raises:
            LaneError: 405, the name is taken; 409, this folder is gone.
        """
        del name  # the last step of the request's own path
        place = self._call.request.place
        self._lane.locks.check(place.names, self._call.tokens)
        with _making(self._lane.tree, place) as spot:
            try:
                self._lane.tree.make_folder(spot)
            except FileExistsError:
                raise name_taken() from None

    def create_empty_resource(self, name: str) -> Resource:
        """Make the empty file that the request wants to lock.

        Raises:
            LaneError: 423, it could not be locked.
        """
        del name
        request, locks = self._call.request, self._lane.locks
        request.place.check_creatable()
        if request.place.is_folder:
            raise name_taken()
        locks.check(self._place.names, self._call.tokens)
        # Before there is a file that nobody asked for.
        exclusive = self._call.is_exclusive
        locks.check_free(request.place, exclusive=exclusive, deep=False)
        with (
            _making(self._lane.tree, request.place) as spot,
            Staged(spot.folder, self._lane.tree.file_mode) as staged,
        ):
            staged.put(spot.name, replace=False)
            found = os.fstat(staged.descriptor)
        return Resource(self._lane, request.place, found, self.environ)

    def handle_delete(self) -> bool:
        """Remove this."""
        names = self._place.names
        with (
            self._acting(),
            self._lane.locks.writing(names, self._call.tokens, deep=True),
        ):
            with self._lane.tree.open_spot(self._place) as spot:
                failures = remove(spot, self._place)
            if not failures:
                self._lane.locks.release_all(names)
            self._call.outcome = (False, failures)
        return True

    def handle_move(self, dest_path: str) -> bool:
        """Move this to where the request says."""
        del dest_path
        names = self._place.names
        lane, call = self._lane, self._call
        with self._acting(), lane.locks.writing(names, call.tokens, deep=True):
            with self._heading() as (source, target, destination):
                is_new = move(source, target, overwrite=call.may_overwrite)
            call.outcome = is_new, Failures(self._place)
            lane.locks.release_all(names)
            lane.locks.release_all(destination.names, itself=False)
        return True

    def handle_copy(self, dest_path: str, *, depth_infinity: bool) -> bool:
        """Copy this to where the request says."""
        del dest_path
        lane, call = self._lane, self._call
        copying = Copying(lane.tree, lane.properties)
        with self._acting(), self._heading() as (source, target, destination):
            if self.is_collection:
                call.outcome = copying.copy_folder(
                    source,
                    target,
                    self._place,
                    overwrite=call.may_overwrite,
                    deep=depth_infinity,
                )
            else:
                is_new = copying.copy_file(source, target, overwrite=call.may_overwrite)
                call.outcome = is_new, Failures(self._place)
            lane.locks.release_all(destination.names, itself=False)
        return True

    @contextmanager
    def _acting(self) -> Iterator[None]:
        """Keep what goes wrong for the answer; WsgiDAV would make it a 500."""
        try:
            yield
        except LaneError as error:
            self._call.error = error
        except OSError as error:
            self._call.error = from_system(error)

    @contextmanager
    def _heading(self) -> Iterator[tuple[Spot, Spot, Place]]:
        """Give where this is, and where it is to be."""
        lane, destination = self._lane, self._call.destination
        assert destination is not None
        names = destination.names
        if self._place.names[: len(names)] == names:
            raise forbidden(
                "the destination holds what is to be put there; choose another"
            )
        with (
            lane.locks.writing(names, self._call.tokens, deep=True),
            lane.tree.open_spot(self._place) as source,
            open_target(lane.tree, destination) as target,
        ):
            check_replaceable(destination, target.look(), self._found)
            yield source, target, destination


def name_taken() -> LaneError:
    """Return the refusal of making a folder where there is something."""
    allow: Headers = (("Allow", ALLOW),)
    return LaneError(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "already_there",
        "there is something of this name already; choose another, or remove it first",
        headers=allow,
    )


@contextmanager
def _making(tree: Tree, place: Place) -> Iterator[Spot]:
    try:
        with open_target(tree, place) as spot:
            yield spot
    except FileNotFoundError as error:
        raise parent_missing() from error
    except OSError as error:
        raise from_system(error) from error
