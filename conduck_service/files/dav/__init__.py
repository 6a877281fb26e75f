"""WebDAV: listings, properties, locks, and what WsgiDAV decides."""
