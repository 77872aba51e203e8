"""A loop as a service of the user's own service manager: systemd, or launchd."""
