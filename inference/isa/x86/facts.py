"""What x86-64 is called."""

NAME = "x86-64"
