"""What a model without tools says about files: fenced blocks in its reply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.standing import STANDING_INSTRUCTIONS
from conduck_service.executors.file_actions import READ, WRITE

INSTRUCTIONS = f"""{STANDING_INSTRUCTIONS}
You have no tools for this. Write a file by a block in your reply that begins with
three backticks, {WRITE} and the path, the named folder and a plain file name:

```{WRITE} FOLDER/notes.txt
all of the file
```

The block is carried out and taken out of the reply, so say in words besides what you
made. Where the file holds three backticks in a row, begin and end the block with four.
To read a text file that was sent to you, reply with a block without content, and you
are asked again with what is in it:

```{READ} PATH
```

The message:

"""
"""What stands before the prompt of a turn that names a folder for files."""

_BEGINNING = re.compile(rf"(`{{3,}}) *({WRITE}|{READ}) +([^`]*[^`\s]) *\r?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One action that a reply asks for.

    Attributes:
        name: ``write_file`` or ``read_file``.
        path: As the model wrote it.
        content: What stands between the fences, whole lines.
    """

    name: str
    path: str
    content: str

    @property
    def arguments(self) -> Mapping[str, JsonValue]:
        """The action's arguments, for :class:`FileActions`."""
        more = {"content": self.content} if self.name == WRITE else {}
        return {"path": self.path, **more}


def split_reply(reply: str) -> tuple[str, list[Block]]:
    """Return the words of a reply, and the blocks that were taken out of it.

    A block without an end is no block: what came of it may be half a file.
    """
    words: list[str] = []
    blocks: list[Block] = []
    beginning: re.Match[str] | None = None
    start = 0
    for line in reply.split("\n"):
        if beginning is None:
            beginning = _BEGINNING.fullmatch(line)
            start = len(words)
        elif _ends(line, beginning[1]):
            content = "".join(f"{text}\n" for text in words[start + 1 :])
            blocks.append(Block(name=beginning[2], path=beginning[3], content=content))
            del words[start:]
            beginning = None
            continue
        words.append(line)
    return "\n".join(words).strip("\n"), blocks


def _ends(line: str, fence: str) -> bool:
    bare = line.rstrip(" \r")
    return bare.startswith(fence) and not bare.strip("`")
