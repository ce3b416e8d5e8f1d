"""The pure rules under `/api/policies/`, so that they can be tried, tuned and tested from outside (contract §5)."""
