"""Web: the monitor as a page in a browser. Needs the extra `web`; nothing here is imported before it is asked for."""
