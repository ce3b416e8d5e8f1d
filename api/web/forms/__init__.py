"""Commands as plain forms: for browsers without scripts, and for clicks before the script has loaded."""
