"""The single writer: commands are queued, decided in batches and answered after their commit."""
