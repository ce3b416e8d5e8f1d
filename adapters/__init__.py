"""The world the domain needs: the log on disk, the agents who do the work, the processes they run. Driven."""
