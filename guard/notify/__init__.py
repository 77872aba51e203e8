"""Notifications: tells people elsewhere what a loop cannot settle by itself. By command or webhook, never waited for."""
