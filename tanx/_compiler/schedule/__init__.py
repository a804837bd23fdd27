"""Decisions about loop nests: tasks, lanes, tiles, rows, columns, scans."""
