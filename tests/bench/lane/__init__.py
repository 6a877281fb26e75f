"""Measures the file lane beside rclone and stock WsgiDAV, by turns in one run."""
