"""POST /api/turns/…: external agents claim turns, hold on to them and hand in results (contract §4)."""
