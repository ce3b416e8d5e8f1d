"""Views, each a fold over the log; any can be thrown away and rebuilt."""
