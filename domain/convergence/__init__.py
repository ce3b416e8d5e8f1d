"""Decides when a discussion may end: how far its participants agree, how little still changes, and what follows (K-26,
K-30).
"""
