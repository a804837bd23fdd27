"""Six typical programs for JAX, written with its libraries."""
