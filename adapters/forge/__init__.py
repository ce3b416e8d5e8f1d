"""Forges: where branches become pull requests. One port, two dialects of REST (GitHub, GitLab)."""
