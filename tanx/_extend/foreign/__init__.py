"""Foreign functions: C functions of users as operations of programs."""
