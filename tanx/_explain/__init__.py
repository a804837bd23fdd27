"""What the compiler made of a function: facts, gathered and measured, as text and as a page."""
