"""The log on PostgreSQL: any number of servers and workers on any machines."""
