"""The extension type ``conduck_files``: the shared folder over WebDAV."""
