"""A file lane of a scope, as it runs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Protocol

from conduck_service.base.ports import why_not_bound
from conduck_service.domain.scope import ExtensionEntry
from conduck_service.extension.ingress import IngressContext, StartError
from conduck_service.files.app import Handler, Lane
from conduck_service.files.dav.listing import Listing
from conduck_service.files.dav.webdav import METHODS, WebDav
from conduck_service.files.disk.tree import Tree
from conduck_service.files.errors import LaneDialect, LaneError
from conduck_service.files.gate import basic_gate
from conduck_service.files.reading import Reading
from conduck_service.files.request import Answer, LaneRequest
from conduck_service.files.settings import FilesConfig
from conduck_service.files.transfers import SLOW_ANSWERS, WORKERS, TransferRoom
from conduck_service.files.upkeep.folder import check_at_start
from conduck_service.files.upkeep.leftovers import Leftovers
from conduck_service.files.upkeep.retention import Retention
from conduck_service.files.upkeep.watch import Watcher
from conduck_service.files.uploads import Uploads
from conduck_service.serving.bearer import renewed_gate
from conduck_service.serving.server import Server

KEEP_SECONDS = 75.0
"""How long an idle connection is kept; longer than proxies keep theirs."""


class Helper(Protocol):
    """Something that goes on beside the serving."""

    def start(self) -> None:
        """Begin; returns at once."""
        ...

    def stop(self) -> None:
        """End; returns when it has."""
        ...


class FilesIngress:
    """A file lane with its own port, password and folder.

    Keeps: F-NET-01, F-NET-03, F-CORE-03.
    """

    def __init__(self, entry: ExtensionEntry, context: IngressContext) -> None:
        config: FilesConfig = entry.config
        root = context.scope.folder
        assert root is not None
        self._config = config
        self._root = root
        self._context = context
        self._closing = threading.Event()
        tree = Tree(
            root,
            file_mode=config.file_mode,
            folder_mode=config.folder_mode,
            is_closing=self._closing.is_set,
        )
        self._watcher = Watcher(
            root, mends=config.is_shared, since_turn=context.since_turn
        )
        self._helpers: list[Helper] = [self._watcher, Leftovers(tree)]
        is_enabled = context.scope.enabled
        if not is_enabled:
            self._helpers = []
        elif config.keep_days is not None:
            self._helpers.append(
                Retention(root, config.keep_days, context.turns_running, context.clock)
            )
        self._port = config.port
        self._server = Server(
            _lane(tree, config, self._watcher.note) if is_enabled else _closed_lane(),
            port=config.port,
            gate=renewed_gate(self._password, basic_gate),
            dialect=LaneDialect(),
            workers=WORKERS,
            slow_answers=SLOW_ANSWERS,
            idle_seconds=config.idle_seconds,
            keep_seconds=KEEP_SECONDS,
            route_of=lambda _: "files",  # F-SEC-02
            name=entry.name,
        )

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Look at the folder, bind and begin to serve."""
        check_at_start(self._root, self._config)
        try:
            self._server.start()
        except OSError as error:
            raise StartError(why_not_bound(self._port, error, "")) from error
        for helper in self._helpers:
            helper.start()

    def answers(self, seconds: float) -> bool:
        """Say whether connections are attended to."""
        return self._server.answers(seconds)

    def close_doors(self) -> None:
        """Refuse new connections from now on."""
        self._server.close_doors()

    def stop(self) -> None:
        """End serving; transfers under way have what is left of the grace."""
        self._server.stop(patience=self._has_patience)
        for helper in self._helpers:
            helper.stop()

    def _password(self) -> bytes | None:
        """Return the password; without one the gate lets nobody in."""
        value = self._context.secret(self._config.password_secret)
        return os.fsencode(value) if value else None

    def _has_patience(self) -> bool:
        if self._context.has_grace():
            return True
        self._closing.set()
        return False


def _lane(
    tree: Tree, config: FilesConfig, note: Callable[[os.stat_result], None]
) -> Lane:
    room = TransferRoom()
    webdav = WebDav(tree)
    reading = Reading(tree, room)
    uploads = Uploads(tree, webdav, max_bytes=config.max_upload_bytes, note=note)
    handlers: dict[str, Handler] = dict.fromkeys(METHODS, webdav.answer)
    handlers |= {
        "GET": reading.answer,
        "HEAD": reading.answer,
        "PUT": uploads.answer,
        "PROPFIND": Listing(tree, webdav).answer,
    }
    return Lane(handlers, room)


def _closed_lane() -> Lane:
    """Return a lane that refuses whatever it is asked for (F-CORE-01, B-SCOPE-04)."""

    def refuse(_request: LaneRequest) -> Answer:
        raise LaneError(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "switched_off",
            "this service is switched off at the moment",
            headers=(("Retry-After", "60"),),
        )

    methods = (*METHODS, "GET", "HEAD", "PUT", "PROPFIND")
    return Lane(dict.fromkeys(methods, refuse), TransferRoom())
