"""Actions: everything that a person or a program can do, one file a subject. `catalogue` lists them."""
