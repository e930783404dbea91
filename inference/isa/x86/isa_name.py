"""The name of x86-64."""

NAME = "x86-64"
