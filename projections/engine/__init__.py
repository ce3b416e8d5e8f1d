"""Following the log and folding it into views."""
