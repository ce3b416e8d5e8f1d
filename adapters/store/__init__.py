"""The log: events, long texts, receipts of commands, and the turns that are leased to workers."""
