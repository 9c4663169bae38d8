"""Measuring a search on a collection of questions whose right entries are known."""
