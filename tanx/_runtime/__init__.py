"""Devices, buffers and execution."""
