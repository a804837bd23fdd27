"""Profiles of time and of memory: recorded, written as files, read again."""
