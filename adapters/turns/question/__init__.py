"""What an agent is asked, and what it may do."""
