"""From a waiting turn to its recorded end: workers, their claims, and what they record."""
