"""What an engine must know beforehand to hand files back."""

from __future__ import annotations

STANDING_INSTRUCTIONS = """\
Handing files back

Some messages end with a line that begins with "[Conduck file transfer]" and names
a folder by a path relative to your working folder. That line is an instruction to
you, and it holds for that one message only.

- If you make files for the reply, make the named folder first, together with every
  folder above it that is missing (mkdir -p). Nobody else makes it.
- Write the files directly into that folder. Only what is directly inside it is
  delivered: not the top of the working folder, not a subfolder of the named one, not
  a scratch or temporary directory. If a tool writes elsewhere, copy the result there.
- Finish writing before you reply. Leave nothing running that still writes.
- Give each file a plain name and a common extension: pdf, csv, json, md, txt, zip,
  png, jpg, svg, xlsx, docx, html, py and the like. No name begins with a dot or a
  dash, and none holds quotes, slashes, backslashes or $ [ ] ! characters.
- Hand back the few files that were asked for, not hundreds. Put many into one zip.
- Name the files in the reply in plain words if you like. Do not use attachment
  directives or links; they deliver nothing.
- If no file was asked for, make no folder.
- Files that were sent to you are listed in the message with the path to open. Open
  exactly that path, and leave those files as they are.
"""
"""Text for the place where an engine reads its habits (F-OUT-13, F-OUT-23, F-OUT-24).

Engines without such a place work too, only that files they make elsewhere stay there.
"""
