"""A family on one machine: the household example, as it is served."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import requests

from tests.support import examples
from tests.support.service import (
    Service,
    free_port,
    started,
    variables,
    write_private,
)

PORTS = range(8480, 8486)
WHO = {"family": 8480, "anna": 8482, "ben": 8484}


def _household(root: Path) -> tuple[Service, dict[int, int]]:
    """Return the service with free ports for those of the example."""
    file = examples.placed(examples.FOLDER / "household.json", root)
    ports = {port: free_port() for port in PORTS}
    text = re.sub(r"848\d", lambda x: str(ports[int(x[0])]), file.read_text("utf-8"))
    write_private(file, json.loads(text))
    for name in ("quick", "careful"):
        program = root / "me/agent" / f"{name}.sh"
        program.write_text(f"#!/bin/sh\ncat >/dev/null; echo {name} in $PWD\n")
    names = [f"{who}_{what}" for who in WHO for what in ("token", "password")]
    write_private(file.parent / "secrets.json", {name: f"of-{name}" for name in names})
    (root / "state").mkdir(mode=0o700)
    return Service(root, ports[8480], variables({"HOME": str(root / "me")})), ports


def test_each_has_a_door_a_token_and_a_folder(
    tmp_path: Path,
) -> None:
    service, ports = _household(tmp_path)
    with started(service):
        for who, port in WHO.items():
            service.port = ports[port]
            for other in WHO:
                service.token = f"of-{other}_token"
                assert service.models().status_code == (200 if other == who else 401)
            service.token = f"of-{who}_token"
            folder = service.root / "me/Conduck" / who
            wanted = f"quick in {os.path.realpath(folder)}"
            assert service.chat("where?", model="quick").strip() == wanted
            # A door with one model takes any name for it.
            careful = service.chat("where?", model="careful").partition(" ")[0]
            assert careful == ("quick" if who == "ben" else "careful")
            _check_files(ports[port + 1], who, folder)


def _check_files(port: int, who: str, folder: Path) -> None:
    (folder / "note.txt").write_text(f"for {who}")
    for other in WHO:
        response = requests.get(
            f"http://127.0.0.1:{port}/note.txt",
            auth=("conduck", f"of-{other}_password"),
            timeout=30,
        )
        if other == who:
            assert response.text == f"for {who}"
        else:
            assert response.status_code == 401
