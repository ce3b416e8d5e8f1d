"""Commands as plain forms: for browsers without script, and for a click that comes before the script does."""
