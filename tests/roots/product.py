"""What a person does with the package and the service in a machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.roots.machine import Machine, booted
from tests.support.service import user as message

UNIT = "conduck"
HOME = "/var/lib/conduck"
SHARED = "/srv/conduck"
ROBOT = "/usr/local/bin/robot"
CHAT = "http://127.0.0.1:8480"
LANE = "http://127.0.0.1:8481"

_SOURCE = Path(__file__).with_name("robot.py")
_VOLATILE = (
    "/var/log/",
    "/var/cache/",
    "/var/lib/apt/",
    "/var/lib/systemd/",
    "/root/",
    "/var/tmp/",
)
_VOLATILE_NAMES = (
    "/var/lib/dpkg/",
    "/etc/passwd-",
    "/etc/group-",
    "/etc/shadow-",
    "/etc/gshadow-",
)


class Product:
    """A machine in which the package is installed, and how it is used there.

    Attributes:
        machine: The running root; another after :meth:`reboot`.
    """

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self._root = root
        self._stack = stack
        node = shutil.which("node")
        self.has_node = node is not None
        self._binds = (f"{Path(node).resolve()}:/usr/local/bin/node",) if node else ()
        self.machine = self._boot()

    def _boot(self) -> Machine:
        return self._stack.enter_context(booted(self._root, *self._binds))

    def reboot(self) -> None:
        """Stop the machine in order, and start it again."""
        self._stack.close()
        self.machine = self._boot()

    def put(self, inside: str, text: str, mode: int = 0o644) -> None:
        """Write a file of root's."""
        path = self.machine.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        path.chmod(mode)

    def put_robot(self, inside: str = ROBOT) -> None:
        """Install the engine of the stories."""
        self.put(inside, _SOURCE.read_text("utf-8"), 0o755)

    def install(self, package: Path) -> str:
        """Install a package as its reader would; return what was said."""
        name = f"/root/{package.name}"
        shutil.copy(package, self.machine.path(name))
        apt = ("apt-get", "install", "-y", "--allow-downgrades", name)
        return self.machine.says(*apt)

    @property
    def version(self) -> str:
        """The version that is installed."""
        words = ("dpkg-query", "-W", "-f", "${Version}", "conduck")
        return self.machine.says(*words)

    def unit(self, name: str) -> str:
        """Return a property of the service."""
        return self.machine.show(UNIT, name)

    @property
    def process(self) -> int:
        """The daemon, as numbered in the machine; 0 when it does not run."""
        return int(self.unit("MainPID"))

    def status(self) -> dict[str, str]:
        """Return what the kernel says of the daemon."""
        text = self.machine.says("cat", f"/proc/{self.process}/status")
        pairs = (line.split(":", 1) for line in text.splitlines())
        return {name: value.strip() for name, value in pairs}

    def secret(self, name: str, home: str = HOME) -> str:
        """Return a secret of a config."""
        path = self.machine.path(f"{home}/.config/open-conduit/secrets.json")
        value: str = json.loads(path.read_text("utf-8"))[name]
        return value

    def asking(self, text: str, home: str = HOME) -> list[str]:
        """Return the command that asks for a turn."""
        body = json.dumps({"messages": [message(text)]})
        token = f"Authorization: Bearer {self.secret('chat_token', home)}"
        kind = "Content-Type: application/json"
        curl = ["curl", "-sS", "-m", "50", "-H", token, "-H", kind, "-d", body]
        return [*curl, f"{CHAT}/v1/chat/completions"]

    def ask(self, text: str, home: str = HOME) -> str:
        """Ask for a turn that must be answered; return the answer."""
        said = self.machine.says(*self.asking(text, home))
        answer: str = json.loads(said)["choices"][0]["message"]["content"]
        return answer

    def lane(self, *options: str, path: str, home: str = HOME) -> str:
        """Speak to the file lane with curl; return what came."""
        password = f"conduck:{self.secret('files_password', home)}"
        words = ("curl", "-sS", "-f", "-m", "50", "-u", password, *options)
        return self.machine.says(*words, f"{LANE}/{path}")

    def listening(self) -> set[str]:
        """Return the addresses that are listened at, as the kernel writes them."""
        text = self.machine.says("cat", "/proc/net/tcp", "/proc/net/tcp6")
        rows = (line.split() for line in text.splitlines())
        return {row[1] for row in rows if row[3] == "0A"}

    def files(self) -> set[str]:
        """Return every file with its mode and owner, but for what always changes."""
        text = self.machine.says("find", "/", "-xdev", "-printf", "%M %U %G %p\\n")
        return {
            line
            for line in text.splitlines()
            if not f"{line.split(' ', 3)[3]}/".startswith(_VOLATILE)
            and not line.split(" ", 3)[3].startswith(_VOLATILE_NAMES)
        }


def processes(*words: str) -> list[int]:
    """Return the processes of this computer and its machines with these arguments."""
    wanted = b"\0".join(word.encode() for word in words) + b"\0"
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if wanted in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@contextmanager
def product(root: Path) -> Iterator[Product]:
    """Boot a root for the package, which is not installed yet."""
    with ExitStack() as stack:
        yield Product(root, stack)
