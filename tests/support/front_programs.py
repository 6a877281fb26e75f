"""Caddy and nginx in front of a service, configured by the blocks of our own page.

Only what depends on the machine is put in: ports, the certificate, temporary folders.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.certificates import certificate
from tests.support.service import Service, free_port, variables, wait_until
from tests.support.trace import ROOT

PAGE = ROOT / "docs/howto/expose.md"
NAMES = ("caddy", "nginx")
_LANGUAGE = {"caddy": "caddyfile", "nginx": "nginx"}

_NGINX = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
{user}
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{block}
}}
"""
_CADDY = """
{{
	admin off
	auto_https off
}}
{block}
"""


@dataclass(frozen=True, slots=True)
class Fronted:
    """A front that runs.

    Attributes:
        chat_port: Where it speaks HTTPS for chat, as ``localhost``.
        files_port: The same for the file lane.
        certificate: The one to trust.
        folder: Its own files.
    """

    chat_port: int
    files_port: int
    certificate: Path
    folder: Path

    @property
    def chat(self) -> str:
        """Address of chat."""
        return f"https://localhost:{self.chat_port}"

    @property
    def files(self) -> str:
        """Address of the file lane."""
        return f"https://localhost:{self.files_port}"

    @property
    def trusted(self) -> ssl.SSLContext:
        """What trusts its certificate."""
        return ssl.create_default_context(cafile=self.certificate)


def program_of(name: str) -> str:
    """Return the program; skip the test where it is not installed."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def block_of(name: str) -> str:
    """Return the configuration of a program that the page shows."""
    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(rf"```{_LANGUAGE[name]}\n(.*?)```", text, re.DOTALL)
    return str(block)


@contextmanager
def fronted(
    name: str, service: Service, folder: Path, *changes: tuple[str, str]
) -> Iterator[Fronted]:
    """Run a front of a service for the block.

    Args:
        name: Of the program.
        service: A running service with a file lane.
        folder: An empty one.
        changes: What to write otherwise than the page does.
    """
    program, block = program_of(name), block_of(name)
    for old, new in changes:
        assert old in block, old
        block = block.replace(old, new)
    made, key = certificate(folder)
    front = Fronted(free_port(), free_port(), made, folder)
    block = block.replace("127.0.0.1:8480", f"127.0.0.1:{service.port}")
    block = block.replace("127.0.0.1:8481", f"127.0.0.1:{service.files_port}")
    written = folder / "front.conf"
    if name == "nginx":
        written.write_text(_for_nginx(block, front, key))
        argv = [
            program,
            "-p",
            str(folder),
            "-e",
            f"{folder}/error.log",
            "-c",
            str(written),
        ]
    else:
        written.write_text(_for_caddy(block, front, key))
        argv = [program, "run", "--adapter", "caddyfile", "--config", str(written)]
    environment = variables({"HOME": str(folder), "XDG_DATA_HOME": str(folder)})
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(argv, env=environment, stdout=log, stderr=log)
    try:
        wait_until(lambda: _listens(front) or process.poll() is not None)
        assert process.poll() is None, (folder / "log").read_text()
        yield front
    finally:
        process.terminate()
        process.wait(20)


def _listens(front: Fronted) -> bool:
    try:
        for port in (front.chat_port, front.files_port):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _for_nginx(block: str, front: Fronted, key: Path) -> str:
    for port in (front.chat_port, front.files_port):
        block = block.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl", 1)
    block = re.sub(r"server_name \S+;", "server_name localhost;", block)
    block = re.sub(r"(ssl_certificate) \S+;", rf"\1 {front.certificate};", block)
    block = re.sub(r"(ssl_certificate_key) \S+;", rf"\1 {key};", block)
    user = "user root;" if os.geteuid() == 0 else ""
    return _NGINX.format(block=block, folder=front.folder, user=user)


def _for_caddy(block: str, front: Fronted, key: Path) -> str:
    ports = {"chat": front.chat_port, "files": front.files_port}
    for word, port in ports.items():
        site = f"https://localhost:{port} {{\n\tbind 127.0.0.1\n"
        site += f"\ttls {front.certificate} {key}\n"
        block = block.replace(f"{word}.example.org {{\n", site)
    return _CADDY.format(block=block)
