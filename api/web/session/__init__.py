"""The page of one session: panels as pure functions of (session, version, language), the strip, the rows, replay."""
