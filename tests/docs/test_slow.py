"""What pages tell people to do with programs that come from elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conduck_service import __version__
from tests.support.reader import Reader, following, reading
from tests.support.trace import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() == 0, reason="no reader is root"),
]

OF_INSTALLERS = ("PIP_", "UV_", "SSL_", "HTTP_", "HTTPS_", "NO_PROXY")


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    names = [name for name in os.environ if name.upper().startswith(OF_INSTALLERS)]
    more = {name: os.environ[name] for name in names}
    with reading(tmp_path, more, seconds=300) as it:
        yield it


def test_a_file_goes_in_with_rclone(reader: Reader) -> None:
    folder = os.environ.get("CONDUCK_TOOLS", "")
    if shutil.which("rclone", path=f"{folder}:{os.environ['PATH']}") is None:
        pytest.skip("rclone is not there; CONDUCK_TOOLS names its folder")
    reader.run("make run")
    reader.write("report.pdf", "a report")
    secrets = "conduck-demo/config/secrets.json"
    pattern = 's/.*"files_password": "\\([^"]*\\)".*/\\1/p'
    reader.run(f"PATH='{folder}':$PATH; PASSWORD=$(sed -n '{pattern}' {secrets})")
    with following(reader, "docs/howto/files.md", "slow"):
        pass
    sent = reader.checkout / "conduck-demo/folder/inbox/report.pdf"
    assert sent.read_text("utf-8") == "a report"


def test_it_is_installed_and_upgraded_from_a_clone(
    reader: Reader, tmp_path: Path
) -> None:
    installers = tmp_path / "installers"
    subprocess.run([sys.executable, "-m", "venv", installers], check=True)
    pip = f"{installers}/bin/pip"
    subprocess.run([pip, "install", "--quiet", "pipx==1.*", "uv"], check=True)
    ignored = shutil.ignore_patterns("__pycache__")
    package = "conduck_service"
    shutil.copytree(ROOT / package, reader.checkout / package, ignore=ignored)
    shutil.copy(ROOT / "LICENSE", reader.checkout)
    reader.run(f"PATH={installers}/bin:$PATH:$HOME/.local/bin")
    with following(reader, "docs/quickstart.md", "slow") as page:
        page.do()
    assert installed(reader)
    with following(reader, "docs/howto/upgrade.md", "slow") as page:
        page.do()
    assert installed(reader)
    with following(reader, "docs/howto/install.md", "slow") as page:
        page.do()
        reader.run("pipx uninstall conduck-service")
        assert not installed(reader)
        page.do()
    assert installed(reader)


def installed(reader: Reader) -> bool:
    """Say whether the reader's own programs are there; they have to work then."""
    if not (reader.home / ".local/bin/open-conduit").exists():
        return False
    for name in ("open-conduit", "conduck", "os"):
        said = reader.run(f"cd; .local/bin/{name} --version; cd '{reader.checkout}'")
        assert said.endswith(f"{__version__}\n")
    return True
