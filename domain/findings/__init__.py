"""Findings in the shade (`findings@1`): what several reports are about, where it comes from, how it stands, and whether
another round is worth it. A pure view: it records nothing and steers nothing.
"""
