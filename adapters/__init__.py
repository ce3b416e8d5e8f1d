"""The outside world that the domain needs: the log on disk, the agents that do the work, the processes they run."""
