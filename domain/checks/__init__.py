"""Says what a validation really checked: the tests that ran, the checks that became weaker, the files that decide."""
