"""Builders and checkers that the tests of every package share."""
